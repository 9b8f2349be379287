//! Texts that other programs write: byte order marks, encodings, stray quotes, wrong names.

use std::path::Path;

use super::{cairn, command};
use crate::{Entries, Ran, assert_has, clear, fed, home, read, remove, write};

const CSV: &str = "key,value\nk1,v1\nk2,v2\n";
const JSON: &str = "{\"key\":\"k1\",\"value\":\"v1\"}\n{\"key\":\"k2\",\"value\":\"v2\"}\n";
const DUMP: &str = "VERSION=3\nformat=print\nHEADER=END\n k1\n v1\n k2\n v2\nDATA=END\n";

/// The same two entries in each format that is text.
const TEXTS: [(&str, &str); 5] = [
    ("csv", CSV),
    ("csv --literal", CSV),
    ("jsonl", JSON),
    ("mdb_dump", DUMP),
    ("db_dump", DUMP),
];

fn two() -> Entries {
    let entry = |n: &str| (format!("k{n}").into_bytes(), format!("v{n}").into_bytes());
    [entry("1"), entry("2")].into()
}

/// Imports a text, and removes the database.
fn import(at: &Path, text: &[u8], options: &str) -> (Ran, Option<Entries>) {
    std::fs::write(at.join("text"), text).unwrap();
    let ran = cairn(at, &format!("import @to @text --format={options}"));
    let to = at.join("to");
    let held = to.exists().then(|| read(&to));
    clear(at, &["to", "to.cairn-import"]);
    (ran, held)
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_key() {
    let parent = &*home();
    for (format, text) in TEXTS {
        let marked = ["\u{feff}", text].concat();
        let (ran, held) = import(parent, marked.as_bytes(), format);
        ran.done();
        assert_eq!(held, Some(two()), "{format}");
        // A mark is at the beginning of the text only.
        let (ran, held) = import(parent, b"\xef\xbb\xbf", "csv");
        ran.done();
        assert_eq!(held, Some(Entries::new()));
    }
    let script = "\u{feff}put --create key value\n";
    std::fs::write(parent.join("script"), script).unwrap();
    shell(parent).done();
    let expected = Entries::from([(b"key".to_vec(), b"value".to_vec())]);
    assert_eq!(read(&parent.join("to")), expected);
}

/// Runs the file `script`.
fn shell(at: &Path) -> Ran {
    let script = std::fs::read(at.join("script")).unwrap();
    fed(command(at, "shell @to"), &script)
}

/// The encodings of a text that are refused, by the name that `iconv` knows.
fn encoded(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let wide = |unit: fn(u32) -> [u8; 4]| text.chars().flat_map(move |c| unit(c.into()));
    let short = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit);
    let plain = [
        ("UTF-16LE", short(u16::to_le_bytes).collect::<Vec<u8>>()),
        (
            "UTF-16BE",
            short(|unit| unit.swap_bytes().to_le_bytes()).collect(),
        ),
        ("UTF-32LE", wide(u32::to_le_bytes).collect()),
        (
            "UTF-32BE",
            wide(|unit| unit.swap_bytes().to_le_bytes()).collect(),
        ),
    ];
    let marks: [&[u8]; 4] = [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"];
    let names = ["UTF-16", "UTF-16", "UTF-32", "UTF-32"];
    let marked = plain.iter().zip(marks).zip(names);
    let marked = marked.map(|(((_, text), mark), name)| (name, [mark, text].concat()));
    let marked: Vec<_> = marked.collect();
    plain.into_iter().chain(marked).collect()
}

#[test]
fn wide_encodings_are_refused_by_name() {
    let at = &*home();
    for (format, text) in TEXTS {
        for (name, bytes) in encoded(text) {
            let advice = format!("iconv -f {name} -t UTF-8");
            let (ran, held) = import(at, &bytes, &format!("{format} --skip-bad"));
            ran.failed(5, &["text", name, &advice]);
            assert_eq!(held.unwrap_or_default(), Entries::new(), "{format} {name}");
        }
    }
    for (name, bytes) in encoded("put --create key value\n") {
        std::fs::write(at.join("script"), bytes).unwrap();
        let advice = format!("iconv -f {name} -t UTF-8");
        shell(at).failed(5, &["the script", name, &advice]);
    }
}

#[test]
fn keys_of_bytes_are_not_taken_for_another_encoding() {
    let at = &*home();
    for key in [
        &b"\xff\xfea"[..],
        b"\xef\xbb\xbfa",
        b"a\0",
        b"\0a\0b",
        b"a\0\0\0",
    ] {
        let entries = Entries::from([(key.to_vec(), b"1\0".to_vec())]);
        write(&at.join("from"), &entries);
        for format in ["csv --literal", "csv", "jsonl"] {
            cairn(at, &format!("export @from @file --format={format}")).done();
            cairn(at, &format!("import @to @file --format={format}")).done();
            assert_eq!(read(&at.join("to")), entries, "{format} {key:?}");
            clear(at, &["to", "file"]);
        }
        remove(&at.join("from"));
        // Without a header, one binary field is not enough to suspect UTF-16.
        let line = [key, b",1\n"].concat();
        if ![0xff, 0xef].contains(&line[0]) {
            let (ran, held) = import(at, &line, "csv --literal");
            ran.done();
            assert_eq!(held, Some(Entries::from([(key.to_vec(), b"1".to_vec())])));
        }
    }
}

#[test]
fn a_header_in_quotes_is_a_header() {
    let parent = &*home();
    for header in [
        "\"key\",\"value\"",
        "\"key\",value\r",
        "\u{feff}\"key\",\"value\"",
    ] {
        let text = CSV.replace("key,value", header);
        let (ran, held) = import(parent, text.as_bytes(), "csv");
        ran.done();
        assert_eq!(held, Some(two()), "{header}");
    }
}

#[test]
fn a_stray_quote_costs_one_line() {
    let at = &*home();
    for stray in [
        "k1,5\" nail",
        "k1,\"nail",
        "\"k1,nail",
        "k1,\"nail\" x",
        "k1,\"\"\"nail",
        "\"k1\",\"nail,",
    ] {
        let line = |n: u32| match n {
            1 => format!("{stray}\n"),
            n if n % 3 == 0 => format!("\"k{n}\",\"v \"\"{n}\"\"\"\n"),
            n => format!("k{n},v{n}\n"),
        };
        let text: String = (0..1000).map(line).collect();
        let (ran, _) = import(at, text.as_bytes(), "csv --literal");
        ran.failed(5, &["line 2 of", "--skip-bad"]);
        let (ran, held) = import(at, text.as_bytes(), "csv --literal --skip-bad");
        assert_has(
            &ran.done(),
            &["imported 999 entries", "skipped 1 line: 2\n"],
        );
        assert!(!held.unwrap().contains_key(&b"k1"[..]), "{stray}");
    }
}

#[test]
fn the_numbers_of_skipped_lines_are_true() {
    let at = &*home();
    let cases = [
        ("csv", "a,1\nb\nc,3\n\nd\ne\nf,6\n", "3 lines: 2, 5-6"),
        // A record whose fields are whole but do not decode is skipped with all of its lines.
        ("csv", "a,1\nb,\"\\q\nx,y\n\"\nc,3\n", "3 lines: 2-4"),
        ("csv --hex", "00,01\nzz,00\n02,03", "1 line: 2"),
        ("csv", "a,1\n\"b\nc,3\n\"d\ne,5\n", "2 lines: 2, 4"),
        (
            "jsonl",
            "{\"key\":\"a\",\"value\":\"1\"}\n\n[]\n",
            "1 line: 3",
        ),
        (
            "mdb_dump",
            "VERSION=3\nHEADER=END\n 61\n 31\n 6\n 32\nx\n 62\n 33\nDATA=END\n",
            "3 lines: 5-7",
        ),
        (
            "mdb_dump",
            "VERSION=3\nHEADER=END\n 61\nDATA=END\n",
            "1 line: 3",
        ),
    ];
    for (format, text, expected) in cases {
        let (ran, _) = import(at, text.as_bytes(), &format!("{format} --skip-bad"));
        assert_has(&ran.done(), &[&format!("skipped {expected}\n")]);
    }
    let text = "a,1\nb\n".repeat(1000);
    let (ran, _) = import(at, text.as_bytes(), "csv --skip-bad");
    let parts = ["skipped 1000 lines: 2, 4, 6,", ", 200, and 900 more\n"];
    assert_has(&ran.done(), &parts);
}

#[test]
fn a_name_that_the_dump_does_not_have_is_an_error_that_lists_those_there_are() {
    let at = &*home();
    let section = |name: &str| format!("VERSION=3\n{name}HEADER=END\n 61\n 31\nDATA=END\n");
    let named = section("database=blocks\n") + &section("database=users\n");
    for (text, family, parts) in [
        (&named, "block", ["no database `block`", "blocks, users"]),
        (&named, "", ["no database ``", "blocks, users"]),
        (
            &section(""),
            "blocks",
            ["no database `blocks`", "without a name"],
        ),
    ] {
        std::fs::write(at.join("two.dump"), text).unwrap();
        let mut program = command(at, "import @to @two.dump --format=mdb_dump --family");
        Ran::from(program.arg(family).output().unwrap()).failed(2, &parts);
        assert_eq!(read(&at.join("to")), Entries::new());
    }
    // Nothing is in the way of the right name.
    std::fs::write(at.join("two.dump"), &named).unwrap();
    cairn(at, "import @to @two.dump --format=mdb_dump --family blocks").done();
    let line = "import @to @two.dump --format=mdb_dump --add --family users --family block";
    cairn(at, line).failed(2, &["no database `block`", "blocks, users"]);
    assert_eq!(cairn(at, "scan @to --keys-only").done(), "blocks/a\n");
}

#[test]
fn a_restart_is_no_leave_to_replace_entries() {
    let at = &*home();
    let held = Entries::from([(b"a".to_vec(), b"mine".to_vec())]);
    write(&at.join("to"), &held);
    write(&at.join("from"), &two());
    cairn(at, "dump @from @dumped").done();
    std::fs::write(at.join("file"), "a,theirs\n").unwrap();
    for line in ["import @to @file --format=csv", "load @to @dumped"] {
        for restart in ["", " --restart"] {
            cairn(at, &format!("{line}{restart}")).failed(5, &["holds entries already", "--add"]);
            assert_eq!(read(&at.join("to")), held);
        }
    }
    // What an interrupted import has put is replaced without a question.
    std::fs::write(at.join("other"), "b,1\nbad\n").unwrap();
    cairn(at, "import @new @other --format=csv").failed(5, &["line 2"]);
    let restart = "import @new @other --format=csv --restart";
    for _ in 0..2 {
        let db = cairndb::Db::open(at.join("new")).unwrap();
        cairn(at, restart).failed(4, &["has the database open"]);
        db.close().unwrap();
        std::fs::write(at.join("other"), "\u{feff}b\n").unwrap();
        cairn(at, restart).failed(5, &["line 1"]);
    }
    std::fs::write(at.join("other"), "b,2\n").unwrap();
    cairn(at, restart).done();
    assert_eq!(cairn(at, "scan @new").done(), "b\t2\n");
    cairn(at, "import @to @file --format=csv --restart --add").done();
    assert_eq!(cairn(at, "scan @to").done(), "a\ttheirs\n");
}

#[test]
fn json_lines_that_are_wrong_are_called_what_they_are() {
    let parent = &*home();
    for (line, part) in [
        (
            "{\"key\":\"\\ud800\",\"value\":\"v\"}",
            "half of a surrogate pair",
        ),
        (
            "{\"key\":\"a\",\"value\":\"\\ud83dx\"}",
            "half of a surrogate pair",
        ),
        (
            "{\"key\":\"a\",\"value\":\"\\udc00\"}",
            "half of a surrogate pair",
        ),
        ("[\"a\",\"1\"]", "an array"),
        ("[{\"key\":\"a\",\"value\":\"1\"}]", "jq -c '.[]'"),
        ("[", "an array"),
        ("\"a\"", "a string"),
        ("7", "a number"),
        ("null", "`null`"),
        ("{", "jq -c ."),
        ("{\"key\":\"a\",", "jq -c ."),
        (
            "{\"key\":7,\"value\":\"1\"}",
            "expected a string or an object",
        ),
        ("a,1", "an object"),
    ] {
        let (ran, held) = import(parent, line.as_bytes(), "jsonl");
        ran.failed(5, &["line 1 of", part]);
        assert_eq!(held, Some(Entries::new()), "{line}");
    }
    let (ran, _) = import(parent, b"{\"key\":\"\xff\",\"value\":\"1\"}", "jsonl");
    ran.failed(5, &["line 1 of", "not UTF-8", "base64"]);
}
