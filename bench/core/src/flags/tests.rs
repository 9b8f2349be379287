use super::*;
use crate::host::test_text::{begins, has};

#[rustfmt::skip]
static FAMILY: Family = Family {
    flags: &[
        flag("", "num", FlagKind::Number(1, 1000), "7", ""),
        flag("", "histogram", FlagKind::Bool, "0", ""),
        flag("", "ratio", FlagKind::Ratio(0.01, 1.0), "0.5", ""),
        flag("", "shape", FlagKind::Word(&["round", "square"]), "round", ""),
        flag("", "write_buffer_size", FlagKind::Number(-1, i64::MAX), "", "").also(&["buffer"]),
    ],
    model: "somebody's program",
    refused: &[
        Refused {
            name: "readonly",
            switch: true,
            harmless: &["0"],
            reason: "stores are opened for writing",
        },
        Refused {
            name: "column_families",
            switch: false,
            harmless: &["1", "0"],
            reason: "one is all there is",
        },
    ],
    tolerated_valued: &["level"],
    tolerated_switches: &["disable_wal"],
};

fn parse(line: &str) -> Result<Given, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Given::parse(&FAMILY, &words)
}

#[test]
fn both_families_of_syntax_are_read() {
    for line in ["--num=5", "-num=5", "--num 5", "-num 5", "--num=3 --num=5"] {
        assert_eq!(parse(line).expect(line).text("num"), "5", "{line}");
    }
    for line in "--histogram,-histogram,--histogram=1,--histogram=true,--histogram=yes".split(',') {
        assert!(parse(line).expect(line).is_on("histogram"), "{line}");
    }
    for line in ",--nohistogram,--histogram --nohistogram,--histogram=f,--histogram=0".split(',') {
        assert!(!parse(line).expect(line).is_on("histogram"), "{line}");
    }
    for line in ["--write-buffer-size=4M", "--buffer=4096K"] {
        assert_eq!(
            parse(line).expect(line).text("write_buffer_size"),
            "4194304"
        );
    }
    let nothing = parse("").expect("nothing");
    assert_eq!((nothing.text("num"), nothing.given("num")), ("7", None));
}

#[test]
#[rustfmt::skip]
fn bad_values_and_unknown_flags_name_what_is_allowed() {
    for (line, said) in [
        ("--num=ten", "--num=ten: a whole number from 1 to 1000 is allowed"),
        ("--num=9G9", "--num=9G9: a whole number from 1 to 1000 is allowed"),
        ("--num=\u{e9}", "--num=\u{e9}: a whole number from 1 to 1000 is allowed"),
        (
            "--buffer=-2",
            "--write_buffer_size=-2: a whole number (or one with K, M or G, times 1024) of at least -1 is allowed",
        ),
        ("--ratio=NaN", "--ratio=NaN: a number from 0.01 to 1 is allowed"),
        ("--shape=oval", "--shape=oval: one of round, square is allowed"),
        ("--histogram=maybe", "--histogram=maybe: 1, 0, true, false, yes or no is allowed"),
        ("--num", "--num needs a value"),
        ("--nohistogram=1", "Invalid flag '--nohistogram=1': --nohistogram takes no value"),
        ("num", "Invalid argument 'num': flags begin with - or --"),
        ("--", "Invalid argument '--': flags begin with - or --"),
        ("--hsitogram", "Invalid flag '--hsitogram': did you mean --histogram?"),
        ("--nonum", "Invalid flag '--nonum': did you mean --num?"),
        ("--xyzzyplugh=1", "Invalid flag '--xyzzyplugh=1': --help lists what there is"),
    ] {
        assert_eq!(parse(line).expect_err("refused"), said);
    }
    let tolerated = parse("--undefok=xyzzy,plugh --xyzzy=1 --plugh --num=3").expect("tolerated");
    assert_eq!(tolerated.text("num"), "3");
}

#[test]
fn flags_of_the_model_warn_once() {
    let given = parse("--level=4 -level 8 --nodisable_wal --num=9").expect("known elsewhere");
    assert_eq!(
        given.warnings,
        [
            "--level is a flag of somebody's program that means nothing here; it is ignored",
            "--nodisable_wal is a flag of somebody's program that means nothing here; it is ignored",
        ]
    );
    assert_eq!(given.text("num"), "9");
}

#[test]
fn flags_that_cannot_be_followed_are_refused_with_the_reason() {
    let quiet = "--readonly=false --noreadonly --column_families=1 --column_families 0 --num=9";
    let given = parse(quiet).expect("matches what the program does");
    assert!(given.warnings.is_empty() && given.tolerated.is_empty());
    assert_eq!(given.text("num"), "9");
    for (line, said) in [
        ("--readonly", "--readonly=1: stores are opened for writing"),
        ("-readonly=yes", "--readonly=yes: stores are"),
        ("--readonly=maybe", "--readonly=maybe: stores are"),
        ("--column_families 3", "--column_families=3: one is all"),
        ("--column_families", "--column_families needs a value"),
    ] {
        let refused = parse(line).expect_err("refused");
        begins(&refused, said);
    }
}

#[test]
fn a_flag_file_is_read_and_its_absence_is_reported() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("flags");
    std::fs::write(&path, "# comment\n--num=12\n\n  --histogram\n").expect("written");
    let given = parse(&format!("--flagfile={} --ratio=1", path.display())).expect("read");
    assert_eq!((given.text("num"), given.text("ratio")), ("12", "1"));
    assert!(given.is_on("histogram"));
    std::fs::write(&path, format!("--flagfile={}\n", path.display())).expect("written");
    let endless = parse(&format!("--flagfile={}", path.display())).expect_err("endless");
    has(&endless, "eight deep");
    let absent = parse("--flagfile=nowhere/at/all").expect_err("absent");
    begins(&absent, "--flagfile=nowhere/at/all: ");
}
