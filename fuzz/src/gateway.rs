//! The gateway's configuration file.

use std::path::Path;

use lasthop_agent::LinkSenses;
use lasthop_gateway::config;

/// A configuration either has an error with a place, or makes every agent that it names.
pub fn gateway_config(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    for senses in [LinkSenses::all(), LinkSenses::empty()] {
        match config::parse(text, "fuzz.toml", senses) {
            Err(error) => {
                let lines = text.lines().count().max(1) + 1;
                assert!(error.line.is_some_and(|line| (1..=lines).contains(&line)), "{error}");
                let message = error.to_string();
                assert!(message.starts_with("fuzz.toml") && message.len() < 4000, "{message}");
                assert!(!message.contains(|c: char| c.is_control()), "{message:?}");
            }
            Ok(config) => {
                for rule in &config.plan.rules {
                    let agent = rule.agent.as_ref().map(|make| make());
                    assert!(agent.is_none_or(|agent| senses.contains(agent.needs())));
                }
                assert!(config.takes_restart(&config).is_empty());
                assert!(config.control.is_none_or(|socket| socket.is_absolute() && socket != Path::new("")));
                assert!(config.metrics.is_none_or(|address| address.ip().is_loopback()));
            }
        }
    }
}
