//! The rules of TCP as packetdrill scripts, one or a few related ones a file: each is a test, named
//! by its path. `cargo run -p lasthop-tcp --example packetdrill -- --help` says how they are written.

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use lasthop_packetdrill::{Verdict, scripts_below, verdict_of};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> io::Result<ExitCode> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts"));
    let trials = scripts_below(folder)?.into_iter().map(|path| {
        let name = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        Trial::test(name.display().to_string(), move || match verdict_of(&fs::read_to_string(&path)?) {
            Verdict::Passes => Ok(()),
            Verdict::Fails(error) | Verdict::NotUnderstood(error) => {
                Err(Failed::from(format!("{}:{error}", path.display())))
            }
        })
    });
    Ok(libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code())
}
