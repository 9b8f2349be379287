//! The contract suite: every implementation of [`Store`] passes it.
//!
//! [`run_cases`] runs each case on an empty store of its own and reports all failures together.
//! [`run_model`] compares random operations with a model. Where the contract permits differences,
//! a case asks the store: limits and isolation are values.

mod case;
#[expect(
    clippy::big_endian_bytes,
    reason = "the order of big-endian keys is that of their numbers"
)]
mod cases;

mod model;
mod steps;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::store::Store;

pub use case::Case;
pub use model::{ModelSize, run_model};

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    cases::all()
}

/// Runs every case on the store that `open` returns for its name, which must be empty. Returns how
/// many there are.
///
/// # Panics
/// After all cases, if some have failed; the message lists them.
pub fn run_cases(open: &mut dyn FnMut(&str) -> Box<dyn Store>) -> usize {
    let mut failures = Vec::new();
    let cases = cases();
    for case in &cases {
        let store = open(&case.name);
        let outcome = catch_unwind(AssertUnwindSafe(|| (case.run)(&*store)));
        let failure = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic_text(&*panic),
        };
        failures.push(format!("{}: {failure}", case.name));
    }
    let (failed, all) = (failures.len(), cases.len());
    assert!(
        failures.is_empty(),
        "{failed} of {all} cases failed:\n{}",
        failures.join("\n")
    );
    all
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("panicked").to_owned()
}
