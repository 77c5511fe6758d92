//! Wi-Fi adapters of clients: where a scheme has an agent at a client whose radio is the kernel's, the radio is on a host
//! of its own, on which a gateway is that agent. A cable joins it to the client, which has its addresses as always.

use lasthop_linux::namespace::{IpError, Namespace};

use super::error::TrialError;
use super::radios::Radio;

/// The device at the adapter's end of the cable. Devices of radios have a dot in their names.
pub(super) const CABLE: &str = "cable";
/// The address of both ends of a cable: without ARP, the kernel sends frames to the address of their own device.
const OF_CABLE: &str = "02:6c:68:ca:b1:e0";

/// The adapters of a trial's clients.
pub(super) struct Adapters(Vec<Adapter>);

/// A host with a radio.
pub(super) struct Adapter {
    pub(super) radio: Radio,
    pub(super) host: Namespace,
}

impl Adapters {
    /// A host for each of these radios that is on an adapter, still without devices. `name_of` has the names of nodes.
    pub(super) fn new<'a>(
        radios: impl Iterator<Item = Radio>,
        name_of: impl Fn(usize) -> &'a str,
    ) -> Result<Self, TrialError> {
        let of_radio = |radio: Radio| {
            let host = Namespace::new(format!("the adapter of {}", name_of(radio.node)));
            host.map(|host| Adapter { radio, host }).map_err(TrialError::Namespace)
        };
        radios.filter(|radio| radio.on_adapter).map(of_radio).collect::<Result<_, _>>().map(Self)
    }

    /// All of them, in the order of their radios.
    pub(super) fn all(&self) -> &[Adapter] {
        &self.0
    }

    /// The host with a radio, if the radio is on an adapter.
    pub(super) fn host_of(&self, radio: Radio) -> Option<&Namespace> {
        self.0.iter().find(|adapter| adapter.radio == radio).map(|adapter| &adapter.host)
    }
}

impl Adapter {
    /// Joins it to its client. The client's end of the cable has the name that its radio would have.
    pub(super) fn join(&self, client: &Namespace) -> Result<(), IpError> {
        let (device, client) = (self.radio.device(), client.path());
        self.host.ip(&[
            // The radio has the same name here.
            &format!(
                "link add {CABLE} address {OF_CABLE} type veth peer name {CABLE}.far address {OF_CABLE}"
            ),
            // Without addrgenmode, the kernel would look for routers.
            &format!("link set {CABLE}.far addrgenmode none"),
            &format!("link set {CABLE}.far netns {client} name {device}"),
            &format!("link set {CABLE} addrgenmode none"),
            &format!("link set {CABLE} arp off up"),
        ])?;
        Ok(())
    }

    /// Has it carry packets between its client, which has this address, and the access point with that one. It answers
    /// ARP for the client.
    pub(super) fn carry(&self, client: &str, access_point: &str) -> Result<(), TrialError> {
        let device = self.radio.device();
        self.host.ip(&[
            &format!("route add {client}/32 dev {CABLE}"),
            &format!("route add {access_point}/32 dev {device}"),
            &format!("route add default via {access_point} dev {device}"),
        ])?;
        let settings = [
            ("ipv4/ip_forward".to_owned(), "1"),
            (format!("ipv4/conf/{device}/proxy_arp"), "1"),
            // At once, rather than after a random time.
            (format!("ipv4/neigh/{device}/proxy_delay"), "0"),
        ];
        for (path, value) in settings {
            self.host.sysctl(&path, value).map_err(TrialError::Namespace)?;
        }
        Ok(())
    }
}
