use proptest::prelude::*;

use super::*;

/// A UDP and a TCP connection, as Linux 6.18 lists them: 10.0.0.7 behind a router with the outside address 192.0.2.1.
const UDP_ENTRY: &str = "\
    020000003400018014000180080001000a00000708000200c00002091c000280050001001100000006000200c3500000\
    0600030000350000340002801400018008000100c000020908000200c00002011c000280050001001100000006000200\
    0035000006000300c3500000080003000000019a080008000000123408000c0055ac7aec08000b000000000108000700\
    0000001c\
";
const TCP_ENTRY: &str = "\
    020000003400018014000180080001000a00000708000200c00002091c0002800500010006000000060002009c400000\
    0600030000500000340002801400018008000100c000020908000200c00002011c000280050001000600000006000200\
    00500000060003009c400000080003000000019e080008000000123408000c00a4cc879c08000b000000000108000700\
    00000077300004802c0001800500010004000000050002000a000000050003000a000000060004003700000006000500\
    23000000\
";

fn octets(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
}

fn end(text: &str) -> SocketAddrV4 {
    text.parse().expect("an address and a port")
}

fn tuple_of(protocol: Protocol, source: &str, destination: &str) -> Tuple {
    Tuple { protocol, source: end(source), destination: end(destination) }
}

#[test]
fn entries_are_read_as_the_kernel_lists_them() {
    let udp = Entry {
        original: tuple_of(Protocol::Udp, "10.0.0.7:50000", "192.0.2.9:53"),
        reply: tuple_of(Protocol::Udp, "192.0.2.9:53", "192.0.2.1:50000"),
        status: Status { is_answered: true, is_assured: false },
        timeout: Duration::from_secs(28),
        mark: 0x1234,
        tcp: None,
    };
    assert_eq!(read(&octets(UDP_ENTRY)), Some(udp));
    let tcp = read(&octets(TCP_ENTRY)).expect("a connection");
    let ends = [0x07, 0x03].map(|flags| TcpEnd { window_scale: 10, flags });
    assert_eq!(tcp.tcp, Some(TcpState { state: 4, ends }), "the client has sent a FIN");
    assert_eq!(tcp.original, tuple_of(Protocol::Tcp, "10.0.0.7:40000", "192.0.2.9:80"));
    assert_eq!(tcp.status, Status { is_answered: true, is_assured: true });
    assert_eq!((tcp.outside(), tcp.timeout.as_secs()), (Some(end("192.0.2.1:40000")), 119));
}

#[test]
fn only_a_translated_source_and_nothing_else_has_an_outside_end() {
    let entry = read(&octets(UDP_ENTRY)).expect("a connection");
    assert_eq!(Entry { reply: entry.original.reversed(), ..entry }.outside(), None);
    let redirected = Tuple { source: end("192.0.2.10:53"), ..entry.reply };
    assert_eq!(Entry { reply: redirected, ..entry }.outside(), None, "its destination is translated as well");
}

#[test]
fn what_is_missing_or_out_of_range_makes_no_entry() {
    let whole = octets(TCP_ENTRY);
    for len in 0..whole.len() {
        assert_eq!(read(&whole[..len]), None, "{len} octets");
    }
    let with = |part: &[u8]| {
        let at = whole.windows(part.len()).position(|octets| octets == part).expect("it has it");
        let mut changed = whole.clone();
        changed[at + 4] = 0xff;
        changed
    };
    for attribute in [written(PROTO_NUM, &[TCP]), written(TCP_STATE, &[4]), written(TCP_WSCALE[0], &[10])] {
        assert_eq!(read(&with(&attribute)), None, "{attribute:?}");
    }
    let elsewhere = [whole.clone(), written(ZONE, &[0, 7])].concat();
    assert_eq!(read(&elsewhere), None, "it is another zone's");
    assert_eq!(read(&[&[10, 0, 0, 0], &whole[4..]].concat()), None, "IPv6");
}

proptest! {
    #[test]
    fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&garbage);
    }

    #[test]
    fn a_listed_entry_with_a_wrong_octet_is_read_without_harm(at in 0_usize..240, octet: u8) {
        let mut whole = octets(TCP_ENTRY);
        let at = at % whole.len();
        whole[at] = octet;
        if let Some(TcpState { state, ends }) = read(&whole).and_then(|entry| entry.tcp) {
            prop_assert!(state <= TcpState::MAX && ends.iter().all(|end| end.window_scale <= TcpEnd::MAX_SCALE));
        }
    }
}
