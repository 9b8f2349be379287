//! Settings of tests: environment variables that scale a test or replay a seed.
//!
//! `CONTRIBUTING.md` lists them. A variable that is set to something else than a number ends the
//! test: a seed that is silently ignored would replay another run than the one that failed.

/// Returns the number in an environment variable, or `None` if it is not set.
///
/// ```
/// use cairndb_env::testing::setting::setting;
/// let seed = setting("CAIRN_SEED").unwrap_or(1);
/// # let _ = seed;
/// ```
///
/// # Panics
/// If the variable is set to something else than a number.
pub fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.trim().parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}
