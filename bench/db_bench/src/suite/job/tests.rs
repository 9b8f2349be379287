//! Suite files and the lists made from them.

use super::*;

fn of(text: &str, directories: usize) -> (Vec<Job>, Vec<String>) {
    let file: File = toml::from_str(text).expect("well formed");
    let asked = SuiteFlags {
        directories,
        ..asked(Some(1000))
    };
    jobs(&file, asked, &base())
}

/// Returns the flags of a suite in one directory.
fn asked(num: Option<u64>) -> SuiteFlags {
    SuiteFlags {
        num,
        rounds: None,
        directories: 1,
    }
}

/// Returns a plan as flags make it.
fn base() -> Plan {
    Plan {
        key_len: 16,
        ..Plan::default()
    }
}

/// Returns the jobs of a suite of the program.
fn built_in(name: &str, num: Option<u64>) -> Vec<Job> {
    let file = file::read(name).expect("well formed");
    jobs(&file, asked(num), &base()).0
}

/// Returns the list of a part, with the labels of the shown entries.
fn list(part: &Part) -> Vec<String> {
    let show = |entry: &Entry| match &entry.shown {
        None => format!("({})", entry.workload),
        Some(shown) => format!(
            "{} {} {}{}",
            shown.section,
            entry.workload,
            shown.instance,
            shown
                .state
                .map_or(String::new(), |state| format!(" {state}"))
        ),
    };
    part.entries.iter().map(show).collect()
}

#[test]
fn sections_over_another_go_on_in_a_process_of_their_own() {
    let (jobs, _) = of(
        r#"
        [[section]]
        name = "write"
        memory_mb = 128
        compression = false
        workloads = ["fillrandom"]
        [[section]]
        name = "read"
        over = "write"
        split = "reads"
        threads = 2
        workloads = ["readseq", "compact", "readseq", "write: open", "deleteseq", "readseq"]
        [[section]]
        name = "own"
        before = ["fillseq"]
        threads = 4
        times = 10
        workloads = ["readrandom"]
        "#,
        1,
    );
    assert_eq!(jobs.len(), 2);
    let parts = &jobs[0].parts;
    assert_eq!(list(&parts[0]), ["write fillrandom 1"]);
    assert_eq!(
        list(&parts[1]),
        [
            "read readseq 1 as left",
            "read compact 1",
            "read readseq 2 compacted",
            "write open 1",
            "read deleteseq 1",
            "read readseq 3 as left",
        ]
    );
    assert_eq!(parts[0].plan.memory, Memory::split(128 << 20, false));
    assert_eq!(parts[1].plan.memory, Memory::split(128 << 20, true));
    assert!(!parts[1].plan.compression, "as in the section below");
    assert_eq!((parts[0].plan.threads, parts[1].plan.threads), (1, 2));
    let parts = &jobs[1].parts;
    assert_eq!(list(&parts[0]), ["(fillseq)"]);
    assert_eq!(list(&parts[1]), ["own readrandom 1"]);
    assert_eq!((parts[0].plan.threads, parts[1].plan.threads), (1, 4));
    assert_eq!(
        (jobs[0].parts[0].plan.num, parts[1].plan.num),
        (1000, 10_000)
    );
}

#[test]
fn variants_and_data_sets_are_jobs_of_their_own() {
    let (jobs, _) = of(
        r#"
        data = ["synthetic", "json"]
        [[variant]]
        name = "bloom"
        engines = ["leveldb", "null"]
        bloom_bits = 10
        write_mb = 4
        cache_mb = 128
        ranked = false
        [[section]]
        name = "a"
        variants = ["bloom"]
        engines = ["leveldb", "cairndb"]
        workloads = ["fillseq"]
        "#,
        1,
    );
    let reported: Vec<_> = jobs
        .iter()
        .map(|job| {
            let plan = &job.parts[0].plan;
            let label = job.label.as_deref();
            (label, plan.data.word(), plan.bloom_bits, plan.ranked)
        })
        .collect();
    assert_eq!(
        reported,
        [
            (None, "synthetic".into(), None, true),
            (None, "json".into(), None, true),
            (Some("bloom"), "synthetic".into(), Some(10), false),
            (Some("bloom"), "json".into(), Some(10), false),
        ]
    );
    assert_eq!(jobs[2].engines, Some(vec!["leveldb".to_owned()]));
    assert_eq!(
        jobs[2].parts[0].plan.memory,
        Memory::shares(4 << 20, 128 << 20)
    );
}

#[test]
fn a_comparison_of_directories_needs_two() {
    let text = "[[section]]\nname = \"FS\"\neach_db = true\nworkloads = [\"fillsync\"]\n";
    let (none, left_out) = of(text, 1);
    assert!(none.is_empty() && left_out[0].starts_with("section FS: left out"));
    let (both, left_out) = of(text, 2);
    assert!(left_out.is_empty());
    assert_eq!(
        both.iter().map(|job| job.directory).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn a_killed_row_is_looked_for_by_another_process() {
    let (jobs, _) = of(
        "[[section]]\nname = \"k\"\nkill = true\nworkloads = [\"fillseq\"]\n",
        1,
    );
    let parts = &jobs[0].parts;
    assert_eq!((parts[0].plan.kill, parts[1].plan.kill), (true, false));
    assert_eq!(list(&parts[1]), ["(verify)"]);
    assert!(!jobs[0].latency);
}

#[test]
fn occurrences_are_numbered_over_the_whole_suite() {
    let (jobs, _) = of(
        r#"
        [[section]]
        name = "a"
        workloads = ["fillseq"]
        [[section]]
        name = "b"
        workloads = ["a: fillseq", "fillseq"]
        "#,
        1,
    );
    assert_eq!(list(&jobs[1].parts[0]), ["a fillseq 2", "b fillseq 1"]);
}

#[test]
fn every_suite_has_json_records_and_quick_has_them_in_the_round_that_is_never_left_out() {
    for name in ["leveldb-2011", "wiredtiger", "rocksdb", "ycsb", "scale"] {
        let jobs = built_in(name, None);
        let with = |data: Data| {
            let mut parts = jobs.iter().flat_map(|job| &job.parts);
            parts.any(|part| part.plan.data == data)
        };
        assert!(with(Data::Synthetic) && with(Data::Json), "{name}");
    }
    let jobs = built_in("quick", None);
    let of_json = |job: &&Job| job.parts.iter().any(|part| part.plan.data == Data::Json);
    let json: Vec<&Job> = jobs.iter().filter(of_json).collect();
    assert_eq!(json.len(), 1);
    assert_eq!((json[0].rounds, json[0].latency), (1, false));
    let shown = json[0].parts.iter().flat_map(list).collect::<Vec<_>>();
    assert_eq!(
        shown,
        [
            "1C fillseq 1",
            "1D fillrandom 1",
            "1A readseq 1 as left",
            "1B readrandom 1 as left",
            "4 MB compact 1",
            "1A readseq 2 compacted",
            "1B readrandom 2 compacted",
        ]
    );
}

/// The rows of redb's benchmark that are divided among readers count the same reads.
#[test]
fn shapes_divides_its_reads_among_the_readers_and_has_random_keys_and_values() {
    let jobs = built_in("shapes", Some(320_000));
    let parts = || jobs.iter().flat_map(|job| &job.parts);
    for part in parts() {
        let plan = &part.plan;
        assert_eq!((plan.key_len, plan.value_size), (24, 150));
        assert_eq!(plan.data, Data::Random);
        assert_eq!(plan.memory.total_bytes, 4096 * MIB);
    }
    let readers = parts().filter(|part| part.plan.threads > 1);
    let readers: Vec<_> = readers
        .map(|part| {
            let plan = &part.plan;
            assert_eq!(u64::from(plan.threads) * plan.reads, 320_000);
            plan.threads
        })
        .collect();
    assert_eq!(readers, [4, 8, 16, 32]);
    let peers = ["cairndb", "leveldb", "rocksdb", "lmdb", "redb"];
    for job in &jobs {
        let engines = job.engines.as_deref().expect("named");
        assert!(engines.iter().take(5).eq(&peers), "{}", job.section);
    }
}

const SUITE: &str = r#"
    [[section]]
    name = "skewed"
    distribution = "zipfian"
    before = ["fillrandom"]
    workloads = ["readrandom"]
    [[section]]
    name = "newest"
    over = "skewed"
    distribution = "latest"
    workloads = ["readrandom"]
    [[section]]
    name = "as before"
    over = "skewed"
    seek_nexts = 10
    write_rate = 116
    workloads = ["readrandom"]
    [[section]]
    name = "open"
    data = ["json"]
    value_size = 1000
    key_size = 24
    before = ["fillseq"]
    workloads = ["fillrandom"]
    batch_size = 20
    ops = 0.1
"#;

/// Returns the plans of all parts of a suite, in order.
fn plans(base: &Plan) -> Vec<Plan> {
    let file: File = toml::from_str(SUITE).expect("well formed");
    let (jobs, _) = jobs(&file, asked(Some(700)), base);
    let parts = jobs.into_iter().flat_map(|job| job.parts);
    parts.map(|part| part.plan).collect()
}

#[test]
fn a_distribution_reaches_the_children_of_its_section() {
    let drawn = |flag| -> Vec<Option<Distribution>> {
        let base = Plan {
            distribution: flag,
            ..Plan::default()
        };
        plans(&base).iter().map(|plan| plan.distribution).collect()
    };
    let uniform = Some(Distribution::Uniform);
    let (zipfian, latest) = (Some(Distribution::Zipfian), Some(Distribution::Latest));
    assert_eq!(
        drawn(None),
        [uniform, zipfian, latest, zipfian, uniform, None]
    );
    // The flag applies to sections that do not set it.
    assert_eq!(
        drawn(latest),
        [uniform, zipfian, latest, zipfian, uniform, latest]
    );
}

#[test]
fn a_section_sets_the_entries_after_a_seek_and_the_rate_of_writes() {
    let base = Plan {
        seek_nexts: 3,
        ..Plan::default()
    };
    let read: Vec<u64> = plans(&base).iter().map(|plan| plan.seek_nexts).collect();
    assert_eq!(read, [3, 3, 3, 10, 3, 3]);
    let rates: Vec<u64> = plans(&base)
        .iter()
        .map(|plan| plan.write_rate_limit)
        .collect();
    assert_eq!(rates, [0, 0, 0, 116, 0, 0]);
}

#[test]
fn what_a_suite_says_replaces_what_flags_say() {
    let base = Plan {
        seed: 7,
        num: 5,
        value_size: 9,
        batch_size: 3,
        progress: true,
        ..Plan::default()
    };
    let plans = plans(&base);
    let last = plans.last().expect("a part");
    assert_eq!(last.benchmarks, ["fillrandom"]);
    assert_eq!((last.num, last.writes, last.value_size), (700, 70, 1000));
    assert_eq!((last.reads, last.batch_size, last.key_len), (70, 20, 24));
    let before = &plans[plans.len() - 2];
    assert_eq!(
        (before.reads, before.batch_size, before.key_len),
        (700, 3, 24)
    );
    assert_eq!((&last.data, &last.label), (&Data::Json, &None));
    assert!(last.compression && last.ranked && !last.progress);
    assert_eq!(last.seed, 7, "only a flag sets it");
}
