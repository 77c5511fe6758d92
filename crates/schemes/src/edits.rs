//! Readable edits of packets for tests.

use lasthop_packet::{Packet, SackBlocks, Seq, Tcp, TcpFlags, Timestamps};

/// Edits of a packet.
pub(crate) trait But: Sized {
    /// With an edited TCP header.
    fn but(self, edit: impl FnOnce(&mut Tcp)) -> Self;

    /// With these additional flags.
    fn flags(self, flags: TcpFlags) -> Self {
        self.but(|tcp| tcp.flags = tcp.flags.with(flags))
    }

    /// With this window, unscaled.
    fn window(self, window: u16) -> Self {
        self.but(|tcp| tcp.window = window)
    }

    /// With a timestamp that echoes another.
    fn stamped(self, value: u32, echo_reply: u32) -> Self {
        self.but(|tcp| tcp.options.timestamps = Some(Timestamps { value, echo_reply }))
    }

    /// With only these SACK blocks.
    fn sack(self, blocks: &[(u32, u32)]) -> Self {
        self.but(|tcp| {
            tcp.options.sack = SackBlocks::NONE;
            for (left, right) in blocks {
                tcp.options.sack.push(Seq(*left), Seq(*right));
            }
        })
    }

    /// With an option unknown to all schemes.
    fn unknown_option(self) -> Self {
        self.but(|tcp| tcp.options.unknown = Some(Box::new([30, 4, 0, 0])))
    }
}

impl But for Packet {
    fn but(mut self, edit: impl FnOnce(&mut Tcp)) -> Self {
        self.tcp_mut().map(edit);
        self
    }
}
