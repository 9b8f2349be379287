//! Every moment that a backup has is restored as it was, whatever is killed or damaged.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod bad_input;
mod damage;
mod life;
mod model;
mod moments;
mod regressions;
mod simulated;
