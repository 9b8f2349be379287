//! Reports from records: numbers, pages, hostile values.

mod bias;
mod builds;
mod common;
mod compare;
mod forms;
mod hostile;
mod numbers;
mod runs;
mod standing;
mod summary;
