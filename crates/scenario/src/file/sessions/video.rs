//! Videos.

use std::time::Duration;

use lasthop_apps::heavy_tails::Pareto;
use lasthop_apps::traffic::{Frames, Media, Video};
use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_packet::Bitrate;

use super::reading::Reading;
use super::table::{BitRate, SessionTable};
use crate::file::quantity::{Octets, Text, Whole};

/// The largest payload of a packet: with RTP's, UDP's and IP's headers it fills an Ethernet frame.
const LARGEST_PACKET: u64 = 1460;

/// The stream from the server.
pub(super) fn read(reading: &Reading<'_>, table: &SessionTable) -> Result<Media, FileError> {
    let rate = table.rate.map(|Text(rate)| rate);
    let bit_rate = table.bit_rate.unwrap_or(BitRate::Variable);
    let keys = match bit_rate {
        BitRate::Constant => [
            ("frame-interval", table.frame_interval.is_some(), "variable"),
            ("packets-per-frame", table.packets_per_frame.is_some(), "variable"),
        ],
        BitRate::Variable => [("packet", table.packet.is_some(), "constant"), ("", false, "")],
    };
    if let Some((key, _, expected)) = keys.iter().find(|(_, is_given, _)| *is_given) {
        let problem = format!("allowed only with bit-rate = {expected:?}; leave it out");
        return Err(reading.fail(&[key], problem));
    }
    Ok(Media::Video(match bit_rate {
        BitRate::Constant => constant(reading, table, rate)?,
        BitRate::Variable => Video::Variable(frames(reading, table, rate)?),
    }))
}

fn constant(reading: &Reading<'_>, table: &SessionTable, rate: Option<Bitrate>) -> Result<Video, FileError> {
    let Some(rate) = rate else {
        return Err(reading.fail(&[], "bit-rate = \"constant\" requires a rate, such as rate = \"1 Mbit/s\""));
    };
    let packet = match table.packet {
        None => 1200,
        Some(Text(Octets(packet @ 1..=LARGEST_PACKET))) => packet,
        Some(_) => {
            return Err(reading.fail(&["packet"], format!("expected \"1 B\" to \"{LARGEST_PACKET} B\"")));
        }
    };
    let interval = rate.transmission_time(packet);
    let (least, most) = (Duration::from_micros(1), Duration::from_secs(3600));
    if interval < least || interval > most {
        let problem = format!(
            "packets of {} would be {} apart; expected a rate that spaces them 1 us to 1 h apart",
            counted(packet, "octet"),
            lasthop_packet::units::format_duration(interval)
        );
        return Err(reading.fail(&["rate"], problem));
    }
    Ok(Video::Constant { rate, packet: packet as u32 })
}

fn frames(reading: &Reading<'_>, table: &SessionTable, rate: Option<Bitrate>) -> Result<Frames, FileError> {
    let default = Frames::NEAR_REAL_TIME;
    let range = (Duration::from_millis(1), Duration::from_secs(10));
    let interval = reading.duration_in(&["frame-interval"], table.frame_interval, default.interval, range)?;
    let packets = table.packets_per_frame.map_or(default.packets, |Whole(packets)| packets);
    // Spacings stay in proportion to the mean time per packet.
    let time = |frames: &Frames| frames.interval.as_secs_f64() / f64::from(frames.packets);
    let frames = Frames { interval, packets, ..default };
    let spacing = scaled(default.spacing, time(&frames) / time(&default));
    let frames = Frames { spacing, ..frames };
    let Some(rate) = rate else { return Ok(frames) };
    let size = scaled(frames.size, rate.as_bps() as f64 / frames.mean_bps());
    if size.max > LARGEST_PACKET as f64 || size.min < 1.0 {
        let problem = format!(
            "packets of {:.0} to {:.0} octets; expected a rate that makes them 1 to {LARGEST_PACKET} octets long, or another number of packets-per-frame",
            size.min, size.max
        );
        return Err(reading.fail(&["rate"], problem));
    }
    Ok(Frames { size, ..frames })
}

fn scaled(pareto: Pareto, by: f64) -> Pareto {
    Pareto { min: pareto.min * by, max: pareto.max * by, ..pareto }
}
