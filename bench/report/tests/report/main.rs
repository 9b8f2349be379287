//! Reports from records: numbers, pages, warnings, hostile values.

mod builds;
mod common;
mod compare;
mod comparison;
mod forms;
mod hostile;
mod numbers;
mod published;
mod runs;
mod standing;
mod summary;
mod warnings;
