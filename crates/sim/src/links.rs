//! All links at work, by their technology.

use std::mem::discriminant;

use crate::cells::Cells;
use crate::packets::PacketKey;
use crate::technology::{Addressee, Admission, Egress, Technology};
use crate::transit::Transit;
use crate::wired::{ManagedWiredLinks, WiredLinks};
use crate::wireless::WirelessLinks;

#[derive(Default)]
pub(crate) struct Links {
    wired: WiredLinks,
    managed_wired: ManagedWiredLinks,
    wireless: WirelessLinks,
    cells: Cells,
}

impl Links {
    /// The technology that an interface's packets leave by, and the port there.
    pub(crate) fn of(&self, egress: Egress) -> (&dyn Technology, usize) {
        match egress {
            Egress::Pipe(pipe) => (&self.wired, pipe.index()),
            Egress::ManagedPipe(pipe) => (&self.managed_wired, pipe.index()),
            Egress::Hop(hop) => (&self.wireless, hop.index()),
            Egress::Radio(port) => (&self.cells, port.index()),
        }
    }

    /// As [`Self::of`].
    pub(crate) fn of_mut(&mut self, egress: Egress) -> (&mut dyn Technology, usize) {
        match egress {
            Egress::Pipe(pipe) => (&mut self.wired, pipe.index()),
            Egress::ManagedPipe(pipe) => (&mut self.managed_wired, pipe.index()),
            Egress::Hop(hop) => (&mut self.wireless, hop.index()),
            Egress::Radio(port) => (&mut self.cells, port.index()),
        }
    }

    /// [`Technology::enqueue`], without a table of functions: every packet's every hop.
    #[expect(clippy::inline_always, reason = "measured")]
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        egress: Egress,
        to: Addressee,
        key: PacketKey,
        transit: &mut Transit,
    ) -> Admission {
        match egress {
            Egress::Pipe(pipe) => self.wired.enqueue(pipe.index(), to, key, transit),
            _ => self.enqueue_otherwise(egress, to, key, transit),
        }
    }

    // Apart, so that it costs the wired way nothing.
    #[inline(never)]
    fn enqueue_otherwise(
        &mut self,
        egress: Egress,
        to: Addressee,
        key: PacketKey,
        transit: &mut Transit,
    ) -> Admission {
        let (links, port) = self.of_mut(egress);
        links.enqueue(port, to, key, transit)
    }

    /// Whether two ports have one queue.
    pub(crate) fn share_queue(&self, one: Egress, other: Egress) -> bool {
        let ((links, one_port), (_, other_port)) = (self.of(one), self.of(other));
        discriminant(&one) == discriminant(&other) && links.queue_of(one_port) == links.queue_of(other_port)
    }

    /// Each technology.
    pub(crate) fn all(&self) -> [&dyn Technology; 4] {
        [&self.wired, &self.managed_wired, &self.wireless, &self.cells]
    }

    /// As [`Self::all`].
    pub(crate) fn all_mut(&mut self) -> [&mut dyn Technology; 4] {
        [&mut self.wired, &mut self.managed_wired, &mut self.wireless, &mut self.cells]
    }

    /// Wired links with plain queues.
    pub(crate) const fn wired(&self) -> &WiredLinks {
        &self.wired
    }

    /// As [`Self::wired`].
    #[inline]
    pub(crate) const fn wired_mut(&mut self) -> &mut WiredLinks {
        &mut self.wired
    }

    /// Wired links with managed queues.
    pub(crate) const fn managed_wired_mut(&mut self) -> &mut ManagedWiredLinks {
        &mut self.managed_wired
    }

    /// Wireless links of the 1997 thesis.
    pub(crate) const fn wireless_mut(&mut self) -> &mut WirelessLinks {
        &mut self.wireless
    }

    /// 802.11 cells.
    pub(crate) const fn cells(&self) -> &Cells {
        &self.cells
    }

    /// As [`Self::cells`].
    pub(crate) const fn cells_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }
}
