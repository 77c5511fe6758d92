use lasthop_agent::LinkSenses;

use super::*;
use crate::config::{Surroundings, parse};

const KEY: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000001";

fn read(text: &str) -> Result<SiteConfig, String> {
    let config = parse(text, "gateway.toml", LinkSenses::empty()).map_err(|error| error.to_string())?;
    config.roaming.ok_or_else(|| "no roaming".to_owned())
}

/// A file with these lines in its `[roaming]`.
fn with(lines: &str) -> String {
    format!("[roaming]\naccess-point = \"hall\"\naddress = \"10.0.0.1:9479\"\n{lines}")
}

#[test]
fn a_gateway_that_keeps_the_registry_needs_a_name_an_address_and_a_file() {
    let site = read(&with("registry.file = \"/var/lib/lasthop/clients\"")).expect("it is right");
    assert_eq!((&*site.access_point, site.listen), ("hall", "10.0.0.1:9479".parse().expect("an address")));
    assert_eq!(site.registry, RegistryPlace::File("/var/lib/lasthop/clients".into()));
    assert!(site.bridge && site.peers.is_empty() && site.site_key.is_none());
}

#[test]
fn the_registry_may_be_another_gateways() {
    let peer = "[[roaming.peer]]\nname = \"stairs\"\naddress = \"10.0.0.2:9479\"";
    let registry = "registry.peer = \"stairs\"";
    let site = read(&with(&format!("{registry}\nsite-key = \"/etc/key\"\n{peer}"))).expect("it is right");
    assert!(
        matches!(&site.registry, RegistryPlace::Peer(peer) if peer.name == "stairs" && peer.key.is_none())
    );
    let site = read(&with(&format!("{registry}\n{peer}\nkey = \"{KEY}\""))).expect("it is right");
    assert!(site.peers[0].key.is_some());
    // Its key may be among the known ones.
    assert!(read(&with(&format!("{registry}\n{peer}"))).is_ok());
}

#[test]
fn errors_name_the_key_and_what_was_expected() {
    let peer = |rest: &str| format!("registry.file = \"/r\"\n[[roaming.peer]]\nname = \"stairs\"\n{rest}");
    let at = "address = \"10.0.0.2:9479\"";
    for (lines, place, problem) in [
        ("", "roaming.registry: ", "no registry; expected `file`, `peer` or `etcd`"),
        ("registry = { file = \"/r\", peer = \"x\" }", "roaming.registry: ", "expected only one"),
        ("registry.file = \"r\"", "roaming.registry.file: ", "absolute path"),
        ("registry.peer = \"hall\"", "roaming.registry.peer: ", "this access point itself"),
        ("registry.peer = \"x\"", "roaming.registry.peer: ", "no [[roaming.peer]] has the name \"x\""),
        ("registry = { file = \"/r\", prefix = \"x\" }", "roaming.registry.prefix: ", "a setting of etcd"),
        (
            "registry.file = \"/r\"\nlisten = \"0.0.0.0:0\"",
            "roaming.listen: ",
            "other access points would not find port 0",
        ),
        ("registry.file = \"/r\"\nlisten = \"9479\"", "roaming.listen: ", "such as \"10.0.0.1:9479\""),
        ("registry.file = \"/r\"\nmax-clients = 0", "roaming.max-clients: ", "1 to 100000"),
        ("registry.file = \"/r\"\nsite-key = \"key\"", "roaming.site-key: ", "absolute path"),
        ("registry.file = \"/r\"\nhostapd = [\"wlan0\"]", "roaming.hostapd[0]: ", "absolute path"),
        ("registry.file = \"/r\"\nanswer-timeout = \"1 us\"", "roaming.answer-timeout: ", "10 ms to"),
        ("registry.file = \"/r\"\nanswer-time = \"1 s\"", "roaming.answer-time: ", "unknown key"),
        (&peer(""), "roaming.peer[0].address: ", "expected an address and a port"),
        (&peer("address = \"0.0.0.0:1\""), "roaming.peer[0].address: ", "no host can connect to 0.0.0.0:1"),
        (&peer(&format!("{at}\nkey = \"sha256:1\"")), "roaming.peer[0].key: ", "64 hexadecimal digits"),
        (
            &peer(&format!("{at}\n[[roaming.peer]]\nname = \"stairs\"\n{at}")),
            "roaming.peer[1].name: ",
            "listed twice",
        ),
        (
            &peer(&format!(
                "{at}\nkey = \"{KEY}\"\n[[roaming.peer]]\nname = \"attic\"\n{at}\nkey = \"{KEY}\""
            )),
            "roaming.peer[1].key: ",
            "stairs has the same key",
        ),
    ] {
        let error = read(&with(lines)).expect_err(lines);
        assert!(error.contains(place) && error.contains(problem), "{lines}\n  gives {error}");
    }
    for (text, problem) in [
        (
            "[roaming]\naddress = \"10.0.0.1:1\"\nregistry.file = \"/r\"",
            "expected the name of an access point",
        ),
        ("[roaming]\naccess-point = \"a b\"\nregistry.file = \"/r\"", "letters (a to z, A to Z), digits"),
        ("[roaming]\naccess-point = \"a\\\"b\"\nregistry.file = \"/r\"", "letters (a to z, A to Z), digits"),
        ("[roaming]\naccess-point = \"a\"\nregistry.file = \"/r\"", "expected an address and a port"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(problem), "{text}\n  gives {error}");
    }
    let passive = format!("passive = true\n{}", with("registry.file = \"/r\""));
    assert!(read(&passive).expect_err("nothing moves").contains("no state that could follow a client"));
    let made_passive = Surroundings { is_passive: true, ..LinkSenses::empty().into() };
    let error =
        parse(&with("registry.file = \"/r\""), "gateway.toml", made_passive).expect_err("nothing moves");
    assert!(error.to_string().contains("no state that could follow a client"), "{error}");
    let tun = format!("backend = \"tun\"\n{}", with("registry.file = \"/r\""));
    assert!(read(&tun).expect_err("no addresses").contains("no MAC addresses"));
}

#[test]
fn a_gateway_translates_its_clients_or_the_site() {
    let nat = |lines: &str| read(&with(&format!("registry.file = \"/r\"\n[roaming.nat]\n{lines}")));
    assert_eq!(read(&with("registry.file = \"/r\"")).expect("it is right").nat, None);
    assert_eq!(nat("central = \"hall\"").expect("it is right").nat, Some(NatConfig::Central));
    let site = nat("central = \"gate\"\nclients = \"10.77.0.0/16\"").expect("it is right");
    let clients = "10.77.0.0/16".parse().expect("a prefix");
    assert_eq!(site.nat, Some(NatConfig::AccessPoint { clients, central: "gate".to_owned() }));
    for (lines, place, problem) in [
        ("", "roaming.nat.central: ", "expected the name of an access point"),
        ("central = \"gate\"", "roaming.nat.clients: ", "such as \"10.77.0.0/16\""),
        ("central = \"hall\"\nclients = \"10.77.0.0/16\"", "roaming.nat.clients: ", "has no clients"),
        (
            "central = \"gate\"\nclients = \"10.77.0.1/16\"",
            "roaming.nat.clients: ",
            "has bits behind the prefix",
        ),
        ("central = \"gate\"\nclients = \"fd00::/8\"", "roaming.nat.clients: ", "expected one of IPv4"),
        (
            "central = \"gate\"\nclients = \"10.0.0.0/8\"",
            "roaming.nat.clients: ",
            "contains the address of this",
        ),
    ] {
        let error = nat(lines).expect_err(lines);
        assert!(error.contains(place) && error.contains(problem), "{lines}\n  gives {error}");
    }
    let text = "[roaming]\naccess-point = \"hall\"\naddress = \"[fd00::1]:1\"\nregistry.file = \"/r\"\nnat.central = \"hall\"";
    assert!(read(text).expect_err("IPv6").contains("translations are of IPv4"));
}

#[cfg(feature = "etcd")]
#[test]
fn members_of_etcd_are_urls_and_a_user_has_a_password() {
    let etcd = |rest: &str| read(&with(&format!("[roaming.registry]\n{rest}")));
    let site = etcd("etcd = [\"https://10.0.0.1:2379/\"]\nuser = \"hall\"\npassword-file = \"/etc/pw\"");
    let RegistryPlace::Etcd(place) = site.expect("it is right").registry else { panic!("etcd") };
    assert_eq!(place.members, ["https://10.0.0.1:2379"]);
    assert_eq!(place.user, Some(("hall".to_owned(), "/etc/pw".into())));
    for (lines, problem) in [
        ("etcd = []", "an empty list"),
        ("etcd = [\"10.0.0.1:2379\"]", "is not the URL of a member"),
        ("etcd = [\"https://a:1/v3\"]", "is not the URL of a member"),
        ("etcd = [\"https://a:1\"]\nuser = \"x\"", "expected password-file as well"),
    ] {
        let error = etcd(lines).expect_err(lines);
        assert!(error.contains(problem), "{lines}\n  gives {error}");
    }
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_without_tls_is_a_note_unless_it_is_on_this_machine() {
    let notes = |url: &str| {
        let text = with(&format!("[roaming.registry]\netcd = [\"{url}\"]"));
        read(&text).expect("it is right").notes().len()
    };
    assert_eq!(
        (notes("http://10.0.0.1:2379"), notes("http://127.0.0.1:2379"), notes("https://a:1")),
        (1, 0, 0)
    );
}
