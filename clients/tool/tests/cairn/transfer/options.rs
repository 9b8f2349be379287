//! The format that a name implies, and the options of single formats.

use std::path::Path;

use super::{cairn, command};
use crate::{Ran, assert_has, home};

/// Writes a file, and imports it into a new database. Returns what it holds.
fn imported(at: &Path, name: &str, text: &str, options: &str) -> String {
    std::fs::write(at.join(name), text).unwrap();
    let _ = std::fs::remove_dir_all(at.join("to"));
    cairn(at, &format!("import @to @{name} {options}")).done();
    cairn(at, "scan @to").done()
}

fn fruit(at: &Path) {
    cairn(at, "put @from --create apple red").done();
    cairn(at, "put @from banana yellow;green").done();
}

#[test]
fn the_name_implies_the_format_and_the_report_says_it() {
    let at = &*home();
    fruit(at);
    let expected = cairn(at, "scan @from").done();
    for (name, format) in [
        ("a.csv", "csv"),
        ("a.tsv", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.dump", "dump"),
        ("a/", "leveldb"),
    ] {
        let (number, as_format) = (name.len(), format!(" as {format}, hash "));
        let report = cairn(at, &format!("export @from @{name}")).done();
        assert_has(&report, &[&as_format]);
        let report = cairn(at, &format!("import @{format}-{number} @{name}")).done();
        assert_has(&report, &[&as_format]);
        let scanned = cairn(at, &format!("scan @{format}-{}", name.len())).done();
        assert_eq!(scanned, expected);
    }
    cairn(at, "load @loaded @a.dump").done();
    let named = cairn(at, "export @from @b.csv --format=jsonl").done();
    assert!(!named.contains(" as "), "{named}");
    // Other stores' dumps have the same ending.
    cairn(at, "export @from @c.dump --format=db_dump").done();
    let report = cairn(at, "import @text @c.dump").done();
    assert!(report.contains(" as mdb_dump, "), "{report}");
    assert_eq!(cairn(at, "scan @text").done(), expected);
}

#[test]
fn a_name_that_implies_nothing_is_refused() {
    let at = &*home();
    fruit(at);
    std::fs::write(at.join("a.txt"), "a,1\n").unwrap();
    cairn(at, "export @from").failed(2, &["stdout", "--format"]);
    cairn(at, "import @to -").failed(2, &["stdin", "--format"]);
    cairn(at, "export @from @b.txt").failed(2, &["b.txt", ".csv", "--format"]);
    cairn(at, "import @to @a.txt").failed(2, &["a.txt", ".csv", "--format"]);
    cairn(at, "import @to @from").failed(5, &["from", "cairn copy"]);
    assert!(!at.join("to").exists() && !at.join("b.txt").exists());
}

#[test]
fn columns_are_found_by_name_and_delimiter() {
    let at = &*home();
    let names = "--key-column=name --value-column=colour";
    for (text, options, expected) in [
        (
            "id;name;colour\n1;plum;blue\n2;fig;\"a;b\"\n",
            ";",
            "fig\ta;b\nplum\tblue\n",
        ),
        (
            "colour,\"name\",x\r\nblue,plum,\"1\n2\"\r\n",
            ",",
            "plum\tblue\n",
        ),
        ("name|colour\n\nname|colour\n", "|", "name\tcolour\n"),
        ("\u{feff}name,colour\nplum,\\x62\n", ",", "plum\tb\n"),
        (
            "name,colour\nplum,\\x62\n",
            ", --literal",
            "plum\t\\\\x62\n",
        ),
    ] {
        let found = imported(at, "a.csv", text, &format!("{names} --delimiter={options}"));
        assert_eq!(found, expected, "{text}");
    }
    let found = imported(at, "a.csv", "value,a,key\n1,2,3\n", "--key-column=a");
    assert_eq!(found, "2\t1\n");
    let found = imported(at, "a.tsv", "colour\tname\nb,c\tplum\n", names);
    assert_eq!(found, "plum\tb,c\n");
    // What is exported with these options is imported with them.
    fruit(at);
    let options = format!("{names} --delimiter ;");
    cairn(at, &format!("export @from @out.csv {options}")).done();
    let text = std::fs::read_to_string(at.join("out.csv")).unwrap();
    assert_eq!(text, "name;colour\napple;red\nbanana;\"yellow;green\"\n");
    let found = imported(at, "out.csv", &text, &options);
    assert_eq!(found, cairn(at, "scan @from").done());
}

#[test]
fn a_backslash_that_is_no_escape_is_answered_with_literal() {
    let at = &*home();
    std::fs::write(at.join("a.csv"), "a,1\nb,C:\\dir\n").unwrap();
    cairn(at, "import @to @a.csv").failed(5, &["line 2", "--literal"]);
    cairn(at, "import @to @a.csv --literal").failed(5, &["other options", "--restart"]);
    cairn(at, "import @to @a.csv --literal --restart").done();
    assert_eq!(cairn(at, "scan @to").done(), "a\t1\nb\tC:\\\\dir\n");
    std::fs::write(at.join("hex.csv"), "a,1\n").unwrap();
    let ran = cairn(at, "import @other @hex.csv --hex");
    assert!(!ran.stderr.contains("--literal"), "{ran:?}");
    ran.failed(5, &["line 1"]);
}

#[test]
fn wrong_columns_and_delimiters_are_named() {
    let at = &*home();
    std::fs::write(at.join("a.csv"), "id,name\n1,plum,blue\n2\n").unwrap();
    let import = |options: &str| cairn(at, &format!("import @to @a.csv {options}"));
    import("--key-column=nam").failed(5, &["line 1 of", "column `nam`", "`id`, `name`"]);
    import("--key-column=id --delimiter=;").failed(5, &["only `id,name`", "--delimiter"]);
    import("--key-column=id --value-column=name").failed(5, &["line 2", "two fields"]);
    import("--key-column=a --value-column=a").failed(2, &["two columns"]);
    import("--delimiter=;").failed(5, &["line 1 of", "--delimiter"]);
    for delimiter in ["\"", "ab", "ä", "\\", "\n"] {
        let mut program = command(at, "import @to @a.csv --delimiter");
        let ran = Ran::from(program.arg(delimiter).output().unwrap());
        ran.failed(2, &["one character of ASCII"]);
    }
    for (options, format) in [
        ("--delimiter=;", "tsv"),
        ("--key-column=a", "jsonl"),
        ("--json-values", "csv"),
        ("--literal", "dump"),
    ] {
        let refused = import(&format!("{options} --format={format}"));
        let option = options.split('=').next().unwrap();
        refused.failed(2, &[option, &format!("the format {format}")]);
    }
}

#[test]
fn json_values_are_their_text_on_request() {
    let at = &*home();
    let text = "{\"key\":1,\"value\":{\"a\": [1, 2.50]}}\n\
                {\"key\":\"b\",\"value\":[\"\\u00e9\", null]}\n\
                {\"key\":{\"base64\":\"/w==\"},\"value\":true}\n\
                {\"key\":\"d\",\"value\":\"text\\n\"}\n";
    let expected = "1\t{\"a\": [1, 2.50]}\nb\t[\"\\\\u00e9\", null]\nd\ttext\\n\n\\xff\ttrue\n";
    assert_eq!(imported(at, "a.jsonl", text, "--json-values"), expected);
    cairn(at, "import @other @a.jsonl").failed(5, &["line 1", "--json-values"]);
    for line in [
        "{\"key\":\"\\ud800\",\"value\":1}",
        "{\"key\":1,\"value\":[1,]}",
        "{\"key\":1}",
    ] {
        std::fs::write(at.join("bad.jsonl"), line).unwrap();
        cairn(at, "import @bad @bad.jsonl --json-values").failed(5, &["line 1"]);
    }
}

#[test]
fn a_write_between_two_halves_of_an_import_is_named() {
    let at = &*home();
    std::fs::write(at.join("a.csv"), "a,1\nbad\nc,3\n").unwrap();
    cairn(at, "import @to @a.csv").failed(5, &["line 2"]);
    cairn(at, "put @to b 2").done();
    std::fs::write(at.join("a.csv"), "a,1\nc,3\n").unwrap();
    let parts = ["something else has written to it", "--restart"];
    cairn(at, "import @to @a.csv").failed(5, &parts);
    cairn(at, "import @to @a.csv --restart").done();
    assert_eq!(cairn(at, "scan @to").done(), "a\t1\nb\t2\nc\t3\n");
}
