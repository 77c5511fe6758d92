use proptest::prelude::*;

use super::*;

const MSS: u32 = 10;

/// A scoreboard of 1000 octets from `origin` on, with these blocks.
fn scoreboard(origin: Seq, blocks: &[(u32, u32)]) -> Scoreboard {
    let mut scoreboard = Scoreboard::default();
    for &(left, right) in blocks {
        assert!(scoreboard.update(&[(origin + left, origin + right)], origin, origin + 1000, MSS));
    }
    scoreboard
}

/// The RFC's definition, octet by octet.
fn pipe_by_octet(scoreboard: &Scoreboard, origin: Seq, retransmitted: u32) -> u32 {
    let (mut pipe, mut octets_above, mut blocks_above, mut was_reported) = (0, 0, 0, false);
    for octet in (0..1000).rev() {
        let is_reported = scoreboard.reported(origin + octet, origin + octet + 1) == 1;
        if is_reported {
            octets_above += 1;
            blocks_above += u32::from(!was_reported);
        } else {
            let is_lost = octets_above > 2 * MSS || blocks_above >= 3;
            pipe += u32::from(!is_lost) + u32::from(octet < retransmitted);
        }
        was_reported = is_reported;
    }
    pipe
}

//= RFC 6675, section 4: SetPipe () and IsLost ().
#[test]
fn pipe_equals_the_count_of_the_rfc_octet_by_octet() {
    let reports: [&[(u32, u32)]; 6] = [
        &[(100, 110)],
        &[(100, 110), (120, 130)],
        &[(100, 110), (120, 130), (150, 160)],
        &[(500, 521)],
        &[(500, 520)],
        &[(300, 305), (310, 315), (900, 1000), (400, 450)],
    ];
    for origin in [Seq(7), Seq(u32::MAX - 400)] {
        for blocks in reports {
            let scoreboard = scoreboard(origin, blocks);
            for retransmitted in [0, 10, 105, 125, 400] {
                let pipe = scoreboard.pipe(origin, origin + 1000, origin + retransmitted);
                assert_eq!(
                    pipe,
                    pipe_by_octet(&scoreboard, origin, retransmitted),
                    "{blocks:?} {retransmitted}"
                );
            }
        }
    }
}

#[test]
fn adjacent_blocks_are_merged_and_known_blocks_are_not_reported_as_new() {
    let mut scoreboard = scoreboard(Seq(0), &[(100, 110), (120, 130), (110, 120)]);
    assert_eq!(scoreboard.len(), 1);
    for known in [(100, 130), (105, 106), (100, 110)] {
        assert!(!scoreboard.update(&[(Seq(known.0), Seq(known.1))], Seq(0), Seq(1000), MSS));
    }
    assert!(scoreboard.update(&[(Seq(90), Seq(140))], Seq(0), Seq(1000), MSS));
    assert_eq!((scoreboard.len(), scoreboard.reported(Seq(0), Seq(1000))), (1, 50));
}

//= RFC 2883, section 4: the first block may report a duplicate, below the cumulative ACK.
#[test]
fn blocks_outside_the_outstanding_data_are_ignored() {
    let mut scoreboard = Scoreboard::default();
    for (left, right) in [(50, 100), (99, 120), (100, 120), (990, 1001), (300, 300), (400, 200)] {
        assert!(!scoreboard.update(&[(Seq(left), Seq(right))], Seq(100), Seq(1000), MSS), "{left}");
    }
    assert!(scoreboard.is_empty());
}

#[test]
fn a_cumulative_ack_removes_the_blocks_that_it_covers() {
    let mut scoreboard = scoreboard(Seq(0), &[(100, 110), (120, 150), (200, 300)]);
    assert!(scoreboard.is_lost(Seq(0)));
    scoreboard.forget_before(Seq(130));
    assert_eq!(scoreboard.missing_from(Seq(130), Seq(1000)), (Seq(150), Seq(200)));
    assert!(scoreboard.is_lost(Seq(150)) && !scoreboard.is_lost(Seq(300)));
    scoreboard.forget_before(Seq(300));
    assert!(scoreboard.is_empty() && !scoreboard.is_lost(Seq(300)));
}

#[test]
fn the_first_and_the_last_gap_are_found() {
    let scoreboard = scoreboard(Seq(0), &[(100, 110), (120, 150)]);
    assert_eq!(scoreboard.missing_from(Seq(0), Seq(1000)), (Seq(0), Seq(100)));
    assert_eq!(scoreboard.missing_from(Seq(105), Seq(1000)), (Seq(110), Seq(120)));
    assert_eq!(scoreboard.missing_from(Seq(130), Seq(140)), (Seq(140), Seq(140)));
    assert_eq!(scoreboard.last_missing(Seq(0), Seq(1000)), Some((Seq(150), Seq(1000))));
    assert_eq!(scoreboard.last_missing(Seq(0), Seq(150)), Some((Seq(110), Seq(120))));
    assert_eq!(scoreboard.highest(), Some(Seq(150)));
}

proptest! {
    #[test]
    fn pipe_equals_the_count_of_the_rfc_for_any_blocks(
        origin in any::<u32>(),
        blocks in prop::collection::vec((1u32..990, 1u32..60), 0..12),
        una in 0u32..500,
        retransmitted in 0u32..1000,
    ) {
        let origin = Seq(origin);
        let mut scoreboard = Scoreboard::default();
        for (left, len) in blocks {
            let right = (left + len).min(1000);
            scoreboard.update(&[(origin + left, origin + right)], origin, origin + 1000, MSS);
        }
        let retransmitted_to = origin + retransmitted;
        let total = scoreboard.pipe(origin, origin + 1000, retransmitted_to);
        prop_assert_eq!(total, pipe_by_octet(&scoreboard, origin, retransmitted));
        // A cumulative ACK is at the beginning of a gap. The data that it covers has left the
        // network, and nothing else changes.
        let (una, _) = scoreboard.missing_from(origin + una, origin + 1000);
        let covered = scoreboard.pipe(origin, una, retransmitted_to);
        scoreboard.forget_before(una);
        prop_assert_eq!(scoreboard.pipe(una, origin + 1000, retransmitted_to), total - covered);
    }
}
