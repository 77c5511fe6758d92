//! Taking the place of one end after its handshake.

use lasthop_packet::{Instant, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection, Handshake, NotAHandshake};

#[test]
fn segments_other_than_a_handshake_are_refused() {
    let syn = Tcp { seq: Seq(100), flags: TcpFlags::SYN, ..Tcp::default() };
    let answer =
        Tcp { seq: Seq(900), ack: Seq(101), flags: TcpFlags::SYN.with(TcpFlags::ACK), ..Tcp::default() };
    let adopt = |ours: &Tcp, peers: &Tcp| {
        let (a, b) = (([10, 0, 0, 1].into(), 1), ([10, 0, 0, 2].into(), 2));
        let handshake = Handshake { ours, sent: None, peers };
        Connection::adopt(Config::default(), a, b, handshake, Instant::ZERO).err()
    };
    assert_eq!(adopt(&syn, &answer), None);
    assert_eq!(adopt(&answer, &syn), None);
    let another = Tcp { ack: Seq(102), ..answer.clone() };
    let bare = Tcp { flags: TcpFlags::ACK, ..answer.clone() };
    for (ours, peers) in [(&syn, &syn), (&answer, &answer), (&syn, &another), (&another, &syn), (&syn, &bare)]
    {
        assert_eq!(adopt(ours, peers), Some(NotAHandshake));
    }
}
