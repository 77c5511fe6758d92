//! The rates of frames, as the driver knows them: positions in those of a band.

use lasthop_uml::hwsim::Stage;
use lasthop_wifi::{Rate, Rates, RetryChain, Standard};

/// The rates at 2.4 GHz are all, those at 5 GHz begin here.
const OFDM: usize = 4;
/// `MAC80211_HWSIM_TX_RC_MCS` and `MAC80211_HWSIM_TX_RC_VHT_MCS`.
const NOT_LEGACY: u16 = 8 | 256;

/// The position of the first rate of a channel's band among all rates.
const fn first(mhz: u32) -> usize {
    if mhz < 5000 { 0 } else { OFDM }
}

/// The rates of a frame's transmissions. An error is what a cell of the standard does not have.
pub(super) fn of(stages: &[Option<Stage>; 4], mhz: u32, standard: Standard) -> Result<Rates, String> {
    let mut chain = Vec::with_capacity(RetryChain::STAGES);
    for stage in stages.iter().flatten().filter(|stage| stage.tries > 0) {
        if stage.flags & NOT_LEGACY != 0 {
            return Err(format!("a frame at MCS {}; expected a rate of the cell's standard", stage.index));
        }
        let rate = Rate::all_non_ht().nth(first(mhz) + usize::from(stage.index));
        let rate = rate.filter(|rate| standard.has_rate(*rate, standard.usual_band())).ok_or_else(|| {
            format!(
                "a frame at rate {} of the band at {mhz} MHz; expected one of the cell's standard",
                stage.index
            )
        })?;
        chain.push((rate, stage.tries));
    }
    Ok(RetryChain::new(&chain).map_or(Rates::LowestBasic, Rates::Chain))
}

/// The position of a rate among those of a channel's band.
pub(super) fn position(rate: Rate, mhz: u32) -> u32 {
    rate.non_ht_index().map_or(0, |index| index.saturating_sub(first(mhz)) as u32)
}

/// The stages of which this number of transmissions were made.
pub(super) fn tried(stages: &[Option<Stage>; 4], transmissions: u32) -> [Option<Stage>; 4] {
    let mut left = transmissions;
    stages.map(|stage| {
        let stage = stage?;
        let tries = u32::from(stage.tries).min(left) as u8;
        left -= u32::from(tries);
        (tries > 0).then_some(Stage { tries, ..stage })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stage(index: u8, tries: u8) -> Stage {
        Stage { index, tries, flags: 0 }
    }

    #[test]
    fn a_chain_has_the_rates_of_its_band() {
        let stages = [Some(stage(3, 2)), Some(stage(0, 0)), Some(stage(0, 5)), None];
        let chain = RetryChain::new(&[(Rate::CCK_11, 2), (Rate::DSSS_1, 5)]).map(Rates::Chain);
        assert_eq!(of(&stages, 2412, Standard::HrDsss).ok(), chain);
        let chain = RetryChain::new(&[(Rate::OFDM_18, 2), (Rate::OFDM_6, 5)]).map(Rates::Chain);
        assert_eq!(of(&stages, 5180, Standard::Ofdm).ok(), chain);
        assert_eq!(of(&[None; 4], 2412, Standard::Erp), Ok(Rates::LowestBasic));
        assert_eq!((position(Rate::OFDM_6, 2412), position(Rate::OFDM_6, 5180)), (4, 0));
    }

    #[test]
    fn rates_that_the_cell_does_not_have_are_an_error() {
        assert!(of(&[Some(stage(12, 1)), None, None, None], 2412, Standard::Erp).is_err());
        assert!(of(&[Some(stage(11, 1)), None, None, None], 2412, Standard::Erp).is_ok());
        assert!(of(&[Some(stage(11, 1)), None, None, None], 2412, Standard::HrDsss).is_err(), "54 Mbit/s");
        assert!(of(&[Some(stage(0, 1)), None, None, None], 5180, Standard::HrDsss).is_err(), "5 GHz");
        let ht = Some(Stage { index: 0, tries: 1, flags: 8 });
        assert!(of(&[ht, None, None, None], 2412, Standard::Erp).is_err());
    }

    #[test]
    fn the_last_stage_that_was_tried_has_what_is_left() {
        let stages = [Some(stage(3, 2)), Some(stage(2, 4)), Some(stage(0, 7)), None];
        assert_eq!(tried(&stages, 1), [Some(stage(3, 1)), None, None, None]);
        assert_eq!(tried(&stages, 5), [Some(stage(3, 2)), Some(stage(2, 3)), None, None]);
        assert_eq!(tried(&stages, 13), stages);
    }
}
