//! Accepted and refused suite files.

use bench_core::host::test_text::{begins, has};

use super::*;

fn refusal(text: &str) -> String {
    parse("own.toml", text).expect_err("refused")
}

const GOOD: &str = "[[section]]\nname = \"a\"\nworkloads = [\"fillseq\"]\n";

#[test]
fn every_suite_of_the_program_is_well_formed() {
    for (name, _) in BUILT_IN {
        let file = read(name).expect("well formed");
        assert!(!file.title.is_empty() && !file.about.is_empty(), "{name}");
        for section in &file.section {
            assert!(
                !section.heading.is_empty(),
                "{name}: {}",
                section.name.get_ref()
            );
        }
    }
}

#[test]
fn a_section_with_a_list_is_a_suite() {
    let file = parse("own.toml", GOOD).expect("well formed");
    assert_eq!((file.num, file.rounds), (1_000_000, 3));
    assert_eq!(file.aggregate, Aggregate::Median);
    assert_eq!(plain_name("../mine/own.toml"), "own");
}

#[test]
fn unknown_words_are_refused_with_line_and_suggestion() {
    for (text, said) in [
        (
            format!("{GOOD}memory_mbs = 4\n"),
            "own.toml:4: unknown field `memory_mbs`",
        ),
        (
            format!("{GOOD}memory_mbs = 4\n"),
            "; did you mean memory_mb?",
        ),
        (
            GOOD.replace("fillseq", "filseq"),
            "own.toml:3: workload \"filseq\" is unknown; did you mean fillseq?",
        ),
        (
            format!("{GOOD}engines = [\"null\", \"leveldv\"]\n"),
            "own.toml:4: engine \"leveldv\" is unknown; did you mean leveldb?",
        ),
        (
            GOOD.replace("fillseq", "b: fillseq"),
            "own.toml:3: section \"b\" is unknown",
        ),
        (
            format!("{GOOD}over = \"later\"\n[[section]]\nname = \"later\"\n"),
            "own.toml:4: section above this one \"later\" is unknown",
        ),
        (
            format!("{GOOD}variants = [\"bloom\"]\n"),
            "own.toml:4: variant \"bloom\" is unknown",
        ),
        (
            format!("{GOOD}{GOOD}"),
            "own.toml:5: section \"a\": a name must",
        ),
        (
            GOOD.replace("fillseq", "stats"),
            "own.toml:3: stats prints text",
        ),
        (
            GOOD.replace("fillseq", "readseq[X5]"),
            "own.toml:3: readseq[X5]: a suite repeats workloads by rounds",
        ),
        (
            format!("{GOOD}threads = 0\n"),
            "own.toml:2: threads = 0: a whole number from 1 to 1024 is allowed",
        ),
        (
            format!("{GOOD}threads = \"two\"\n"),
            "own.toml:4: invalid type",
        ),
        (
            format!("rounds = 0\n{GOOD}"),
            "own.toml:1: rounds = 0: a whole number from 1",
        ),
        (
            format!("{GOOD}distribution = \"zipfan\"\n"),
            "own.toml:4: unknown variant `zipfan`, expected one of `uniform`, `zipfian`, `latest`; did you mean zipfian?",
        ),
        (
            format!("data = [\"yson\"]\n{GOOD}"),
            "own.toml:1: data set \"yson\"",
        ),
        ("[[section]\n".to_owned(), "own.toml:1: "),
        ("title = \"x\"\n".to_owned(), "missing field `section`"),
    ] {
        let refused = refusal(&text);
        assert!(refused.contains(said), "{refused} should contain {said}");
    }
}

/// A number that no flag allows used to reach an assertion in the child that drew its values.
#[test]
fn numbers_have_the_bounds_of_flags() {
    let most = u64::from(u32::MAX);
    for (text, said) in [
        (
            format!("{GOOD}value_size = 2_000_000\n"),
            "2: value_size = 2000000: a whole number from 0 to 1048575",
        ),
        (format!("{GOOD}threads = 2000\n"), "2: threads = 2000: "),
        (
            format!("{GOOD}memory_mb = 0\n"),
            "2: memory_mb = 0: a whole number from 1 to ",
        ),
        (
            format!("{GOOD}memory_mb = 18_000_000_000_000\n"),
            "2: memory_mb = 18000000000000: ",
        ),
        (format!("{GOOD}rounds = 0\n"), "2: rounds = 0: "),
        (format!("{GOOD}times = 0\n"), "2: times = 0: "),
        (format!("{GOOD}times = nan\n"), "2: times = NaN: "),
        (
            format!("{GOOD}times = 3000\n"),
            "2: times = 3000: a number above 0 is allowed, and with num = 1000000 not more than 2147483646 entries",
        ),
        (format!("num = 0\n{GOOD}"), "1: num = 0: "),
        (
            format!("num = {most}\n{GOOD}"),
            "1: num = 4294967295: a whole number from 1 to 2147483646 is",
        ),
        (
            format!("row_timeout = 18_000_000_000\n{GOOD}"),
            "1: row_timeout = ",
        ),
        (
            format!("{GOOD}[[variant]]\nname = \"b\"\nengines = [\"leveldb\"]\nbloom_bits = 101\n"),
            "5: bloom_bits = 101: a whole number from 0 to 100 is allowed",
        ),
        (
            format!("{GOOD}[[variant]]\nname = \"b\"\nengines = [\"leveldb\"]\nwrite_mb = 0\n"),
            "5: write_mb = 0: a whole number from 1",
        ),
    ] {
        let refused = refusal(&text);
        let said = format!("own.toml:{said}");
        assert!(
            refused.starts_with(&said),
            "{refused} should begin with {said}"
        );
    }
    parse(
        "own.toml",
        &format!("{GOOD}value_size = 1_048_575\nthreads = 1024\n"),
    )
    .expect("allowed");
}

#[test]
fn an_unknown_suite_names_those_there_are() {
    let refused = read("leveldb-2012").expect_err("unknown");
    has(&refused, "did you mean leveldb-2011?");
    let missing = read("/nowhere/own.toml").expect_err("not there");
    begins(&missing, "--suite=/nowhere/own.toml: ");
}
