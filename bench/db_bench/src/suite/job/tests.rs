//! Suite files and the lists made from them.

use super::*;

fn of(text: &str, directories: usize) -> (Vec<Job>, Vec<String>) {
    let file: File = toml::from_str(text).expect("well formed");
    let asked = SuiteFlags {
        num: Some(1000),
        rounds: None,
        directories,
    };
    jobs(&file, asked)
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
    assert_eq!(parts[0].settings.memory, Memory::split(128 << 20, false));
    assert_eq!(parts[1].settings.memory, Memory::split(128 << 20, true));
    assert!(!parts[1].settings.compression, "as in the section below");
    assert_eq!(
        (parts[0].settings.threads, parts[1].settings.threads),
        (1, 2)
    );
    let parts = &jobs[1].parts;
    assert_eq!(list(&parts[0]), ["(fillseq)"]);
    assert_eq!(list(&parts[1]), ["own readrandom 1"]);
    assert_eq!(
        (parts[0].settings.threads, parts[1].settings.threads),
        (1, 4)
    );
    assert_eq!(
        (jobs[0].parts[0].settings.num, parts[1].settings.num),
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
            let settings = &job.parts[0].settings;
            let label = job.label.as_deref();
            (
                label,
                settings.data.as_str(),
                settings.bloom_bits,
                settings.ranked,
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            (None, "synthetic", None, true),
            (None, "json", None, true),
            (Some("bloom"), "synthetic", Some(10), false),
            (Some("bloom"), "json", Some(10), false),
        ]
    );
    assert_eq!(jobs[2].engines, Some(vec!["leveldb".to_owned()]));
    assert_eq!(
        jobs[2].parts[0].settings.memory,
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
    assert_eq!((parts[0].kill, parts[1].kill), (true, false));
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
    let asked = SuiteFlags {
        num: None,
        rounds: None,
        directories: 1,
    };
    for name in ["leveldb-2011", "wiredtiger", "rocksdb", "ycsb", "scale"] {
        let file = file::read(name).expect("well formed");
        let (jobs, _) = jobs(&file, asked);
        let with = |data: &str| {
            let mut parts = jobs.iter().flat_map(|job| &job.parts);
            parts.any(|part| part.settings.data == data)
        };
        assert!(with("synthetic") && with("json"), "{name}");
    }
    let quick = file::read("quick").expect("well formed");
    let (jobs, _) = jobs(&quick, asked);
    let of_json = |job: &&Job| job.parts.iter().any(|part| part.settings.data == "json");
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
    let asked = SuiteFlags {
        num: Some(320_000),
        rounds: None,
        directories: 1,
    };
    let (jobs, _) = jobs(&file::read("shapes").expect("well formed"), asked);
    let parts = || jobs.iter().flat_map(|job| &job.parts);
    for part in parts() {
        let settings = &part.settings;
        assert_eq!((settings.key_size, settings.value_size), (Some(24), 150));
        assert_eq!(settings.data, "random");
        assert_eq!(settings.memory.total_bytes, 4096 * MIB);
    }
    let readers = parts().filter(|part| part.settings.threads > 1);
    let readers: Vec<_> = readers
        .map(|part| {
            let settings = &part.settings;
            assert_eq!(u64::from(settings.threads) * settings.ops, 320_000);
            settings.threads
        })
        .collect();
    assert_eq!(readers, [4, 8, 16, 32]);
    let peers = ["cairndb", "leveldb", "rocksdb", "lmdb", "redb"];
    for job in &jobs {
        let engines = job.engines.as_deref().expect("named");
        assert!(engines.iter().take(5).eq(&peers), "{}", job.section);
    }
}
