use super::*;

fn parse(line: &str) -> Given {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Given::parse(&FAMILY, &words).expect(line)
}

#[test]
fn defaults_are_those_of_the_five_series() {
    let given = parse("");
    assert_eq!(Profile::of(&given), Profile::Classic);
    for (name, default) in [
        ("cache_size", "8388608"),
        ("erase_percent", "10"),
        ("insert_percent", "40"),
        ("lookup_percent", "50"),
        ("max_key", "1073741824"),
        ("num_shard_bits", "4"),
        ("ops_per_thread", "1200000"),
        ("populate_cache", "0"),
        ("threads", "16"),
        ("use_clock_cache", "0"),
    ] {
        assert_eq!(Profile::Classic.text(&given, name), default, "{name}");
    }
}

#[test]
fn a_flag_of_newer_versions_or_the_word_chooses_the_modern_profile() {
    for line in [
        "--profile=modern",
        "--skew=3",
        "--value_bytes=100",
        "--nolean",
        "--pinned_ratio=0.1",
        "--max_key=5 --resident_ratio 0.5",
    ] {
        let given = parse(line);
        assert_eq!(Profile::of(&given), Profile::Modern, "{line}");
    }
    for line in [
        "--threads=2",
        "--profile=classic --skew=3",
        "--cache=all --rounds=3",
    ] {
        assert_eq!(Profile::of(&parse(line)), Profile::Classic, "{line}");
    }
    let given = parse("--profile=modern --threads=3");
    let text = |name| Profile::of(&given).text(&given, name);
    assert_eq!((text("threads"), text("cache_size")), ("3", "1073741824"));
    assert_eq!(
        (text("value_bytes"), text("lookup_insert_percent")),
        ("8192", "87")
    );
    assert_eq!((text("resident_ratio"), text("max_key")), ("0.25", ""));
}

#[test]
fn every_default_is_allowed_and_no_flag_is_listed_twice() {
    let mut names = std::collections::BTreeSet::new();
    for flag in FAMILY.flags {
        assert!(table::TOPICS.contains(&flag.topic), "{}", flag.name);
        assert!(
            flag.default.is_empty() || flag.kind.check(flag.default).is_some(),
            "{}",
            flag.name
        );
        assert!(names.insert(flag.name), "{}", flag.name);
    }
    for (name, default) in table::MODERN {
        let flag = FAMILY.flags.iter().find(|flag| flag.name == *name);
        let flag = flag.expect("a default of a flag that exists");
        assert!(
            default.is_empty() || flag.kind.check(default).is_some(),
            "{name}"
        );
    }
    for name in FAMILY
        .tolerated_valued
        .iter()
        .chain(FAMILY.tolerated_switches)
    {
        assert!(names.insert(name), "{name}");
    }
}

#[test]
fn help_shows_meaning_type_and_default_of_every_flag() {
    let text = help();
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "-cache_size (Number of bytes to use as a cache of uncompressed data.) type: int64 default: 8388608",
        "-erase_percent (Ratio of erase to total workload (expressed as a percentage)) type: int32 default: 10",
        "-insert_percent (Ratio of insert to total workload (expressed as a percentage)) type: int32 default: 40",
        "-lookup_percent (Ratio of lookup to total workload (expressed as a percentage)) type: int32 default: 50",
        "-max_key (Max number of key to place in cache) type: int64 default: 1073741824",
        "-ops_per_thread (Number of operations per thread.) type: uint64 default: 1200000",
        "-populate_cache (Populate cache before operations) type: bool default: false",
        "-threads (Number of concurrent threads to run.) type: int32 default: 16",
        "-use_clock_cache (the same as --cache=clock) type: bool default: false",
    ] {
        assert!(joined.contains(expected), "{expected}\n{text}");
    }
    for flag in FAMILY.flags {
        assert!(
            joined.contains(&format!(" -{} (", flag.name)),
            "{}",
            flag.name
        );
    }
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}
