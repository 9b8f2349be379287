//! Keys and values of any bytes, in every notation.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::{NONE, cairn, cairn_with};
use crate::{home, place, write_table};

#[test]
fn every_byte_is_printed_and_read_back() {
    let path = place("bytes");
    write_table(&path, (0..=255u8).map(|byte| ([byte], [byte, 255 - byte])));
    let text = cairn("scan", &path, NONE).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 256);
    for (byte, line) in (0..=255u8).zip(&lines) {
        let (key, value) = line.split_once('\t').expect("a tab follows the key");
        assert!(!key.contains('\t') && !value.contains('\t'), "{line}");
        let raw = cairn("get", &path, &["--raw", "--", key]);
        assert_eq!(raw.stdout, [byte, 255 - byte], "{key}");
        let got = cairn("get", &path, &["--", key]).done();
        assert_eq!(got, format!("{value}\n"));
    }
    let hex = cairn("scan", &path, &["--hex"]).done();
    for (byte, line) in (0..=255u8).zip(hex.lines()) {
        assert_eq!(line, format!("{byte:02x}\t{byte:02x}{:02x}", 255 - byte));
    }
}

#[test]
fn every_byte_is_written_through_arguments() {
    let path = place("bytes");
    let all: Vec<u8> = (0..=255).collect();
    let hex = data_encoding::HEXLOWER.encode(&all);
    let base64 = data_encoding::BASE64.encode(&all);
    let escapes: Vec<String> = all.iter().map(|byte| format!("\\x{byte:02X}")).collect();
    cairn("put", &path, &["--create", "--hex", "00", &hex]).done();
    cairn("put", &path, &["--base64", "AQ==", &base64]).done();
    cairn("put", &path, &["\\x02", &escapes.concat()]).done();
    // The bytes themselves; an argument cannot hold a zero byte, and a backslash is doubled.
    let mut literal = all[1..].to_vec();
    literal.insert(usize::from(b'\\'), b'\\');
    let words = [b"--", &b"\\x03"[..], &literal].map(OsStr::from_bytes);
    cairn("put", &path, &words).done();
    for (key, expected) in [
        ("00", &all[..]),
        ("01", &all),
        ("02", &all),
        ("03", &all[1..]),
    ] {
        let raw = cairn("get", &path, &["--raw", &format!("\\x{key}")]);
        assert_eq!((raw.code, &*raw.stdout), (0, expected), "{key}");
        let expected = data_encoding::HEXLOWER.encode(expected) + "\n";
        assert_eq!(cairn("get", &path, &["--hex", key]).done(), expected);
    }
}

#[test]
fn values_come_from_stdin_and_files() {
    let parent = &*home();
    let path = parent.join("values");
    let value: Vec<u8> = (0..300_000u32).map(|n| n.to_le_bytes()[1]).collect();
    cairn_with("put", &path, &["--create", "stdin", "-"], &value).done();
    let file = parent.join("value");
    std::fs::write(&file, &value).unwrap();
    let file = file.to_str().unwrap();
    cairn("put", &path, &["file", "--file", file]).done();
    cairn("put", &path, &["dash", "\\x2d"]).done();
    for key in ["stdin", "file"] {
        assert_eq!(cairn("get", &path, &["--raw", key]).stdout, value, "{key}");
    }
    assert_eq!(cairn("get", &path, &["dash"]).done(), "-\n");
    cairn("put", &path, &["file", "--file", "/no/such/file"]).failed(5, &["/no/such/file"]);
    cairn("put", &path, &["key"]).failed(2, &["--file"]);
    cairn("put", &path, &["key", "value", "--file", file]).failed(2, &["--file"]);
}

#[test]
fn empty_keys_and_values_are_entries() {
    let path = place("empty");
    cairn("put", &path, &["--create", "", "nothing"]).done();
    cairn("put", &path, &["key", ""]).done();
    assert_eq!(cairn("scan", &path, NONE).done(), "\tnothing\nkey\t\n");
    assert_eq!(cairn("get", &path, &[""]).done(), "nothing\n");
    assert_eq!(cairn("get", &path, &["key"]).done(), "\n");
    assert_eq!(cairn("get", &path, &["--raw", "key"]).done(), "");
    assert_eq!(cairn("scan", &path, &["--keys-only"]).done(), "\nkey\n");
    cairn("delete", &path, &["", "key"]).done();
    assert_eq!(cairn("count", &path, NONE).done(), "0\n");
}

#[test]
fn json_lines_are_json() {
    let path = place("json");
    let entries = [
        (&b"\"quoted\"\n"[..], "é\u{0}\u{7f}".as_bytes().to_vec()),
        (b"plain", b"\xff\xfe".to_vec()),
    ];
    write_table(&path, entries);
    let text = cairn("scan", &path, &["--json"]).done();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    assert_eq!(
        lines[0],
        json!({"key": "\"quoted\"\n", "value": "é\u{0}\u{7f}"})
    );
    assert_eq!(lines[1]["value"]["base64"], "//4=");
    let hex = cairn("get", &path, &["--json", "--hex", "706c61696e"]).done();
    assert_eq!(hex, "{\"key\":\"706c61696e\",\"value\":\"fffe\"}\n");
    assert_eq!(cairn("count", &path, &["--json"]).done(), "{\"count\":2}\n");
}

#[test]
fn messages_show_keys_and_names_as_they_were_typed() {
    let path = place("bytes");
    write_table(&path, [("key", "value")]);
    for arguments in [
        &["C:\\dir"][..],
        &["a\\\\b\\x00"],
        &["--hex", "00ff"],
        &["--hex", "0\\"],
        &["--base64", "AP8="],
    ] {
        let typed = arguments.last().unwrap();
        let ran = cairn("get", &path, arguments);
        assert!([1, 2].contains(&ran.code), "{ran:?}");
        let shown = [format!("{typed}\" is"), format!("`{typed}`")];
        assert!(
            shown.iter().any(|text| ran.stderr.contains(text)),
            "{ran:?}"
        );
    }
    cairn("tables", &path, &["a\\b"]).failed(2, &["`a\\b` is not"]);
    let script = cairn_with("shell", &path, &[], b"get 'C:\\dir'\n");
    script.failed(2, &["`C:\\dir`"]);
}
