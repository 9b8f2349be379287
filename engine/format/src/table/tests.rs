//! Tests of the table file as a whole: models, damage, golden bytes.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "seeds and sizes of tests are small"
)]

mod damage;
mod deferred;
mod fast_get;
mod golden;
mod heads;
mod key_pages;
mod limits;
mod merged;
mod model;
mod read_ahead;
mod salvage;
mod scan;
mod shared;
pub(super) mod support;
mod ties;
