//! Groups of like nodes.

use super::{GOOD, check, error, read};

const GROUP: &str = r#"[nodes.ap]
kind = "host"
[nodes.phone]
kind = "host"
count = 11
[wlans.cell]
standard = "802.11b"
access-point = "ap"
stations = ["phone"]
except.phone = { rate = "1 Mbit/s" }
except.phone-2 = { rate = "2 Mbit/s" }
[flows.up]
from = "phone"
to = "ap"
tcp.window = "8 KiB"
"#;

#[test]
fn a_group_stands_for_its_members_wherever_it_is_named() {
    let scenario = read(GROUP).expect("a right scenario");
    let nodes: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!((nodes.len(), nodes[1], nodes[2], nodes[10]), (12, "phone-1", "phone-2", "phone-10"));
    assert_eq!((scenario.wlans[0].stations.len(), scenario.links.len()), (12, 11));
    let rates: Vec<_> = scenario.wlans[0].stations.iter().filter_map(|it| it.config.rate).collect();
    assert_eq!(rates[..3].iter().map(|rate| rate.kbps()).collect::<Vec<_>>(), [1000, 2000, 1000]);
    assert_eq!(scenario.flows.len(), 11);
    assert_eq!((scenario.flows[9].name.as_str(), scenario.flows[9].from), ("up-10", 10));
    assert_eq!(scenario.flows[9].tcp().expect("it goes over TCP").sender.window, 8192);
}

#[test]
fn the_kernel_of_a_group_is_that_of_its_members_without_their_own() {
    let kernels = "[try.kernels]\nphone = \"6.1\"\nphone-2 = \"6.6\"\n";
    let kernels = read(&format!("{GROUP}{kernels}")).expect("a right scenario").trial.kernels;
    let first: Vec<_> = kernels.iter().take(3).map(|(node, kernel)| (*node, kernel.as_str())).collect();
    assert_eq!((kernels.len(), &first[..]), (11, &[(1, "6.1"), (2, "6.6"), (3, "6.1")][..]));
}

#[test]
fn groups_of_equal_size_are_joined_member_by_member() {
    let pairs = r#"[nodes.left]
kind = "host"
count = 3
[nodes.right]
kind = "host"
count = 3
[links.wire]
between = ["left", "right"]
rate = "1 Mbit/s"
[flows.up]
from = "left"
to = "right"
"#;
    let scenario = read(pairs).expect("a right scenario");
    let ends: Vec<_> = scenario.links.iter().map(|link| link.ends).collect();
    assert_eq!(ends, [(0, 3), (1, 4), (2, 5)]);
    assert_eq!((scenario.flows[2].from, scenario.flows[2].to), (2, 5));
    let uneven = error(&pairs.replacen("count = 3", "count = 2", 1));
    assert!(
        uneven.starts_with("x.toml:7: links.wire.between: ") || uneven.contains("different sizes"),
        "{uneven}"
    );
}

#[test]
fn an_error_in_a_group_is_reported_once_with_its_place() {
    let wrong = error(&GROUP.replace("tcp.window = \"8 KiB\"", "tcp.window = \"0 B\""));
    assert!(wrong.starts_with("x.toml:15: flows.up.tcp.window: "), "{wrong}");
    let wrong = error(&GROUP.replace("to = \"ap\"", "to = \"nobody\""));
    assert!(wrong.starts_with("x.toml:14: flows.up.to: "), "{wrong}");
    check(&[
        (
            "[nodes.phone]\nkind = \"host\"",
            "[nodes.phone]\nkind = \"host\"\ncount = 0",
            "9: nodes.phone.count",
            "1 to 5000",
        ),
        (
            "[nodes.phone]\nkind = \"host\"",
            "[nodes.phone]\nkind = \"host\"\ncount = 9999",
            "9: nodes.phone.count",
            "1 to 5000",
        ),
        (
            "[nodes.phone]\nkind = \"host\"",
            "[nodes.phone]\nkind = \"host\"\ncount = \"2\"",
            "9: nodes.phone.count",
            "1 to 5000",
        ),
    ]);
    let twice = GOOD.replace(
        "[nodes.phone]\nkind = \"host\"",
        "[nodes.phone-1]\nkind = \"host\"\n[nodes.phone]\nkind = \"host\"\ncount = 2",
    );
    let twice = error(&twice);
    assert!(twice.starts_with("x.toml:7: nodes.phone-1: ") && twice.contains("another name"), "{twice}");
}

#[test]
fn the_error_about_a_group_instead_of_a_node_lists_its_members() {
    let wrong = error(&GROUP.replace("access-point = \"ap\"", "access-point = \"phone\""));
    assert_eq!(
        wrong,
        "x.toml:8: wlans.cell.access-point: \"phone\" is a group of nodes; expected a single one: phone-1 to phone-11"
    );
    let wrong = error(&GROUP.replace("access-point = \"ap\"", "access-point = \"pa\""));
    assert!(
        wrong.ends_with(
            "unknown node \"pa\" (did you mean \"ap\"?); expected one of: ap, phone-1 to phone-11"
        ),
        "{wrong}"
    );
}
