//! `--against`: an engine in two builds.

use std::path::Path;

use bench_core::flags::Given;

use crate::{child, engines};

/// Number of rounds of a list with `--against`, unless it is given.
const ROUNDS: u32 = 5;

/// Returns the number of rounds of a list with `--against`, if it is not given.
pub(super) fn rounds(given: &Given) -> Option<u32> {
    let absent = given.given("against").is_some() && given.chosen("rounds").is_none();
    absent.then_some(ROUNDS)
}

/// Adds the engine as the build of `--against` measures it, which must be the only other one.
pub(super) fn add(given: &Given, engines: &mut Vec<String>) -> Result<(), String> {
    let Some(path) = given.given("against") else {
        return Ok(());
    };
    if given.given("engine").is_none() {
        *engines = vec![given.text("engine").to_owned()];
    }
    let [engine] = engines.as_slice() else {
        return Err("--against compares two builds of one engine; name one with --engine".into());
    };
    let engine = engine.clone();
    let path = Path::new(path)
        .canonicalize()
        .map_err(|error| format!("--against={path}: {error}"))?;
    let other = engines::programs::set_against(&engine, &path);
    child::build(&other, None).map_err(|reason| {
        let path = path.display();
        format!("--against={path}: not a build of db_bench with {engine}: {reason}")
    })?;
    engines.push(other);
    Ok(())
}
