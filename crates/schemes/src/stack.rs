//! A stack of schemes with their settings, as used by a row of a comparison and a rule of a
//! gateway.

use std::fmt;
use std::sync::Arc;

use lasthop_agent::{Agent, LinkSenses, Stack};
use lasthop_tcp::{ReceiverExtension, SenderExtension};

use crate::catalog::find;
use crate::scheme::{Placement, Role, Scheme, SchemeError, Seat};

/// One or more schemes, the one nearest to the core side first.
#[derive(Clone)]
pub struct SchemeStack(Arc<[Layer]>);

/// A scheme with its given settings.
pub struct Layer {
    scheme: &'static Scheme,
    settings: toml::Table,
    placement: Box<dyn Placement>,
}

/// The error in a stack, and its location.
#[derive(Clone, Debug)]
pub struct StackError {
    /// The layer, from 0.
    pub layer: usize,
    /// The setting; `None` if it is not a single one.
    pub setting: Option<String>,
    /// The error.
    pub error: SchemeError,
}

impl SchemeStack {
    /// A stack of schemes of the catalog with these settings.
    pub fn new<'a>(layers: impl IntoIterator<Item = (&'a str, toml::Table)>) -> Result<Self, StackError> {
        Self::of_found(layers.into_iter().map(|(name, settings)| (find(name), settings)))
    }

    /// A stack of these schemes, of the catalog or not, with these settings.
    pub fn from_schemes(
        layers: impl IntoIterator<Item = (&'static Scheme, toml::Table)>,
    ) -> Result<Self, StackError> {
        Self::of_found(layers.into_iter().map(|(scheme, settings)| (Ok(scheme), settings)))
    }

    fn of_found(
        layers: impl Iterator<Item = (Result<&'static Scheme, SchemeError>, toml::Table)>,
    ) -> Result<Self, StackError> {
        let mut stack: Vec<Layer> = Vec::new();
        for (index, (scheme, settings)) in layers.enumerate() {
            let wrong = |setting, error| StackError { layer: index, setting, error };
            let scheme = scheme.map_err(|error| wrong(None, error))?;
            let placement = scheme.configure(settings.clone()).map_err(|error| {
                let (setting, error) =
                    wrong_setting(scheme, &settings).map_or((None, error), |(key, error)| (Some(key), error));
                wrong(setting, error)
            })?;
            let layer = Layer { scheme, settings, placement };
            if let Some(error) = layer.conflict_with(&stack) {
                return Err(wrong(None, error));
            }
            stack.push(layer);
        }
        Ok(Self(stack.into()))
    }

    /// The layers, the one nearest to the core side first.
    pub fn layers(&self) -> &[Layer] {
        &self.0
    }

    /// The schemes' names with a plus sign between them.
    pub fn names(&self) -> String {
        self.0.iter().map(|layer| layer.scheme.name).collect::<Vec<_>>().join("+")
    }

    /// Whether nothing is placed anywhere.
    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(Layer::is_nothing)
    }

    /// The settings that require more of the link layer than it offers, if the schemes could work
    /// in this seat without them. Empty if a scheme itself requires more.
    pub fn settings_beyond(&self, seat: Seat, offered: LinkSenses) -> Vec<String> {
        let exceeds = |layer: &&Layer| {
            layer.placement.agent(seat).is_some_and(|agent| !offered.contains(agent.needs()))
        };
        let of_layers: Vec<_> =
            self.0.iter().filter(exceeds).map(|layer| layer.settings_beyond(seat, offered)).collect();
        if of_layers.iter().any(Vec::is_empty) { Vec::new() } else { of_layers.concat() }
    }

    /// Whether it extends TCP senders or receivers.
    pub fn changes_endpoints(&self) -> bool {
        self.0.iter().any(|layer| layer.changes_senders() || layer.changes_receivers())
    }
}

impl Placement for SchemeStack {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        if let [alone] = &*self.0 {
            return alone.placement.agent(seat);
        }
        // Numbered by their layers here, even if there is only one: other seats may have others.
        let layers = self.0.iter().enumerate();
        let agents: Vec<_> =
            layers.filter_map(|(index, layer)| Some((index as u8, layer.placement.agent(seat)?))).collect();
        (!agents.is_empty()).then(|| Box::new(Stack::from_layers(agents)) as Box<dyn Agent>)
    }

    fn sender_extension(&self, role: Role) -> Option<Box<dyn SenderExtension>> {
        self.0.iter().find_map(|layer| layer.placement.sender_extension(role))
    }

    fn receiver_extension(&self, role: Role) -> Option<Box<dyn ReceiverExtension>> {
        self.0.iter().find_map(|layer| layer.placement.receiver_extension(role))
    }
}

impl Layer {
    /// The scheme.
    pub const fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// The scheme's placement alone.
    pub fn placement(&self) -> &dyn Placement {
        self.placement.as_ref()
    }

    /// Whether it is the scheme that places nothing.
    pub fn is_nothing(&self) -> bool {
        std::ptr::eq(self.scheme, &raw const crate::none::SCHEME)
    }

    /// The settings that require more of the link layer than it offers: one, if the scheme could
    /// work in this seat without it, or all. Empty if the scheme itself requires more. Each in the
    /// form of a file: `reordering = 3`.
    pub fn settings_beyond(&self, seat: Seat, offered: LinkSenses) -> Vec<String> {
        let works = |settings| {
            let agent = self.scheme.configure(settings).ok().and_then(|placement| placement.agent(seat));
            agent.is_none_or(|agent| offered.contains(agent.needs()))
        };
        if works(self.settings.clone()) || !works(toml::Table::new()) {
            return Vec::new();
        }
        let works_without = |key: &str| {
            let mut others = self.settings.clone();
            others.remove(key);
            works(others)
        };
        let written = |(key, value): (&String, &toml::Value)| format!("{key} = {value}");
        match self.settings.iter().find(|(key, _)| works_without(key)) {
            Some(setting) => vec![written(setting)],
            None => self.settings.iter().map(written).collect(),
        }
    }

    /// The conflict with the layers above, if any: an endpoint has one extension.
    fn conflict_with(&self, above: &[Self]) -> Option<SchemeError> {
        let first = |changes: fn(&Self) -> bool| {
            above.iter().find(|layer| changes(self) && changes(layer)).map(|layer| layer.scheme.name)
        };
        let second = self.scheme.name;
        first(Self::changes_senders)
            .map(|first| SchemeError::Senders { first, second })
            .or_else(|| first(Self::changes_receivers).map(|first| SchemeError::Receivers { first, second }))
    }

    fn changes_senders(&self) -> bool {
        Role::ALL.iter().any(|(role, _)| self.placement.sender_extension(*role).is_some())
    }

    fn changes_receivers(&self) -> bool {
        Role::ALL.iter().any(|(role, _)| self.placement.receiver_extension(*role).is_some())
    }
}

/// The schemes and settings in one line. If two stacks have the same line, one can continue with
/// the other's agents.
impl fmt::Display for SchemeStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Layer { scheme, settings, .. }) in self.0.iter().enumerate() {
            let settings = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>();
            write!(f, "{}{}", if index == 0 { "" } else { " + " }, scheme.name)?;
            if !settings.is_empty() {
                write!(f, " {{ {} }}", settings.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SchemeStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemeStack({self})")
    }
}

/// The invalid setting among several: each has a default, so an invalid one is also invalid alone.
fn wrong_setting(scheme: &Scheme, settings: &toml::Table) -> Option<(String, SchemeError)> {
    settings.iter().find_map(|(key, value)| {
        let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
        scheme.configure(alone).err().map(|error| (key.clone(), error))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use lasthop_agent::{Context, Outbox, Side, Stateless, Verdict};
    use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Tcp};

    use super::*;

    fn settings(text: &str) -> toml::Table {
        text.parse().expect("TOML")
    }

    #[test]
    fn a_stack_is_displayed_in_one_line() {
        let snoop = settings("reordering = 2");
        let stack =
            SchemeStack::new([("lle-tcp", toml::Table::new()), ("snoop", snoop)]).expect("both are there");
        assert_eq!(stack.to_string(), "lle-tcp + snoop { reordering = 2 }");
        assert_eq!((stack.names().as_str(), stack.changes_endpoints()), ("lle-tcp+snoop", false));
    }

    #[test]
    fn an_error_names_its_layer_and_its_setting() {
        let two = settings("idle-timeout = \"5 min\"\nreordering = 65");
        let wrong =
            SchemeStack::new([("none", toml::Table::new()), ("snoop", two)]).expect_err("65 is too many");
        assert_eq!((wrong.layer, wrong.setting.as_deref()), (1, Some("reordering")));
        let unknown = SchemeStack::new([("nonesuch", toml::Table::new())]).expect_err("there is none");
        assert!(matches!(unknown.error, SchemeError::Unknown { .. }));
    }

    #[test]
    fn settings_that_keep_a_scheme_from_working_are_listed() {
        let at_edge = Seat { role: Role::Edge, address: Ipv4Addr::LOCALHOST.into() };
        let excess = |text, offered| {
            let stack = SchemeStack::new([("snoop", toml::Table::new()), ("as-tcp", settings(text))]);
            let stack = stack.expect("the settings are right");
            stack.settings_beyond(at_edge, offered).join(", ")
        };
        let (fates, refusing) = ("buffer = '1 MiB'", "buffer = '1 MiB'\nrefuse-above = '50 kB'");
        assert_eq!(excess(refusing, LinkSenses::FRAME_FATE), "refuse-above = \"50 kB\"");
        assert_eq!(excess("preset = 'published'", LinkSenses::FRAME_FATE), "preset = \"published\"");
        let both = "preset = 'published'\nrefuse-above = '20 kB'";
        assert_eq!(excess(both, LinkSenses::FRAME_FATE), "preset = \"published\", refuse-above = \"20 kB\"");
        // The scheme itself, or nothing, requires more.
        assert_eq!(excess(refusing, LinkSenses::empty()), "");
        assert_eq!(excess(fates, LinkSenses::FRAME_FATE), "");
    }

    #[test]
    fn no_settings_are_listed_if_another_scheme_requires_more() {
        let at_edge = Seat { role: Role::Edge, address: Ipv4Addr::LOCALHOST.into() };
        let stack =
            SchemeStack::new([("as-tcp", settings("refuse-above = '50 kB'")), ("c3tcp", toml::Table::new())]);
        let excess = stack.expect("the settings are right").settings_beyond(at_edge, LinkSenses::FRAME_FATE);
        assert_eq!(excess, [""; 0], "without it the stack could not work either");
    }

    #[test]
    fn only_one_scheme_of_a_stack_extends_senders() {
        let both = SchemeStack::new(["simple-icmp", "refined-icmp"].map(|name| (name, toml::Table::new())));
        let error = both.expect_err("a sender cannot do both").error.to_string();
        assert!(error.contains("simple-icmp") && error.contains("refined-icmp"), "{error}");
    }

    /// A scheme that extends receivers only at mobile hosts.
    struct Listening;

    impl Placement for Listening {
        fn receiver_extension(&self, role: Role) -> Option<Box<dyn ReceiverExtension>> {
            struct Nothing;
            impl ReceiverExtension for Nothing {}
            (role == Role::MobileHost).then(|| Box::new(Nothing) as Box<dyn ReceiverExtension>)
        }
    }

    const fn listening(name: &'static str) -> Scheme {
        Scheme {
            name,
            title: "",
            source: "",
            advice: "",
            counters: &[],
            read: |_| Ok(Box::new(Listening)),
            schema: crate::scheme::schema::<crate::scheme::NoSettings>,
        }
    }

    static ONE: Scheme = listening("one");
    static OTHER: Scheme = listening("other");

    fn layer(scheme: &'static Scheme) -> Layer {
        let placement = scheme.configure(toml::Table::new()).expect("no settings");
        Layer { scheme, settings: toml::Table::new(), placement }
    }

    #[test]
    fn only_one_scheme_of_a_stack_extends_receivers() {
        let icmp = find("simple-icmp").expect("it is there");
        assert!(layer(&ONE).conflict_with(&[layer(icmp)]).is_none(), "a sender's part and a receiver's");
        let error =
            layer(&OTHER).conflict_with(&[layer(icmp), layer(&ONE)]).expect("a receiver cannot do both");
        let expected = "one and other both have a part in TCP receivers; expected one such scheme in a stack";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_stack_places_its_receiver_extension() {
        let stack = SchemeStack([layer(find("snoop").expect("it is there")), layer(&ONE)].into());
        assert!(stack.changes_endpoints());
        assert!(stack.receiver_extension(Role::MobileHost).is_some());
        assert!(stack.receiver_extension(Role::FixedHost).is_none());
        assert_eq!(ONE.places(), "a part of TCP receivers at mobile-host");
    }

    /// A scheme with an agent in seats of this role, or in all.
    struct Messaging(Option<Role>);

    /// Sends one octet to the destination of each packet, and answers messages with their own
    /// contents.
    struct Messenger;

    impl Agent for Messenger {
        fn on_packet(&mut self, packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
            cx.send_message(packet.ip().destination, b"t".as_slice().into());
            Verdict::Forward
        }

        fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
            cx.send_message(from, octets.to_vec().into());
        }
    }

    impl Stateless for Messenger {}

    impl Placement for Messaging {
        fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
            self.0.is_none_or(|role| role == seat.role).then(|| Box::new(Messenger) as Box<dyn Agent>)
        }
    }

    /// The messages that agents of a stack of these schemes send from one seat, and the answers
    /// from the other.
    fn messages(schemes: Vec<Messaging>, from: Role, to: Role) -> [Vec<Vec<u8>>; 2] {
        let layer = |messaging| Layer { placement: Box::new(messaging), ..layer(&ONE) };
        let (host, stack) =
            (IpAddr::from(Ipv4Addr::LOCALHOST), SchemeStack(schemes.into_iter().map(layer).collect()));
        let [mut messenger, mut peer] =
            [from, to].map(|role| stack.agent(Seat { role, address: host }).expect("it has one there"));
        let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
        let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        assert_eq!(messenger.on_packet(&mut packet, Side::Core, &mut cx), Verdict::Forward);
        let messages: Vec<_> = outbox.messages.drain(..).map(|(_, message)| message.to_vec()).collect();
        for message in &messages {
            peer.on_message(host, message, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
        }
        [messages, outbox.messages.into_iter().map(|(_, message)| message.to_vec()).collect()]
    }

    #[test]
    fn messages_reach_the_same_scheme_regardless_of_other_agents() {
        let (edge, phone) = (Role::Edge, Role::MobileHost);
        let both = || vec![Messaging(Some(edge)), Messaging(None)];
        let (first, second) = (vec![0, b't'], vec![1, b't']);
        let [at_edge, back] = messages(both(), edge, phone);
        assert_eq!((at_edge, back), (vec![first, second.clone()], vec![second.clone()]));
        let [at_phone, back] = messages(both(), phone, edge);
        assert_eq!((at_phone, back), (vec![second.clone()], vec![second]));
        let alone = [vec![b"t".to_vec()], vec![b"t".to_vec()]];
        assert_eq!(messages(vec![Messaging(None)], edge, phone), alone, "a scheme alone is not numbered");
    }
}
