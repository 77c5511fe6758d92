//! Tables 1 to 3 as published, from `tables.csv`.

/// A line of a table: one setting, under both schemes.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The table: 1 to 3.
    pub table: usize,
    /// Voice streams: 10, 20 or 30.
    pub calls: usize,
    /// The load that each station offers, in kbit/s.
    pub load_kbps: u32,
    /// Under I-TCP.
    pub itcp: Figures,
    /// Under CICADA.
    pub cicada: Figures,
}

/// The numbers of a table for a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Throughput, in Mbit/s.
    pub throughput_mbps: f64,
    /// Mean delay of voice, in milliseconds.
    pub delay_ms: f64,
    /// Its variance, in milliseconds squared (10^-6 s²); `None` where it is lost.
    pub variance_ms2: Option<f64>,
    /// Hand-off time, in milliseconds.
    pub hand_off_ms: f64,
}

/// The 12 settings, which make 24 rows with the two schemes.
pub fn settings() -> Vec<Setting> {
    let lines = include_str!("tables.csv").lines().skip(1);
    let rows: Vec<(usize, u32, &str, Figures)> = lines.filter_map(row).collect();
    let of = |scheme: &'static str| rows.iter().filter(move |row| row.2 == scheme);
    let settings = of("i-tcp").filter_map(|(calls, load_kbps, _, itcp)| {
        let (.., cicada) = of("cicada").find(|(others, load, ..)| (others, load) == (calls, load_kbps))?;
        Some(Setting {
            table: calls / 10,
            calls: *calls,
            load_kbps: *load_kbps,
            itcp: *itcp,
            cicada: *cicada,
        })
    });
    settings.collect()
}

fn row(line: &str) -> Option<(usize, u32, &str, Figures)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [calls, load, scheme, throughput, delay, variance, hand_off] = fields[..] else { return None };
    let in_units = |text: &str, units: f64| text.parse().ok().map(|number: f64| rounded(number * units));
    let figures = Figures {
        throughput_mbps: throughput.parse().ok()?,
        delay_ms: in_units(delay, 1e3)?,
        variance_ms2: in_units(variance, 1e6),
        hand_off_ms: hand_off.parse().ok()?,
    };
    Some((calls.parse().ok()?, load.parse().ok()?, scheme, figures))
}

/// The number with at most six decimals, more than are published.
fn rounded(number: f64) -> f64 {
    libm::round(number * 1e6) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tables_have_24_rows_and_two_variances_are_lost() {
        let settings = settings();
        let rows = settings.iter().flat_map(|setting| [setting.itcp, setting.cicada]);
        assert_eq!(rows.clone().count(), 24);
        assert_eq!(rows.filter(|row| row.variance_ms2.is_none()).count(), 2);
        for (setting, at) in settings.iter().zip(0..) {
            assert_eq!((setting.table, setting.calls), (1 + at / 4, 10 * (1 + at / 4)), "{setting:?}");
            assert_eq!(setting.load_kbps, [50, 100, 150, 200][at % 4], "{setting:?}");
        }
        let last = settings.last().expect("12 of them");
        let itcp = Figures {
            throughput_mbps: 9.43,
            delay_ms: 16.7239,
            variance_ms2: Some(58_140.0),
            hand_off_ms: 325.0,
        };
        let cicada =
            Figures { throughput_mbps: 9.77, delay_ms: 5.7988, variance_ms2: None, hand_off_ms: 265.0 };
        assert_eq!((last.itcp, last.cicada), (itcp, cicada));
    }

    #[test]
    fn the_bounds_of_the_claims_hold_in_the_tables() {
        for Setting { itcp, cicada, .. } in settings() {
            let gain = (cicada.throughput_mbps / itcp.throughput_mbps - 1.0) * 100.0;
            assert!((3.5..14.1).contains(&gain), "{gain}%");
            assert!(cicada.delay_ms <= 0.65 * itcp.delay_ms, "{cicada:?}");
            let variances = itcp.variance_ms2.zip(cicada.variance_ms2);
            assert!(variances.is_none_or(|(itcp, cicada)| cicada <= 0.2 * itcp), "{cicada:?}");
            assert!(cicada.hand_off_ms < itcp.hand_off_ms, "{cicada:?}");
        }
    }

    #[test]
    fn throughputs_fit_thirty_times_the_load_and_128_kbps_a_call() {
        for setting in settings() {
            let offered = f64::from(30 * setting.load_kbps) / 1e3 + 0.128 * setting.calls as f64;
            let (cicada, itcp) =
                (offered - setting.cicada.throughput_mbps, offered - setting.itcp.throughput_mbps);
            assert!((0.01..0.1).contains(&cicada) && (0.31..0.45).contains(&itcp), "{setting:?}");
        }
    }
}
