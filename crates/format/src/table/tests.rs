//! Tests of the table file as a whole: models, damage, golden bytes.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "seeds and sizes of tests are small"
)]

mod ahead;
mod damage;
mod deferred;
mod golden;
mod heads;
mod keyed;
mod limits;
mod merged;
mod model;
mod scan;
mod shared;
mod straight;
mod support;
mod ties;
