//! Golden bytes: a table of this version stays readable, and is written the same again.

use cairndb_base::{Kind, Order};

use super::support::*;
use crate::table::{Compression, TableOptions};

/// Tables whose bytes are pinned, with the checksums of their meta blocks.
fn samples() -> Vec<(&'static str, Vec<Entry>, Compression)> {
    let mut rng = Rng(42);
    let classic = (0..150u32)
        .map(|number| Entry {
            key: format!("{number:016}").into_bytes(),
            seq: 0,
            kind: Kind::Put,
            value: classic_value(&mut rng),
        })
        .collect();
    let mut mixed = entries_of_shape(6, 60, &mut Rng(8));
    for entry in &mut mixed {
        if entry.kind != Kind::Pointer {
            entry.value.truncate(100);
        }
    }
    mixed.push(Entry {
        key: b"user5/large".to_vec(),
        seq: 77,
        kind: Kind::Put,
        value: Rng(1).bytes(9000),
    });
    sort(&mut mixed, &Order::Bytewise);
    vec![
        ("classic", classic, Compression::Short),
        ("mixed", mixed, Compression::Short),
    ]
}

/// Lines of hexadecimal digits, 32 bytes each; a run of equal lines is written once with its
/// length.
fn print_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let mut lines = bytes.chunks(32).peekable();
    while let Some(line) = lines.next() {
        let mut times = 1;
        while lines.next_if_eq(&line).is_some() {
            times += 1;
        }
        for byte in line {
            write!(out, "{byte:02x}").unwrap();
        }
        if times > 1 {
            write!(out, " x{times}").unwrap();
        }
        out.push('\n');
    }
    out
}

#[test]
fn golden_tables_are_written_byte_for_byte() {
    for (name, entries, compression) in samples() {
        let options = TableOptions {
            compression,
            ..TableOptions::new(FILE)
        };
        let (bytes, summary) = build(&entries, options);
        let path = format!(
            "{}/../../testdata/golden/table-{name}.hex",
            env!("CARGO_MANIFEST_DIR")
        );
        let hex = print_hex(&bytes);
        if std::env::var_os("CAIRN_WRITE_GOLDEN").is_some() {
            write_golden(&path, &hex);
        }
        let golden = read_golden(&path);
        assert!(golden == hex, "{name}: bytes differ from {path}");
        let table = open_with(bytes, &Order::Bytewise, summary.checksum, Reach::Mapped).unwrap();
        table.verify().unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "golden files belong to the repository"
)]
fn write_golden(path: &str, hex: &str) {
    std::fs::write(path, hex).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "golden files belong to the repository"
)]
fn read_golden(path: &str) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}
