//! Properties that hold whatever the network does.

mod channel;
mod noise;

/// Settings of a property: so many cases, or as many as `PROPTEST_CASES` says. (A number of cases in
/// the settings would stand above the variable.)
fn settings(cases: u32) -> proptest::prelude::ProptestConfig {
    let mut settings = proptest::prelude::ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        settings.cases = cases;
    }
    settings
}
