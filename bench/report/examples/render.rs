//! Reads a file of `--json` or a `report.json` and writes the report into a directory:
//! `cargo run --package bench-report --example render -- RECORDS DIR`.

use std::error::Error;
use std::fs;
use std::path::Path;

use bench_report::Report;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [input, dir] = words.as_slice() else {
        return Err("two arguments: a file of records and a directory".into());
    };
    let text = fs::read_to_string(input)?;
    let report = Report::from_text(&text)?;
    report.write(Path::new(dir))?;
    Ok(())
}
