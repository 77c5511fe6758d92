//! The names of congestion controls in the hosts' kernel and in the simulator.

use lasthop_tcp::Congestion;

/// The simulator's counterpart of the kernel's congestion control with this name, if it has one.
pub fn simulated(name: &str) -> Option<Congestion> {
    let control = Congestion::ALL.into_iter().find(|congestion| named(*congestion) == name)?;
    Some(control.as_in_linux())
}

/// The kernel's name of a congestion control of the simulator.
pub fn of_the_kernel(congestion: Congestion) -> String {
    match congestion {
        Congestion::Reno | Congestion::RenoAbc => "reno".to_owned(),
        Congestion::Cubic | Congestion::CubicLinux => "cubic".to_owned(),
        other => named(other),
    }
}

/// The kernel's names of all congestion controls of the simulator, sorted.
pub fn all_simulated() -> Vec<String> {
    let mut names: Vec<String> = Congestion::ALL.into_iter().map(of_the_kernel).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The name of the variant, which is that of the algorithm, in the kernel's spelling.
fn named(congestion: Congestion) -> String {
    format!("{congestion:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_names_lead_to_the_simulators_controls_and_back() {
        assert_eq!(simulated("cubic"), Some(Congestion::CubicLinux), "Linux has its own");
        assert_eq!(simulated("reno"), Some(Congestion::RenoAbc), "Linux's counts octets");
        assert_eq!(simulated("hybla"), None);
        for congestion in Congestion::ALL {
            let name = of_the_kernel(congestion);
            assert_eq!(simulated(&name).map(of_the_kernel), Some(name));
        }
    }
}
