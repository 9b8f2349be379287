//! The flags of this program: its table, flags of other `db_bench` programs that it tolerates or
//! refuses, and the help.

pub(crate) mod clock_seed;
mod refused;
mod rocksdb;
mod table;

use std::fmt::Write as _;

use bench_core::flags::{self, Family, FlagKind, Given};

use table::{FLAGS, TOPICS};

/// All flags of a command line.
static FAMILY: Family = Family {
    flags: FLAGS,
    model: "LevelDB's or RocksDB's db_bench",
    refused: refused::FLAGS,
    tolerated_valued: rocksdb::VALUED,
    tolerated_switches: rocksdb::SWITCHES,
};

/// Parses the arguments of a command line.
pub(crate) fn parse(words: &[String]) -> Result<Given, String> {
    let mut given = Given::parse(&FAMILY, words)?;
    let codec = given.given("compression_type").map(str::to_owned);
    if let Some(codec) = codec.filter(|codec| codec != "none") {
        given.warnings.push(format!(
            "--compression_type={codec}: each engine compresses with its usual codec instead; see Options"
        ));
    }
    Ok(given)
}

/// Returns the minimum and maximum of the integer flag with this name.
pub(crate) fn bounds(name: &str) -> (u64, u64) {
    let flag = FLAGS.iter().find(|flag| flag.name == name);
    let at_least_0 = |number| u64::try_from(number).unwrap_or(0);
    match flag.map(|flag| flag.kind) {
        Some(FlagKind::Number(least, most)) => (at_least_0(least), at_least_0(most)),
        _ => (0, u64::MAX),
    }
}

/// Returns `; did you mean X?` for the nearest name, or an empty string if none is near.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    flags::nearest(name, known).map_or_else(String::new, |known| format!("; did you mean {known}?"))
}

/// Returns the text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "db_bench: the workloads of LevelDB's and RocksDB's db_bench over several stores\n\
         usage: db_bench [--flag=value | --flag value | --switch | --noswitch]...\n",
    );
    // Writing to a String cannot fail, here and below.
    for &topic in TOPICS {
        let _ = writeln!(text, "\n{topic}:");
        for flag in FLAGS.iter().filter(|flag| flag.topic == topic) {
            let default = match flag.default {
                "" => "none",
                long if long.len() > 40 => "LevelDB's list",
                default => default,
            };
            let (name, help, kind) = (flag.name, flag.help, flag.kind.name());
            let _ = writeln!(
                text,
                "  --{name} ({help})  type: {kind}  default: {default}"
            );
        }
    }
    text.push_str("\nworkloads (a suffix repeats or warms up: [X5], [W2], [X5-W2]):\n");
    text.push_str(&workloads());
    text
}

/// Returns the workloads with their descriptions, one per line.
pub(crate) fn workloads() -> String {
    let mut text = String::new();
    for workload in bench_core::workload::catalog::CATALOG {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<22} -- {}", workload.name, workload.help);
    }
    text
}

#[cfg(test)]
mod tests;
