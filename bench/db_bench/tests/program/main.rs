//! The program as a user runs it: output lines, exit statuses, files, dying child processes.

mod adapters;
mod calibrate;
mod choices;
mod common;
mod crash;
mod deletes;
mod engines;
mod full;
mod interrupted;
mod keyspaces;
mod lines;
mod meta;
mod other_programs;
mod peers;
mod readers;
mod refusals;
mod report;
mod results;
mod resume;
mod suites;
mod survival;
mod terminal;
