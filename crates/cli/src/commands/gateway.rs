//! `lasthop gateway`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use lasthop_live::gateway::Start;
use lasthop_live::gateway::config::{self, Config, DEFAULT_FILE, DEFAULT_SOCKET, LogFormat, LogLevel};
use lasthop_live::gateway::control::{AskError, Command, ask};
use lasthop_live::gateway::engine::FlowReport;
use lasthop_live::gateway::ports;
use serde_json::Value;

use crate::failure::Failure;
use crate::output;

/// What `gateway` can be told.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Runs in the foreground until SIGTERM or SIGINT, then sends on what it holds and takes its filters out; SIGHUP has it read \
                  its file again. If it dies or hangs, traffic passes without it.\n\n\
                  Examples:\n  lasthop gateway --print-default-config > gateway.toml\n  lasthop gateway --check gateway.toml\n  \
                  lasthop gateway gateway.toml\n  lasthop gateway status\n  lasthop gateway aside 192.0.2.1:443-10.0.0.7:50000"
)]
pub struct Arguments {
    #[command(subcommand)]
    question: Option<Question>,
    /// The configuration, a TOML file
    #[arg(required_unless_present = "print_default_config")]
    config: Option<PathBuf>,
    /// Read the file, say what is wrong with it and what a start would do, and do nothing
    #[arg(long)]
    check: bool,
    /// Print a file with every key, its default and what it is for
    #[arg(long, exclusive = true)]
    print_default_config: bool,
}

/// What can be asked of a gateway that runs.
#[derive(Subcommand)]
enum Question {
    /// Its ports, rules and counters
    Status(Where),
    /// The connections that it knows
    Flows(Where),
    /// Have it read its file again; connections stay, and so do agents whose settings did not change
    Reload(Where),
    /// Have its agents send on what they hold; then it passes everything on untouched, until the next reload
    Drain(Where),
    /// Have it leave one connection alone from now on
    Aside {
        /// The connection's two ends, in either order: 192.0.2.1:443-10.0.0.7:50000
        flow: String,
        #[command(flatten)]
        at: Where,
    },
}

/// Which gateway, and how to answer.
#[derive(Args)]
struct Where {
    /// The gateway's control socket
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(question) = &arguments.question {
        return put(question);
    }
    let Some(file) = &arguments.config else { return output::print(DEFAULT_FILE.trim_end()) };
    // A gateway's own radios do not tell the fate of each frame.
    let config =
        config::read(file, lasthop_agent::LinkSenses::empty()).map_err(|error| misread(file, error))?;
    if arguments.check {
        return check(&config, file);
    }
    run(config, file)
}

/// A misspelt question is taken for the name of a file.
fn misread(file: &Path, error: config::ConfigError) -> Failure {
    let is_a_word = file.to_str().is_some_and(|word| word.bytes().all(|octet| octet.is_ascii_lowercase()));
    if is_a_word && !file.exists() {
        let questions = Question::augment_subcommands(clap::Command::new("gateway"));
        let questions: Vec<&str> = questions.get_subcommands().map(clap::Command::get_name).collect();
        return Failure::usage(anyhow!(
            "{}: there is no such file; expected a configuration file, or one of {}",
            file.display(),
            questions.join(", ")
        ));
    }
    Failure::usage(error)
}

/// A file is right on any machine; what it leads to is said where it can be tried.
fn check(config: &Config, file: &Path) -> Result<(), Failure> {
    let mut lines = vec![format!("{}: right", file.display())];
    lines.extend(config.notes().iter().map(|note| format!("note: {note}")));
    if lasthop_live::may_change_the_network() {
        match ports::preview(config) {
            Ok(preview) => lines.extend(preview),
            Err(why) => lines.push(format!("note: here a start would fail: {why}")),
        }
    } else {
        lines.push("note: what a start would do here can only be tried by root".to_owned());
    }
    output::print(&lines.join("\n"))
}

fn run(config: Config, file: &Path) -> Result<(), Failure> {
    if !lasthop_live::may_change_the_network() {
        return Err(Failure::Run(anyhow!(
            "`lasthop gateway` takes frames out of the kernel's path, which takes root, or CAP_NET_ADMIN and CAP_BPF: run it with sudo"
        )));
    }
    start_log(&config);
    for note in config.notes() {
        tracing::warn!("{}: {note}", file.display());
    }
    let start = Start { config, file: Some(file.to_owned()), owns_process: true };
    let gateway = start.here().map_err(|error| Failure::Run(error.into()))?;
    let ports: Vec<&str> = gateway.ports().iter().map(|port| port.name.as_str()).collect();
    tracing::info!(ports = ports.join(", "), "running");
    gateway.wait().map(drop).map_err(|error| Failure::Run(error.into()))
}

fn start_log(config: &Config) {
    let level = match config.log_level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_target(false);
    // There is none before this one.
    let _ = match config.log_format {
        LogFormat::Text => log.with_ansi(false).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

fn put(question: &Question) -> Result<(), Failure> {
    let (command, at) = match question {
        Question::Status(at) => (Command::Status, at),
        Question::Flows(at) => (Command::Flows, at),
        Question::Reload(at) => (Command::Reload, at),
        Question::Drain(at) => (Command::Drain, at),
        Question::Aside { flow, at } => (Command::Aside { flow: flow.clone() }, at),
    };
    let answer = ask(&at.socket, &command).map_err(|error| match error {
        // The file is wrong, or what names a connection is.
        refused @ AskError::Refused(_) => Failure::usage(refused),
        other => Failure::Run(other.into()),
    })?;
    if at.json {
        return output::print_json(&answer);
    }
    match question {
        Question::Status(_) => output::print(&status(&answer)),
        Question::Flows(_) => output::print(&flows(answer)?),
        Question::Reload(_) => {
            for note in answer["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                output::complain(&format!("note: {note}"));
            }
            output::print("reloaded")
        }
        Question::Drain(_) => {
            output::print("drained: everything passes untouched until the next `lasthop gateway reload`")
        }
        Question::Aside { flow, .. } => output::print(&format!("{flow} is left alone from now on")),
    }
}

fn status(answer: &Value) -> String {
    let report = &answer["report"];
    let engine = &report["engine"];
    let counters = &engine["counters"];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let ports: Vec<String> = answer["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|port| format!("{} ({})", text(&port["name"]), text(&port["side"])))
        .collect();
    let seconds = |value: &Value| value.as_f64().unwrap_or(0.0);
    let mebibytes = |value: &Value| value.as_f64().unwrap_or(0.0) / f64::from(1 << 20);
    let uptime = seconds(&report["uptime_s"]);
    let mode = if engine["drained"] == true {
        "drained: everything passes untouched"
    } else if report["punctuality"]["is_out"] == true {
        "out, for want of processor time: everything passes untouched"
    } else {
        "running"
    };
    let mut lines = vec![
        format!("lasthop gateway {}, {mode}", text(&answer["version"])),
        format!("file        {}", text(&answer["file"])),
        format!("ports       {}, by {}", ports.join(", "), text(&answer["backend"])),
        format!(
            "up          {uptime:.0} s, {:.2} s of processor time, longest turn {:.1} ms, longest absence {:.1} ms",
            seconds(&report["cpu_s"]),
            1e3 * seconds(&report["longest_turn_s"]),
            1e3 * seconds(&report["punctuality"]["longest_absence_s"])
        ),
        format!("connections {} of at most {}", engine["connections"], engine["most_connections"]),
        format!(
            "memory      {:.1} MiB of at most {:.1} MiB for packets that agents keep",
            mebibytes(&engine["agent_octets"]),
            mebibytes(&engine["most_agent_octets"])
        ),
        format!(
            "frames      {} in ({:.0}/s), {} out, {} lost, {} held",
            counters["received"],
            seconds(&counters["received"]) / uptime.max(1.0),
            report["sent"],
            report["lost"],
            engine["held"],
        ),
    ];
    for note in report["notes"].as_array().into_iter().flatten() {
        lines.push(format!("note        {}", text(note)));
    }
    let passed: Vec<String> = counters["passed"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, count)| **count != 0)
        .map(|(reason, count)| format!("{count} {}", reason.replace('_', " ")))
        .collect();
    lines.push(format!(
        "untouched   {}",
        if passed.is_empty() { "none".to_owned() } else { passed.join(", ") }
    ));
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        "rule",
        "seen",
        "local retransmits",
        "ACKs kept back",
        "taken over",
        "made",
        "held",
        "panics",
        "",
    ]);
    for rule in engine["rules"].as_array().into_iter().flatten() {
        let counters = &rule["counters"];
        let given_up = if rule["given_up"] == true { "given up: traffic passes" } else { "" };
        table.add_row([
            text(&rule["name"]),
            counters["seen"].to_string(),
            counters["local_retransmits"].to_string(),
            counters["duplicate_acks_suppressed"].to_string(),
            counters["absorbed"].to_string(),
            counters["sent"].to_string(),
            rule["held"].to_string(),
            counters["panics"].to_string(),
            given_up.to_owned(),
        ]);
    }
    format!("{}\n{table}", lines.join("\n"))
}

fn flows(answer: Value) -> Result<String, Failure> {
    let mut flows: Vec<FlowReport> = serde_json::from_value(answer)
        .map_err(|error| Failure::Run(anyhow!("the answer is no table of flows: {error}")))?;
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.octets_from_core + flow.octets_from_radio));
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["core", "radio", "state", "rule", "kB down", "kB up", "made", "kept", "age", "idle"]);
    for flow in &flows {
        let rule = if flow.aside.is_empty() { flow.rule.clone() } else { format!("aside: {}", flow.aside) };
        table.add_row([
            flow.core.to_string(),
            flow.radio.to_string(),
            flow.state.clone(),
            rule,
            (flow.octets_from_core / 1000).to_string(),
            (flow.octets_from_radio / 1000).to_string(),
            flow.sent_by_agent.to_string(),
            flow.kept_by_agent.to_string(),
            format!("{:.0} s", flow.age_s),
            format!("{:.0} s", flow.idle_s),
        ]);
    }
    Ok(format!("{table}\n{} connections", flows.len()))
}
