//! Checks beyond those of serde, with errors that name the place in the file.

use std::net::SocketAddr;
use std::path::PathBuf;

use lasthop_config::{Document, FileError};

use super::entries;
use super::tables::{Backend, GatewayFile, PortsTable, SelectorTable, Standing, TxStatus};
use crate::plan::Surroundings;
use crate::selector::Selector;

/// The context of the checks.
pub(super) struct Reader<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) surroundings: Surroundings,
}

impl Reader<'_> {
    pub(super) fn fail(&self, key: &[&str], problem: impl Into<String>) -> FileError {
        self.document.error(key, problem)
    }

    pub(super) fn check_ports(&self, ports: &PortsTable) -> Result<(), FileError> {
        let lists = [("core", &ports.core), ("radio", &ports.radio)];
        let mut seen: Vec<&str> = Vec::new();
        for (side, names) in lists {
            let Some(names) = names else { continue };
            if names.is_empty() {
                return Err(
                    self.fail(&["ports", side], "an empty list; leave the key out to detect the interfaces")
                );
            }
            for (index, name) in names.iter().enumerate() {
                let key = ["ports", side, &index.to_string()];
                // The names that Linux accepts (IFNAMSIZ, and `dev_valid_name`).
                let is_odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
                if name.is_empty() || name.len() > 15 || name.chars().any(is_odd) {
                    return Err(self.fail(&key, "expected the name of an interface, such as \"wlan0\""));
                }
                if seen.contains(&name.as_str()) {
                    return Err(
                        self.fail(&key, format!("{name} is listed twice; expected each interface once"))
                    );
                }
                seen.push(name);
            }
        }
        Ok(())
    }

    pub(super) fn check_role(&self, file: &GatewayFile) -> Result<(), FileError> {
        let GatewayFile { role, backend, ports: PortsTable { tx_status, .. }, .. } = file;
        if *tx_status != TxStatus::Off && *backend == Backend::Tun {
            let problem = "with the backend tun, no driver learns which process sent a frame; expected \"off\", or the backend tc-bpf";
            return Err(self.fail(&["ports", "tx-status"], problem));
        }
        if *role == Standing::MobileHost && *tx_status == TxStatus::Probed {
            let problem = "the driver of a client sends all frames to its access point, so that there is no absent station to try it with; \
                           expected \"off\" or \"trusted\"";
            return Err(self.fail(&["ports", "tx-status"], problem));
        }
        if *role == Standing::MobileHost && file.roaming.is_some() {
            let problem = "clients roam between access points; expected role = \"edge\", or no [roaming]";
            return Err(self.fail(&["role"], problem));
        }
        Ok(())
    }

    pub(super) fn selector(&self, at: &[&str], table: SelectorTable) -> Result<Selector, FileError> {
        let prefixes = |key: &str, texts: &[String]| {
            entries::prefixes(texts).map_err(|(index, problem)| {
                let index = index.to_string();
                self.fail(&[at, &[key, &index]].concat(), problem)
            })
        };
        Ok(Selector {
            prefixes: prefixes("prefixes", &table.prefixes)?,
            exclude_prefixes: prefixes("exclude-prefixes", &table.exclude_prefixes)?,
            ports: table.ports.into_iter().map(|entry| entry.0).collect(),
            exclude_ports: table.exclude_ports.into_iter().map(|entry| entry.0).collect(),
        })
    }

    pub(super) fn listen(&self, text: &str) -> Result<Option<SocketAddr>, FileError> {
        let key = ["metrics", "listen"];
        if text == "off" {
            return Ok(None);
        }
        let address: SocketAddr = text.parse().map_err(|_| {
            let problem =
                format!("{text:?} is not an address and a port; expected \"127.0.0.1:9477\" or \"off\"");
            self.fail(&key, problem)
        })?;
        if !address.ip().is_loopback() {
            return Err(self.fail(
                &key,
                format!(
                    "{} is not a loopback address; the metrics show the load of every peer, so they are served on this machine only: expected 127.0.0.1 or [::1]; to serve other machines, put a proxy in front",
                    address.ip()
                ),
            ));
        }
        Ok(Some(address))
    }

    pub(super) fn socket(&self, text: &str) -> Result<Option<PathBuf>, FileError> {
        match text {
            "off" => Ok(None),
            // sockaddr_un has room for 107 octets.
            path if path.starts_with('/') && path.len() <= 107 => Ok(Some(path.into())),
            _ => Err(self
                .fail(&["control", "socket"], "expected an absolute path of at most 107 octets, or \"off\"")),
        }
    }
}
