//! The size of a beacon (IEEE 802.11-2020, 9.3.3.2 and 9.4.2).

use crate::phy::{Format, PhyConfig, Rate};

/// MAC header of a management frame, and FCS (9.3.3.1).
const HEADER_AND_FCS: u32 = 24 + 4;
/// Timestamp, beacon interval, capability information.
const FIXED_FIELDS: u32 = 8 + 2 + 2;
/// The SSID element (9.4.2.2) of a network with the name "lasthop".
const SSID: u32 = 2 + 7;
/// The DSSS Parameter Set element (9.4.2.4); OFDM at 5 GHz has none.
const DSSS_PARAMETER_SET: u32 = 2 + 1;
/// The ERP element of 802.11g.
const ERP_INFORMATION: u32 = 2 + 1;
/// The EDCA Parameter Set element of `QoS` access points (9.4.2.28).
const EDCA_PARAMETER_SET: u32 = 2 + 18;
/// The TIM element up to its Partial Virtual Bitmap: DTIM Count, DTIM Period, Bitmap Control
/// (9.4.2.5).
const TIM: u32 = 2 + 3;

/// Octets of a beacon, FCS included, in whose TIM the bits of these association identifiers are
/// set. The identifiers are in ascending order.
pub(super) fn beacon_octets(phy: &PhyConfig, set: impl Iterator<Item = u32>) -> u32 {
    // Up to eight rates (9.4.2.3); the others are in an Extended Supported Rates element.
    let rates = phy.non_ht_rates().count() as u32;
    let rates = 2 + rates + if rates > 8 { 2 } else { 0 };
    let (slowest, fastest) = (phy.non_ht_rates().next(), phy.non_ht_rates().next_back());
    let (has_dsss, has_ofdm) = (slowest.is_some_and(|it| !it.is_ofdm()), fastest.is_some_and(Rate::is_ofdm));
    let others = if has_dsss { DSSS_PARAMETER_SET } else { 0 }
        + if has_dsss && has_ofdm { ERP_INFORMATION } else { 0 };
    let formats = [Format::Ht, Format::Vht, Format::He];
    let formats = formats.into_iter().filter(|format| phy.standard.has_format(*format, phy.band));
    let qos = if phy.standard.format().is_some() { EDCA_PARAMETER_SET } else { 0 };
    let elements = rates + others + qos + formats.map(elements_of).sum::<u32>();
    HEADER_AND_FCS + FIXED_FIELDS + SSID + elements + TIM + partial_virtual_bitmap(set)
}

/// The Capabilities and Operation elements of HT (9.4.2.55, 9.4.2.56), VHT (9.4.2.157, 9.4.2.158) and HE up to
/// 80 MHz, without PPE thresholds (9.4.2.248, 9.4.2.249 of IEEE 802.11ax-2021).
const fn elements_of(format: Format) -> u32 {
    match format {
        Format::Ht => (2 + 26) + (2 + 22),
        Format::Vht => (2 + 12) + (2 + 5),
        Format::He => (3 + 6 + 11 + 4) + (3 + 3 + 1 + 2),
    }
}

/// Length of the Partial Virtual Bitmap: octets N1 to N2 of the traffic indication virtual bitmap,
/// where N1 is even and no bit outside them is set; one octet if no bit is set (9.4.2.5.1). Bit 0,
/// for group frames, is in the Bitmap Control field.
fn partial_virtual_bitmap(set: impl Iterator<Item = u32>) -> u32 {
    let mut ends = None;
    for identifier in set {
        let octet = identifier / 8;
        let (first, _) = ends.unwrap_or((octet & !1, octet));
        ends = Some((first, octet));
    }
    ends.map_or(1, |(first, last)| last - first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_has_the_octets_from_an_even_one_to_the_last() {
        for (set, octets) in [
            (&[][..], 1),
            (&[1], 1),
            (&[7], 1),
            // Octet 1: N1 is 0.
            (&[8], 2),
            (&[15], 2),
            (&[16], 1),
            (&[1, 50], 7),
            (&[24], 2),
            (&[2007], 1),
            (&[2000, 2007], 1),
            (&[1, 2007], 251),
        ] {
            assert_eq!(partial_virtual_bitmap(set.iter().copied()), octets, "{set:?}");
        }
    }
}
