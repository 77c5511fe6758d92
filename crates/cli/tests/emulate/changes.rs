//! Links that change, and the files that a change may name.

use std::fs::Permissions;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::machine::{Machine, emulate, link, port_of, read_from, say_hello, text};

pub fn a_change_of_the_flags_happens_at_its_time() {
    let machine = Machine::new();
    let listener = machine.listen("0.0.0.0:0");
    let client = format!("sleep 0.5; timeout 1 bash -c '{}'", read_from(port_of(&listener)));
    let output =
        machine.emulate(&["--delay", "1ms", "--at", "200ms", "loss=100%", "--", "bash", "-c", &client]);
    assert_eq!(output.status.code(), Some(124), "{}", text(&output.stderr));
    let server = std::thread::spawn(move || say_hello(&listener));
    let output =
        machine.emulate(&["--loss", "100%", "--at", "200ms", "loss=0%", "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "hello\n", "{}", text(&output.stderr));
    server.join().expect("it has served");
}

pub fn a_link_impairs_the_selected_service_alone_until_that_changes() {
    let machine = Machine::new();
    let [one, other] = ["0.0.0.0:0", "[::]:0"].map(|address| machine.listen(address));
    let [port, free] = [&one, &other].map(port_of);
    let [read, read_free] = [port, free].map(read_from);
    // The other service answers over IPv4 and IPv6; that of the port only once it is not selected any more.
    let free_v6 = read_free.replace("host.lasthop", "$LASTHOP_GATEWAY_V6");
    let client = format!(
        "{read_free}; {free_v6}; timeout 1 bash -c '{read}' && echo reached; \
         {} emulate set hop.only=none && timeout 5 bash -c '{read}'",
        env!("CARGO_BIN_EXE_lasthop")
    );
    let served = std::thread::spawn(move || {
        say_hello(&other);
        say_hello(&other);
    });
    let waiting = std::thread::spawn(move || say_hello(&one));
    let only = format!("tcp:{port}");
    let output = machine.emulate(&["--loss", "100%", "--only", &only, "--json", "--", "bash", "-c", &client]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "hello\nhello\nhello\n", "{err}");
    assert!(err.contains("\"wired loss\": ") && !err.contains("\"packets_unselected\": 0,"), "{err}");
    served.join().expect("it has served");
    waiting.join().expect("it has served");
}

/// What a command in another language says is translated.
const ENGLISH: &str = "export LC_ALL=C";

pub fn a_reset_ends_connections_at_both_ends_and_the_next_one_passes() {
    let machine = Machine::new();
    let listener = machine.listen("[::]:0");
    let port = port_of(&listener);
    let [v4, v6] = ["host.lasthop", "$LASTHOP_GATEWAY_V6"].map(|host| format!("/dev/tcp/{host}/{port}"));
    // Both connections are silent when they are reset.
    let client = format!(
        "{ENGLISH}; exec 3<>{v4} 4<>{v6}; read -r said <&3; echo $said; read -r said <&4; echo $said; \
         {0} emulate set hop.connections=reset; cat <&3 || cat <&4 || {1}",
        env!("CARGO_BIN_EXE_lasthop"),
        read_from(port),
    );
    let serving = std::thread::spawn(move || {
        let mut streams = [0, 1].map(|_| {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.write_all(b"hi\n").expect("a reader");
            stream
        });
        let ends = streams.each_mut().map(|stream| stream.read(&mut [0; 1]).map_err(|error| error.kind()));
        say_hello(&listener);
        ends
    });
    let output = machine.emulate(&["--delay", "5ms", "--json", "--", "bash", "-c", &client]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "hi\nhi\nhello\n", "{err}");
    assert_eq!(err.matches("Connection reset by peer").count(), 2, "{err}");
    assert!(
        err.contains("\"connections_reset\": 2,") && err.contains("\"connections_refused\": 0,"),
        "{err}"
    );
    assert_eq!(serving.join().expect("it has served"), [Err(ErrorKind::ConnectionReset); 2]);
}

pub fn a_connection_that_opens_is_refused_while_another_one_goes_on() {
    let machine = Machine::new();
    let listener = machine.listen("[::]:0");
    let port = port_of(&listener);
    let [v4, v6] = ["$LASTHOP_GATEWAY", "$LASTHOP_GATEWAY_V6"].map(|host| format!("/dev/tcp/{host}/{port}"));
    let set = format!("{} emulate set hop.connections", env!("CARGO_BIN_EXE_lasthop"));
    let client = format!(
        "{ENGLISH}; exec 3<>{v4}; {set}=refused; (exec 4<>{v4}); (exec 4<>{v6}); echo go >&3; cat <&3; exec 3<&-; \
         {set}=kept; {}",
        read_from(port)
    );
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.read_exact(&mut [0; 3]).expect("it goes on");
        stream.write_all(b"still here\n").expect("a reader");
        drop(stream);
        say_hello(&listener);
    });
    let output = machine.emulate(&["--delay", "5ms", "--json", "--", "bash", "-c", &client]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "still here\nhello\n", "{err}");
    assert_eq!(err.matches(&format!("/{port}: Connection refused")).count(), 2, "{err}");
    assert!(
        err.contains("\"connections_reset\": 0,") && err.contains("\"connections_refused\": 2,"),
        "{err}"
    );
    serving.join().expect("it has served");
}

pub fn a_download_is_reset_once_so_much_of_it_has_arrived() {
    let machine = Machine::new();
    let listener = machine.listen("[::]:0");
    let client =
        format!("{ENGLISH}; exec 3<>/dev/tcp/host.lasthop/{} && cat <&3 | wc -c", port_of(&listener));
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(&vec![0; 5_000_000]).expect_err("it is reset").kind()
    });
    let arguments = ["--delay", "5ms", "--connections", "reset after 100kB", "--", "bash", "-c", &client];
    let output = machine.emulate(&arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let octets: u64 = out.trim().parse().expect("a number");
    // The last segment is whole.
    assert!((100_000..101_500).contains(&octets), "{octets}: {err}");
    assert!(err.contains("Connection reset by peer") && err.contains(", 1 connection reset; "), "{err}");
    let told = serving.join().expect("it has served");
    assert!(matches!(told, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{told}");
}

pub fn a_link_is_changed_from_behind_it() {
    let cell = link("busy-cell.toml");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let set = format!(
        "{lasthop} emulate set to-near.rate='5 Mbit/s' to-near.loss=2% || exit 8; {lasthop} emulate set moon.rate=1"
    );
    let output = emulate(&[&cell, "--", "sh", "-c", &set]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("unknown link \"moon\""), "{}", text(&output.stderr));
}

pub fn a_change_is_typed_as_the_flags_are_and_shown_by_status() {
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let set = format!(
        "{lasthop} emulate set hop.queue=50 links.hop.loss=2% hop.rate=unlimited hop.reorder=1% && {lasthop} emulate status; \
         for wrong in hop.rate=20mbit: hop.los=1% loss=1% hop.loss=1 hop.order=kept hop.latency=5ms; do {lasthop} emulate set $wrong; done; \
         {lasthop} emulate set --name mien hop.loss=3%; {lasthop} emulate set --name mine hop.rate=20mbit:2mbit hop.loss=0%:3% && \
         {lasthop} emulate status"
    );
    let arguments = ["--delay", "1ms", "--name", "mine", "--at", "0s", "corrupt=1%", "--", "sh", "-c", &set];
    let output = emulate(&arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    // Others may be at work on this machine.
    let line = ": [delay 1ms; changed since: hop.corrupt=1% hop.loss=2% hop.queue=50 packets hop.rate=unlimited hop.reorder=1%] sh -c ";
    assert!(out.contains(line), "{out}{err}");
    let line = " mine: [delay 1ms; changed since: hop.backward.loss=3% hop.backward.rate=2mbit hop.corrupt=1% \
                hop.forward.loss=0% hop.forward.rate=20mbit hop.queue=50 packets hop.reorder=1%] sh -c ";
    assert!(out.contains(line), "{out}{err}");
    for told in [
        "hop.rate=20mbit:: a value is missing; expected VALUE or DOWN:UP",
        "hop.latency=5ms: unknown key \"latency\" (did you mean \"delay\"?)",
        "no emulation with the name \"mien\" is running (did you mean \"mine\"?)",
        "hop.los: unknown key \"los\" (did you mean \"loss\"?); expected LINK.KEY",
        "loss: no link; expected LINK.KEY, where LINK is one of: hop",
        "\"1\" is not a probability",
        "not together with order = \"kept\": packets that skip the delay overtake others",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
}

pub fn a_user_who_is_not_root_cannot_have_root_open_files() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("it is ours");
    // Where any user can run it.
    let lasthop = directory.path().join("lasthop");
    std::fs::copy(env!("CARGO_BIN_EXE_lasthop"), &lasthop).expect("there is room");
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "the-secret\n").expect("there is room");
    std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("it is ours");
    let trace = directory.path().join("down.trace");
    std::fs::write(&trace, "1\n2\n").expect("there is room");
    // What the user makes of it while it is in use.
    let replace = format!("rm -f {0}; ln -s {1} {0}", trace.display(), secret.display());
    let set = |assignment: &str| {
        std::fs::remove_file(&trace).expect("it is there");
        std::fs::write(&trace, "1\n2\n").expect("there is room");
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("it is ours");
        let script = format!("{replace}; exec {} emulate set '{assignment}'", lasthop.display());
        let trace = trace.to_str().expect("UTF-8");
        emulate(&["--trace", trace, "--user", "nobody", "--", "sh", "-c", &script])
    };
    let output = set("hop.loss=2%");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let name = secret.display();
    for assignment in [format!("hop.trace={name}"), format!("hop.delay={{ table = \"{name}\" }}")] {
        let output = set(&assignment);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{out}{err}");
        assert!(err.contains("only root may name files"), "{err}");
        assert!(!out.contains("the-secret") && !err.contains("the-secret"), "{out}{err}");
    }
}

pub fn a_pipe_is_a_trace_at_the_start_and_refused_later() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let pipe = pipe.to_str().expect("UTF-8");
    assert!(Command::new("mkfifo").arg(pipe).status().expect("it is installed").success());
    let mut writer = Command::new("sh").args(["-c", "echo 1 > $0", pipe]).spawn().expect("it is installed");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let set = format!("{lasthop} emulate set hop.loss=2% || exit 8; {lasthop} emulate set hop.trace={pipe}");
    let output = emulate(&["--trace", pipe, "--as-root", "--", "sh", "-c", &set]);
    // It has written, or will never do so.
    let _ = writer.kill();
    writer.wait().expect("it is ours");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("not a regular file"), "{}", text(&output.stderr));
}
