//! The program as a user runs it: lines, statuses, files, child processes that die.

mod adapters;
mod calibrate;
mod choices;
mod common;
mod crash;
mod full;
mod interrupted;
mod lines;
mod meta;
mod peers;
mod refusals;
mod report;
mod results;
mod resume;
mod suites;
mod survival;
mod terminal;
