//! Flows: applications and transports.

use std::time::Duration;

use lasthop_apps::traffic::{Beat, Bulk, Constant, OnOff, Shape, Span};
use lasthop_packet::Bitrate;
use lasthop_sim::Application;

use super::{GOOD, check, read};
use crate::model::TransportModel;

/// The application of `GOOD`'s flow with this, over UDP.
fn application(keys: &str) -> Application {
    let text = GOOD.replace("to = \"phone\"", &format!("to = \"phone\"\ntransport = \"udp\"\n{keys}"));
    let mut scenario = read(&text).unwrap_or_else(|error| panic!("{error}"));
    let flow = scenario.flows.remove(0);
    assert!(matches!(flow.transport, TransportModel::Udp) && flow.tcp().is_none());
    flow.application
}

#[test]
fn every_application_can_be_written() {
    let ms = Duration::from_millis;
    assert_eq!(application(""), Application::Bulk(Bulk::ENDLESS));
    assert_eq!(
        application("size = \"1 MB\"\napplication = { kind = \"bulk\", message = \"100 B\" }"),
        Application::Bulk(Bulk { size: Some(1_000_000), message: 100 })
    );
    let beat = Beat::Rate(Bitrate::mbps(2));
    let constant = Constant { message: 1472, beat, jitter: Duration::ZERO };
    assert_eq!(
        application("application = { kind = \"cbr\", rate = \"2 Mbit/s\" }"),
        Application::Constant(constant)
    );
    assert_eq!(
        application(
            "application = { kind = \"cbr\", interval = \"20 ms\", message = \"160 B\", jitter = \"5 ms\" }"
        ),
        Application::Constant(Constant { message: 160, beat: Beat::Interval(ms(20)), jitter: ms(5) })
    );
    let shape = Shape::new(1.5).expect("above 1");
    assert_eq!(
        application(
            "application = { kind = \"on-off\", rate = \"2 Mbit/s\", on = { mean = \"1 s\" }, \
             off = { mean = \"2 s\", distribution = \"pareto\" } }"
        ),
        Application::OnOff(OnOff {
            constant,
            on: Span::Exponential(ms(1000)),
            off: Span::Pareto(ms(2000), shape)
        })
    );
}

#[test]
fn an_application_may_use_tcp_and_has_a_start_and_a_stop() {
    let text = GOOD.replace(
        "to = \"phone\"",
        "to = \"phone\"\nstart = \"1 s\"\nstop = \"3 s\"\napplication = { kind = \"cbr\", rate = \"1 Mbit/s\" }",
    );
    let flow = read(&text).expect("a good scenario").flows.remove(0);
    assert!(flow.tcp().is_some() && matches!(flow.application, Application::Constant(_)));
    assert_eq!((flow.start, flow.stop), (Duration::from_secs(1), Some(Duration::from_secs(3))));
}

#[test]
fn keys_without_effect_on_an_application_are_refused() {
    let flow = |keys: &str| format!("to = \"phone\"\n{keys}");
    let cases = [
        ("application = \"ftp\"", "23: flows.download.application", "bulk"),
        ("application = { kind = \"cbr\" }", "23: flows.download.application", "`rate` or an `interval`"),
        (
            "application = { kind = \"cbr\", rate = \"1 Mbit/s\", interval = \"1 ms\" }",
            "23: flows.download.application.interval",
            "not both",
        ),
        (
            "application = { kind = \"cbr\", rate = \"trace\" }",
            "23: flows.download.application.rate",
            "Mbit/s or Gbit/s",
        ),
        (
            "application = { kind = \"cbr\", rate = \"1 bit/s\" }",
            "23: flows.download.application.rate",
            "1 us to 1 h",
        ),
        (
            "application = { kind = \"cbr\", rate = \"900 Gbit/s\", message = \"1 B\" }",
            "23: flows.download.application.rate",
            "1 us to 1 h",
        ),
        (
            "application = { kind = \"cbr\", interval = \"1 ms\", jitter = \"2 ms\" }",
            "23: flows.download.application.jitter",
            "0 s to 1 ms",
        ),
        (
            "application = { kind = \"cbr\", interval = \"1 ms\", message = \"65508 B\" }",
            "23: flows.download.application.message",
            "65507 B",
        ),
        (
            "application = { kind = \"cbr\", interval = \"1 ms\", message = \"0 B\" }",
            "23: flows.download.application.message",
            "1 B",
        ),
        (
            "application = { kind = \"bulk\", message = \"9 B\" }",
            "23: flows.download.application.message",
            "only with transport = \"udp\"",
        ),
        (
            "application = { kind = \"bulk\", rate = \"1 Mbit/s\" }",
            "23: flows.download.application.rate",
            "leave it out",
        ),
        (
            "application = { kind = \"cbr\", interval = \"1 ms\", on = { mean = \"1 s\" } }",
            "23: flows.download.application.on",
            "on-off",
        ),
        (
            "application = { kind = \"on-off\", interval = \"1 ms\", on = { mean = \"1 s\" } }",
            "23: flows.download.application",
            "requires `off`",
        ),
        (
            "application = { kind = \"on-off\", interval = \"1 ms\", on = { mean = \"0 s\" }, off = { mean = \"1 s\" } }",
            "23: flows.download.application.on.mean",
            "1 ms",
        ),
        (
            "application = { kind = \"on-off\", interval = \"1 ms\", on = { mean = \"1 s\", shape = 2.0 }, off = { mean = \"1 s\" } }",
            "23: flows.download.application.on.shape",
            "pareto",
        ),
        (
            "application = { kind = \"on-off\", interval = \"1 ms\", on = { mean = \"1 s\", distribution = \"pareto\", shape = nan }, \
             off = { mean = \"1 s\" } }",
            "23: flows.download.application.on.shape",
            "above 1",
        ),
        (
            "size = \"1 MB\"\napplication = { kind = \"cbr\", interval = \"1 ms\" }",
            "23: flows.download.size",
            "only with application = \"bulk\"",
        ),
        ("transport = \"sctp\"", "23: flows.download.transport", "udp"),
        ("transport = \"udp\"\nopening = \"handshake\"", "24: flows.download.opening", "only with transport"),
        ("transport = \"udp\"\ntcp = { sack = true }", "24: flows.download.tcp", "only with transport"),
    ];
    for (keys, place, says) in cases {
        check(&[("to = \"phone\"", &flow(keys), place, says)]);
    }
}
