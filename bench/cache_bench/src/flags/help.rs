//! The text of `--help`, in the style of gflags.

use std::fmt::Write as _;

use bench_core::flags::Flag;

use super::table::{FAMILY, MODERN, TOPICS};

/// Number of columns per line.
const WIDTH: usize = 80;

/// Placeholder for a non-breaking space.
const NARROW: char = '\u{1f}';

/// Returns the type as RocksDB's help names it.
fn kind(flag: &Flag) -> &'static str {
    match flag.name {
        "ops_per_thread" => "uint64",
        _ => flag.kind.name(),
    }
}

/// Returns the help text: every flag with its meaning, type and default.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "cache_bench: throughput, hit ratio and latency of caches, in the style of RocksDB's program\n\
         usage: cache_bench [--flag=value | --flag value | --switch | --noswitch]...\n",
    );
    // Writing to a String cannot fail, here and below.
    for &topic in TOPICS {
        let _ = writeln!(text, "\n  {topic}:");
        for flag in FAMILY.flags.iter().filter(|flag| flag.topic == topic) {
            let modern = MODERN.iter().find(|(name, _)| *name == flag.name);
            let modern = modern.map_or_else(String::new, |(name, default)| match *name {
                "max_key" => " (modern: cache_size / resident_ratio / value_bytes)".to_owned(),
                _ => format!(" (modern: {})", shown(flag.kind.name(), default)),
            });
            let (kind, default) = (kind(flag), shown(flag.kind.name(), flag.default));
            let (name, help) = (flag.name, flag.help);
            let words =
                format!("-{name} ({help}) type:{NARROW}{kind} default:{NARROW}{default}{modern}");
            wrap(&mut text, &words);
        }
    }
    text.replace(NARROW, " ")
}

/// Returns a default as gflags shows it.
fn shown(kind: &str, default: &str) -> String {
    match (kind, default) {
        ("bool", "1") => "true".to_owned(),
        ("bool", _) => "false".to_owned(),
        ("string", text) => format!("\"{text}\""),
        _ => default.to_owned(),
    }
}

/// Wraps words into lines; the first is indented by four columns, the others by six.
fn wrap(text: &mut String, words: &str) {
    let mut line = String::from("   ");
    for word in words.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("     ");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
