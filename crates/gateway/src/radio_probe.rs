//! Whether the driver of a radio tells the truth about what it has delivered. Schemes such as LLE-TCP acknowledge data because
//! the driver says so: a driver that says so of each frame would have them acknowledge what was lost.

use std::io;
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_linux::device::Interface;
use lasthop_linux::nl80211::{MadeUpStation, is_wifi};
use lasthop_linux::wifi_status::{OFFLOAD_HEADER, Report, WifiStatusSocket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::config::TxStatus;

/// Drivers that report a frame as delivered whatever became of it, and where that is in the source of Linux 6.12, below
/// `drivers/net/wireless`. Some report so only if they have lost the status.
const UNTRUTHFUL: [(&str, &str); 24] = [
    ("rtl8xxxu", "realtek/rtl8xxxu/core.c: once the USB transfer has ended"),
    ("rtl8188ee", RTLWIFI_PCI),
    ("rtl8192ce", RTLWIFI_PCI),
    ("rtl8192de", RTLWIFI_PCI),
    ("rtl8192ee", RTLWIFI_PCI),
    ("rtl8192se", RTLWIFI_PCI),
    ("rtl8723ae", RTLWIFI_PCI),
    ("rtl8723be", RTLWIFI_PCI),
    ("rtl8821ae", RTLWIFI_PCI),
    ("rtl8192cu", RTLWIFI_USB),
    ("rtl8192du", RTLWIFI_USB),
    ("at76c50x-usb", "atmel/at76c50x-usb.c: once the USB transfer has ended"),
    ("mt7601u", "mediatek/mt7601u/tx.c: once the USB transfer has ended"),
    ("rt2500usb", RT2X00_USB),
    ("rt73usb", RT2X00_USB),
    ("rt61pci", "ralink/rt2x00/rt61pci.c: where it has lost the status"),
    ("rtl8187", "realtek/rtl818x/rtl8187/dev.c: once the USB transfer has ended"),
    ("plfxlc", "purelifi/plfxlc/mac.c: once the USB transfer has ended"),
    ("RSI-USB WLAN", RSI),
    ("RSI-SDIO WLAN", RSI),
    ("mt76x0e", MT76),
    ("mt76x0u", MT76),
    ("mt76x2e", MT76),
    ("mt76x2u", MT76),
];
const RTLWIFI_PCI: &str = "realtek/rtlwifi/pci.c: once it has left the memory of the host";
const RTLWIFI_USB: &str = "realtek/rtlwifi/usb.c: once the USB transfer has ended";
const RT2X00_USB: &str = "ralink/rt2x00/rt2x00usb.c: once the USB transfer has ended";
const RSI: &str = "rsi/rsi_91x_mac80211.c: once it has left the memory of the host";
const MT76: &str = "mediatek/mt76/tx.c: where it has lost the status";

/// Frames to the absent station. Each is transmitted some ten times, which takes less than a millisecond each time.
const FRAMES: usize = 10;
/// How long the reports may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// `ETH_P_802_EX1`: the type of Ethernet frames for local experiments (IEEE 802).
const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];
/// The shortest Ethernet frame without its check sequence.
const SHORTEST: usize = 60;

/// What a driver has reported of frames to a station that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Frames that were sent.
    pub sent: usize,
    /// Frames that it says were not delivered.
    pub lost: usize,
    /// Frames that it says were delivered.
    pub delivered: usize,
}

impl Probe {
    /// Why the driver cannot be relied on; `None` if it can.
    pub fn fault(self) -> Option<String> {
        let Self { sent, lost, delivered } = self;
        match (delivered, lost) {
            (0, lost) if lost == sent => None,
            (0, lost) => Some(format!(
                "the driver has reported {lost} of {sent} frames; expected a driver that reports each"
            )),
            (delivered, _) => Some(format!(
                "the driver says that {delivered} of {sent} frames were delivered to a station that does not exist; its TX status \
                 cannot be relied on"
            )),
        }
    }
}

/// Where a driver says that frames were delivered whatever became of them, if it is known to.
fn untruthful(driver: &str) -> Option<&'static str> {
    UNTRUTHFUL.iter().find(|(name, _)| *name == driver).map(|(_, place)| *place)
}

/// Sends frames to a station that does not exist from the access point at an interface, in the network namespace of the
/// calling thread. The access point knows the station meanwhile.
pub fn probe(interface: &str) -> io::Result<Probe> {
    let interface = Interface::named(interface)?;
    let socket = WifiStatusSocket::open(interface.index())?;
    let absent = made_up_address()?;
    let _station = MadeUpStation::add(interface.index(), absent)?;
    let mut frame = [&absent[..], &interface.hardware_address()?, &EXPERIMENTAL].concat();
    frame.resize(SHORTEST, 0);
    for _ in 0..FRAMES {
        socket.send(&[0; OFFLOAD_HEADER], &frame)?;
    }
    let mut probe = Probe { sent: FRAMES, lost: 0, delivered: 0 };
    let mut octets = [0; SHORTEST];
    let end = clock::now() + PATIENCE;
    while probe.lost + probe.delivered < probe.sent {
        let left = end.since(clock::now());
        if left.is_zero() {
            break;
        }
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().max(1).into() };
        // An error queue is always polled for.
        poll(&mut [PollFd::new(&socket, PollFlags::empty())], Some(&left))?;
        while let Some(Report { acknowledged, .. }) = socket.report(&mut octets)? {
            *(if acknowledged { &mut probe.delivered } else { &mut probe.lost }) += 1;
        }
    }
    Ok(probe)
}

/// A locally administered address, which is not known beforehand: the access point lets the station in without keys.
fn made_up_address() -> io::Result<[u8; 6]> {
    let mut address = [0; 6];
    getrandom(&mut address, GetRandomFlags::empty())?;
    address[0] = address[0] & !1 | 2;
    Ok(address)
}

/// The name of an interface's driver, if it is not known to say that frames were delivered whatever became of them. The
/// error says what is wrong.
pub fn driver(interface: &str) -> Result<String, String> {
    let found = Interface::named(interface)
        .and_then(|of_name| Ok(if is_wifi(of_name.index())? { Some(of_name.driver()?) } else { None }));
    let found = found.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NODEV) => format!("there is no interface {interface}"),
        _ => format!("{interface}: its driver is not known: {error}"),
    })?;
    let Some(driver) = found else {
        return Err(format!(
            "{interface}: it is no Wi-Fi interface, so that nothing reports TX status; expected the Wi-Fi interface itself, also \
             where a VLAN or a bridge is over it"
        ));
    };
    match untruthful(&driver) {
        None => Ok(driver),
        Some(place) => Err(format!(
            "{interface}: the driver {driver} reports frames as delivered that were not ({place}); expected ports.tx-status = \"off\""
        )),
    }
}

/// Checks that the drivers of these interfaces can be relied on, as far as the configuration wants to know. The error
/// says why one cannot.
pub(super) fn check(wanted: TxStatus, radio: &[String]) -> Result<(), String> {
    for name in radio {
        driver(name)?;
        if wanted != TxStatus::Probed {
            continue;
        }
        let discipline = Interface::named(name).and_then(|interface| interface.queueing_discipline());
        if let Ok(Some(discipline)) = discipline
            && discipline != "noqueue"
        {
            return Err(format!(
                "{name}: its queueing discipline is {discipline}, which frames with TX status bypass; expected noqueue, as with drivers \
                 that use the queues of mac80211, or ports.tx-status = \"off\""
            ));
        }
        let fault = match probe(name) {
            Ok(probe) => probe.fault(),
            Err(error) => {
                Some(format!("its driver cannot be tried with frames to an absent station: {error}"))
            }
        };
        if let Some(fault) = fault {
            return Err(format!("{name}: {fault}; expected ports.tx-status = \"off\""));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_relied_on_only_if_it_reports_each_frame_as_lost() {
        let fault = |lost, delivered| Probe { sent: 10, lost, delivered }.fault();
        assert_eq!(fault(10, 0), None);
        assert!(fault(9, 0).expect("one is missing").contains("9 of 10"));
        assert!(fault(0, 0).expect("all are missing").contains("0 of 10"));
        assert!(fault(9, 1).expect("one is wrong").contains("1 of 10 frames were delivered"));
    }

    #[test]
    fn drivers_known_to_be_untruthful_are_named_with_the_place() {
        assert!(untruthful("rtl8192ce").expect("it is known").contains("pci.c"));
        assert_eq!(untruthful("ath9k"), None);
    }
}
