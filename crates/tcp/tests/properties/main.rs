//! Properties that hold whatever the network does.

mod channel;
mod noise;
mod snapshot;

/// Settings of a property: `PROPTEST_CASES` cases if that is set, else `cases`. (A number of cases in
/// the settings would override the variable.)
fn settings(cases: u32) -> proptest::prelude::ProptestConfig {
    let mut settings = proptest::prelude::ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        settings.cases = cases;
    }
    settings
}
