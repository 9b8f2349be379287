use std::collections::BTreeSet;

use super::*;

fn parse(line: &str) -> Result<Given, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    super::parse(&words)
}

#[test]
fn both_families_of_syntax_are_read() {
    for line in [
        "--num=500",
        "-num=500",
        "--num 500",
        "-num 500",
        "--num=500 --histogram=0",
    ] {
        assert_eq!(parse(line).expect(line).number("num"), 500, "{line}");
    }
    for line in [
        "--histogram",
        "-histogram",
        "--histogram=1",
        "--histogram=true",
        "--histogram=yes",
    ] {
        assert!(parse(line).expect(line).is_on("histogram"), "{line}");
    }
    for line in [
        "--nohistogram",
        "--histogram=0",
        "--histogram --nohistogram",
        "--histogram=f",
    ] {
        assert!(!parse(line).expect(line).is_on("histogram"), "{line}");
    }
    assert_eq!(
        parse("--write-buffer-size=4M")
            .expect("dashes")
            .count("write_buffer_size"),
        4 << 20
    );
}

#[test]
fn lines_as_people_write_them_are_read() {
    let given = parse("--benchmarks=fillseq,stats --statistics").expect("as people write it");
    assert_eq!(given.text("benchmarks"), "fillseq,stats");
    assert!(given.is_on("statistics"));
    assert!(
        parse("--benchmarks=readrandom --use_existing_db")
            .expect("bare")
            .is_on("use_existing_db")
    );
}

#[test]
fn defaults_are_levels() {
    let given = parse("").expect("nothing");
    assert_eq!(given.number("num"), 1_000_000);
    assert_eq!(given.number("reads"), -1);
    assert_eq!(given.number("value_size"), 100);
    assert!(
        given
            .text("benchmarks")
            .starts_with("fillseq,fillsync,fillrandom,overwrite,readrandom,")
    );
    assert_eq!(given.given("num"), None);
}

#[test]
fn bad_values_name_flag_value_and_what_is_allowed() {
    let error = |line| parse(line).expect_err("refused");
    assert_eq!(
        error("--num=ten"),
        "--num=ten: a whole number (or one with K, M or G, times 1024) from 1 to 2147483646 is allowed"
    );
    assert_eq!(
        error("--compression_ratio=2"),
        "--compression_ratio=2: a number from 0.01 to 1 is allowed"
    );
    assert_eq!(
        error("--histogram=maybe"),
        "--histogram=maybe: 1, 0, true, false, yes or no is allowed"
    );
    assert_eq!(
        error("--aggregate=mean"),
        "--aggregate=mean: one of median, trimmed is allowed"
    );
    assert_eq!(error("--num"), "--num needs a value");
    assert_eq!(
        error("--nohistogram=1"),
        "Invalid flag '--nohistogram=1': --nohistogram takes no value"
    );
}

#[test]
fn unknown_flags_are_refused_with_the_nearest_name() {
    let error = |line| parse(line).expect_err("refused");
    assert_eq!(
        error("--benchmark=fillseq"),
        "Invalid flag '--benchmark=fillseq': did you mean --benchmarks?"
    );
    assert_eq!(
        error("--trheads=2"),
        "Invalid flag '--trheads=2': did you mean --threads?"
    );
    assert_eq!(
        error("--xyzzyplugh"),
        "Invalid flag '--xyzzyplugh': --help lists what there is"
    );
    assert!(error("fillseq").starts_with("Invalid argument 'fillseq'"));
    assert!(parse("--xyzzy=1 --num=3").is_err());
    assert_eq!(
        parse("--undefok=xyzzy --xyzzy=1 --num=3")
            .expect("tolerated")
            .number("num"),
        3
    );
}

#[test]
fn flags_of_rocksdb_warn_once() {
    let line = "--level0_file_num_compaction_trigger=4 -level0_file_num_compaction_trigger 8 --nommap_read --num=7";
    let given = parse(line).expect("known elsewhere");
    assert_eq!(given.warnings.len(), 2, "{:?}", given.warnings);
    assert_eq!(given.number("num"), 7);
}

#[test]
fn flags_that_would_change_what_is_measured_are_refused_unless_they_say_what_is_so() {
    let as_it_is =
        "--disable_wal=0 --noreadonly --num_column_families 1 --merge_operator=max --num=7";
    let given = parse(as_it_is).expect("as it is");
    assert!(given.warnings.is_empty(), "{:?}", given.warnings);
    let refused = parse("--disable_wal").expect_err("refused");
    assert_eq!(
        refused,
        "--disable_wal=1: every acknowledged write must survive the end of its process, in every engine alike"
    );
    for flag in refused::FLAGS {
        let line = format!("--{}=7", flag.name);
        let refused = parse(&line).expect_err("refused");
        assert_eq!(refused, format!("{line}: {}", flag.reason));
        assert!(flag.reason.len() > 20 && !flag.reason.ends_with('.'));
    }
}

#[test]
fn names_of_relatives_and_codecs_in_capitals_are_taken() {
    let given = parse("--page_size=4096 --batch=10 --compression_type=None").expect("taken");
    assert_eq!(
        (given.count("block_size"), given.count("batch_size")),
        (4096, 10)
    );
    assert_eq!(given.text("compression_type"), "none");
    assert!(given.warnings.is_empty());
    let given = parse("--compression_type=zstd").expect("taken");
    assert_eq!(given.warnings.len(), 1, "{:?}", given.warnings);
    assert!(given.warnings[0].starts_with("--compression_type=zstd: each engine"));
    assert!(parse("--compression_type=zst").is_err());
}

#[test]
fn a_flag_file_is_read_and_its_absence_is_reported() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("flags");
    std::fs::write(&path, "# comment\n--num=12\n\n  --histogram\n").expect("written");
    let given = parse(&format!("--flagfile={} --reads=4", path.display())).expect("read");
    assert_eq!((given.number("num"), given.number("reads")), (12, 4));
    assert!(given.is_on("histogram"));
    std::fs::write(&path, format!("--flagfile={}\n", path.display())).expect("written");
    assert!(
        parse(&format!("--flagfile={}", path.display()))
            .expect_err("endless")
            .contains("eight deep")
    );
    assert!(
        parse("--flagfile=nowhere/at/all")
            .expect_err("absent")
            .starts_with("--flagfile=nowhere/at/all: ")
    );
}

#[test]
fn no_name_is_listed_twice() {
    let mut names = BTreeSet::new();
    for flag in FLAGS {
        assert!(TOPICS.contains(&flag.topic), "{}", flag.name);
        assert!(
            flag.default.is_empty() || flag.kind.check(flag.default).is_some(),
            "{}",
            flag.name
        );
        for name in flag.aliases.iter().chain([&flag.name]) {
            assert!(names.insert(*name), "{name}");
        }
    }
    for name in rocksdb::VALUED.iter().chain(rocksdb::SWITCHES) {
        assert!(names.insert(name), "{name}");
    }
    for flag in refused::FLAGS {
        assert!(names.insert(flag.name), "{}", flag.name);
    }
}
