//! Edits of packets, for tests to read as a sentence.

use lasthop_packet::{Packet, SackBlocks, Seq, Tcp, TcpFlags, Timestamps};

/// A packet but for something.
pub(crate) trait But: Sized {
    /// With an edited TCP header.
    fn but(self, edit: impl FnOnce(&mut Tcp)) -> Self;

    /// With these flags, too.
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

    /// With these SACK blocks alone.
    fn sack(self, blocks: &[(u32, u32)]) -> Self {
        self.but(|tcp| {
            tcp.options.sack = SackBlocks::NONE;
            for (left, right) in blocks {
                tcp.options.sack.push(Seq(*left), Seq(*right));
            }
        })
    }

    /// With an option that no scheme understands.
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
