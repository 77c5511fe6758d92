//! Requests to a running gateway.

use std::path::PathBuf;

use clap::Args;
use lasthop_gateway::config::DEFAULT_SOCKET;
use lasthop_gateway::control::{AskError, Command, ask};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::output;

/// Which gateway.
#[derive(Args)]
pub struct Socket {
    /// The gateway's control socket
    #[arg(long = "socket", value_name = "PATH", default_value = DEFAULT_SOCKET)]
    path: PathBuf,
}

/// Which gateway, and how to answer.
#[derive(Args)]
pub struct Where {
    #[command(flatten)]
    socket: Socket,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Socket {
    pub fn ask<T: DeserializeOwned>(&self, command: &Command) -> Result<T, Failure> {
        ask(&self.path, command).map_err(|error| match error {
            // The file or the name of a connection is wrong.
            refused @ AskError::Refused(_) => Failure::usage(refused),
            other => Failure::Run(other.into()),
        })
    }
}

impl Where {
    pub fn ask<T: DeserializeOwned>(&self, command: &Command) -> Result<T, Failure> {
        self.socket.ask(command)
    }

    /// Sends a request. `None` if the gateway refuses it, as one that a file does not ask for.
    #[cfg(feature = "roaming")]
    pub fn ask_unless_refused<T: DeserializeOwned>(&self, command: &Command) -> Result<Option<T>, Failure> {
        match ask(&self.socket.path, command) {
            Ok(answer) => Ok(Some(answer)),
            Err(AskError::Refused(_)) => Ok(None),
            Err(other) => Err(Failure::Run(other.into())),
        }
    }

    /// Sends a request, and prints the answer as JSON, or with `text`.
    pub fn answer<T: DeserializeOwned>(
        &self,
        command: &Command,
        text: impl FnOnce(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            // Includes keys that only a newer gateway sends.
            return output::print_json(&self.ask::<Value>(command)?);
        }
        text(self.ask(command)?)
    }
}
