//! The choice of a backend, with the reason. A start and `--check` share it.

use super::config::Backend;
use super::translation::Translation;
use crate::io::divert::{DivertError, ProgramError};

/// A backend, and notes for the operator, one sentence each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) backend: Backend,
    pub(super) notes: Vec<String>,
}

/// The limits of `tun` on every machine.
const LIMITS: &str = "it sees routed TCP, not bridged TCP, and this TCP is lost while the gateway hangs";

/// Chooses a backend. `tried` tests whether tc-bpf works on this machine; `translation` determines
/// whether addresses are translated. The error is the reason why no backend can be used.
pub(super) fn choose(
    wanted: Backend,
    tried: impl FnOnce() -> Result<(), DivertError>,
    translation: impl FnOnce() -> Translation,
) -> Result<Choice, String> {
    let by_tc = || Choice { backend: Backend::TcBpf, notes: Vec::new() };
    let by_tun = |notes| Choice { backend: Backend::Tun, notes };
    match wanted {
        Backend::TcBpf => tried().map(|()| by_tc()).map_err(|error| error.to_string()),
        Backend::Tun => Ok(by_tun(match translation() {
            Translation::Found(rule) => vec![format!(
                "{rule} translates addresses on this machine: connections with translated addresses do not work with the backend tun"
            )],
            Translation::None | Translation::Unknown(_) => Vec::new(),
        })),
        Backend::Auto => match tried() {
            Ok(()) => Ok(by_tc()),
            Err(error) if !is_missing_feature(&error) => Err(error.to_string()),
            Err(error) => match translation() {
                Translation::None => Ok(by_tun(vec![format!(
                    "tc-bpf does not work here: {error}. The backend is therefore tun: {LIMITS}"
                )])),
                Translation::Found(rule) => Err(format!(
                    "tc-bpf does not work here: {error}. The backend tun would break the address translation by {rule}. If none of the translated traffic passes these interfaces, set backend = \"tun\""
                )),
                Translation::Unknown(why) => Err(format!(
                    "tc-bpf does not work here: {error}. The backend tun would break address translation, and it is not known whether this machine translates addresses ({why}). If it does not, set backend = \"tun\""
                )),
            },
        },
    }
}

/// Whether the kernel or an interface lacks a feature that tc-bpf needs. The operator has to fix
/// any other error; a fallback would hide it.
fn is_missing_feature(error: &DivertError) -> bool {
    matches!(
        error,
        DivertError::NotEthernet { .. }
            | DivertError::Program(
                ProgramError::Load(_) | ProgramError::Attach { .. } | ProgramError::Share { .. }
            )
    )
}

#[cfg(test)]
mod tests {
    use super::super::translation::NatRule;
    use super::*;
    use crate::io::claim::ClaimError;

    const LACK: fn() -> Result<(), DivertError> = || Err(DivertError::NotEthernet { name: "ppp0".into() });

    fn found() -> Translation {
        Translation::Found(NatRule::Chain { table: "home".into(), chain: "out".into() })
    }

    #[test]
    fn where_tc_works_translation_is_not_checked() {
        for wanted in [Backend::Auto, Backend::TcBpf] {
            let choice = choose(wanted, || Ok(()), || panic!("must not be asked"));
            assert_eq!(choice, Ok(Choice { backend: Backend::TcBpf, notes: Vec::new() }));
        }
    }

    #[test]
    fn auto_falls_back_with_a_note_only_without_address_translation() {
        let choice = choose(Backend::Auto, LACK, || Translation::None).expect("tun");
        assert_eq!(choice.backend, Backend::Tun);
        assert!(choice.notes[0].contains("ppp0") && choice.notes[0].contains("bridge"), "{choice:?}");
        let refused = choose(Backend::Auto, LACK, found).expect_err("it would break");
        assert!(
            refused.contains("ppp0") && refused.contains("the chain out of the nftables table home"),
            "{refused}"
        );
        let refused =
            choose(Backend::Auto, LACK, || Translation::Unknown("why".into())).expect_err("it may break");
        assert!(refused.contains("not known whether") && refused.contains("(why)"), "{refused}");
    }

    #[test]
    fn auto_does_not_fall_back_because_of_another_gateway() {
        let taken = || {
            let (name, holder) = ("wlan0".into(), "process 7".into());
            Err(DivertError::Claim(ClaimError::Taken { name, holder }))
        };
        assert!(
            choose(Backend::Auto, taken, || Translation::None)
                .expect_err("it is taken")
                .contains("process 7")
        );
        let linked = || Err(ProgramError::Linked { interface: "wlan0".into() }.into());
        assert!(choose(Backend::Auto, linked, || Translation::None).is_err());
    }

    #[test]
    fn tc_bpf_does_not_fall_back_and_tun_warns_of_address_translation() {
        assert!(choose(Backend::TcBpf, LACK, || Translation::None).is_err());
        let choice = choose(Backend::Tun, || panic!("must not be asked"), found).expect("it was asked for");
        assert!(choice.notes[0].contains("do not work with the backend tun"), "{choice:?}");
        let choice = choose(Backend::Tun, || panic!("must not be asked"), || Translation::None).expect("tun");
        assert!(choice.notes.is_empty());
    }

    #[test]
    fn auto_does_not_fall_back_if_the_test_frame_is_lost() {
        let lost = || Err(DivertError::Lost("frames received by the interface did not reach the gateway"));
        let refused =
            choose(Backend::Auto, lost, || Translation::None).expect_err("the kernel lacks nothing");
        assert!(refused.contains("did not reach the gateway"), "{refused}");
    }
}
