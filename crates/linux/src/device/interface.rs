//! Network interfaces of the caller's namespace, by name.

use std::os::fd::{AsFd, OwnedFd};
use std::{fs, io};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use super::driver;
use super::features;
use super::request::Request;
use crate::namespace::Namespace;
use crate::netlink::{self, AnswerKind, attributes, text, written};

/// Link messages (`linux/rtnetlink.h`), the length of their header, and attributes
/// (`linux/if_link.h`).
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;
const LINK_MESSAGE: usize = 16;
const IFLA_QDISC: u16 = 6;
const IFLA_IFALIAS: u16 = 20;

/// The link type of Ethernet (`ARPHRD_*`).
const ETHERNET: u16 = 1;

/// A network interface.
#[derive(Debug)]
pub struct Interface {
    name: String,
    index: u32,
    socket: OwnedFd,
}

impl Interface {
    /// The interface of this name.
    pub fn named(name: &str) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        let index = netdevice::name_to_index(&socket, name)?;
        Ok(Self { name: name.to_owned(), index, socket })
    }

    /// The interface of this name; `None` if it does not exist. Other errors do not show whether it
    /// exists.
    pub fn find(name: &str) -> io::Result<Option<Self>> {
        match Self::named(name) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NODEV) => Ok(None),
            found => found.map(Some),
        }
    }

    /// The name of the interface with this index.
    pub fn name_of(index: u32) -> io::Result<String> {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(netdevice::index_to_name(&socket, index)?)
    }

    /// Its index.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Whether its frames start with an Ethernet header; otherwise they have no header.
    pub fn is_ethernet(&self) -> io::Result<bool> {
        Ok(self.request()?.hardware_type(self.socket.as_fd())? == ETHERNET)
    }

    /// Whether it is set up administratively; its cable or radio link may still be down.
    pub fn is_up(&self) -> io::Result<bool> {
        self.request()?.read_up(self.socket.as_fd())
    }

    /// Whether a feature such as `hw-tc-offload` is on, by the names of `ethtool -k`; `None` if
    /// this kernel does not have it.
    pub fn has_on(&self, feature: &str) -> io::Result<Option<bool>> {
        features::is_on(&self.name, self.socket.as_fd(), feature)
    }

    /// The name of its driver, as the driver states it.
    pub fn driver(&self) -> io::Result<String> {
        driver::name(&self.name, self.socket.as_fd())
    }

    /// Its Ethernet address.
    pub fn hardware_address(&self) -> io::Result<[u8; 6]> {
        self.request()?.hardware_address(self.socket.as_fd())
    }

    /// Maximum octets of an IP packet in one frame.
    pub fn mtu(&self) -> io::Result<u32> {
        self.request()?.mtu(self.socket.as_fd())
    }

    /// Sets the MTU.
    pub fn set_mtu(&self, octets: u32) -> io::Result<()> {
        self.request()?.set_mtu(self.socket.as_fd(), octets)
    }

    /// Sets the number of frames that may wait for a reader before one is dropped.
    pub fn set_queue_length(&self, frames: u32) -> io::Result<()> {
        match self.request()?.set_queue_length(self.socket.as_fd(), frames) {
            // In a user namespace, root may do it only through rtnetlink(7).
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let here = Namespace::current("the namespace of the interface")?;
                let set = format!("link set dev {} txqueuelen {frames}", self.name);
                here.ip(&[&set]).map(drop).map_err(|_| error)
            }
            set => set,
        }
    }

    /// Brings the interface up; `arp` is whether it resolves addresses.
    pub fn bring_up(&self, arp: bool) -> io::Result<()> {
        self.request()?.bring_up(self.socket.as_fd(), arp)
    }

    /// Sets the alias that `ip link` shows.
    pub fn set_alias(&self, text: &str) -> io::Result<()> {
        let body = [&self.link_message()[..], &written(IFLA_IFALIAS, text.as_bytes())].concat();
        Self::about_link(RTM_SETLINK, &body, |_, _| None::<()>).map(drop)
    }

    /// The alias; `None` if it has none.
    pub fn alias(&self) -> io::Result<Option<String>> {
        self.text_of_link(IFLA_IFALIAS)
    }

    /// The name of its queueing discipline, such as `noqueue`.
    pub fn queueing_discipline(&self) -> io::Result<Option<String>> {
        self.text_of_link(IFLA_QDISC)
    }

    fn text_of_link(&self, number: u16) -> io::Result<Option<String>> {
        Self::about_link(RTM_GETLINK, &self.link_message(), |kind, link| {
            let attributes = attributes(link.get(LINK_MESSAGE..).filter(|_| kind == RTM_NEWLINK)?);
            let mut found = attributes.filter(|attribute| attribute.number == number);
            found.next().map(|attribute| text(attribute.value))
        })
    }

    /// Writes one of its settings below `/proc/sys/net`, such as `("ipv6", "disable_ipv6")`. Does
    /// nothing if the kernel lacks that family or setting.
    pub fn set(&self, family: &str, setting: &str, value: &str) -> io::Result<()> {
        match fs::write(format!("/proc/sys/net/{family}/conf/{}/{setting}", self.name), value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// `struct ifinfomsg` with the index.
    fn link_message(&self) -> [u8; LINK_MESSAGE] {
        let mut message = [0; LINK_MESSAGE];
        message[4..8].copy_from_slice(&self.index.to_ne_bytes());
        message
    }

    fn about_link<T>(
        kind: u16,
        body: &[u8],
        pick: impl FnMut(u16, &[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        netlink::request(netlink::Request { protocol: None, kind, asks: AnswerKind::One, body }, pick)
    }

    fn request(&self) -> io::Result<Request> {
        Request::about(&self.name)
    }
}
