//! The TCP sender's side: it restarts its timer.

use std::time::Duration;

use lasthop_hop::control_message::ControlMessage;
use lasthop_packet::Instant;
use lasthop_tcp::{IcmpNotice, SenderControl, SenderExtension};

/// Restarts the retransmission timer with each message, for a limited time.
#[derive(Clone, Debug)]
pub struct EbsnSender {
    longest_deferral: Duration,
    /// When the first message since the last progress arrived.
    since: Option<Instant>,
}

impl EbsnSender {
    /// An extension that defers the timer for at most `longest_deferral` without progress.
    pub const fn new(longest_deferral: Duration) -> Self {
        Self { longest_deferral, since: None }
    }
}

impl SenderExtension for EbsnSender {
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        if ControlMessage::from_notice(&notice) != Some(ControlMessage::BadState) {
            return;
        }
        let since = *self.since.get_or_insert(sender.now());
        if sender.now().since(since) <= self.longest_deferral {
            sender.restart_timer();
        }
    }

    fn on_new_ack(&mut self, _sender: &mut SenderControl<'_>) {
        self.since = None;
    }
}
