use std::collections::BTreeSet;

use super::*;

fn parse(line: &str) -> Result<Given, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    super::parse(&words)
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
