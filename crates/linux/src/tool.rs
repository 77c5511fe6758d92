//! External programs, such as those that set the rules of address translation.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::namespace::Namespace;

/// Runs a program in a namespace, and returns its standard output.
pub fn run(namespace: &Namespace, words: &[&str], input: &str) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(String::new()) };
    let output = namespace.enter(|| {
        let mut child = Command::new(found(program))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // The program may not read its input; its status shows whether it succeeded.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    });
    let output =
        output.and_then(|output| output).map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{program}`: {}", message.lines().next().unwrap_or("failed").trim()))
}

/// The path of a program; its name alone if there is none. Also searches the administrator's directories,
/// which are often not in a user's search path.
pub fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let files = directories.map(|directory| directory.join(program));
    files.into_iter().find(|file| file.is_file()).unwrap_or_else(|| program.into())
}
