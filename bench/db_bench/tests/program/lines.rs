//! LevelDB's lines, character for character.

use bench_core::host::test_text::{begins, ends, has};

use crate::common::{command, good, program, run, stderr, stdout};

/// Returns whether `line` has the shape of `name         : number micros/op; rest`.
fn is_result(line: &str, name: &str, rest: &str) -> bool {
    let Some(tail) = line.strip_prefix(&format!("{name:<12} : ")) else {
        return false;
    };
    let Some((number, after)) = tail.split_once(" micros/op;") else {
        return false;
    };
    let digits = number.trim_start();
    number.len() >= 11
        && digits.split_once('.').is_some_and(|(whole, decimals)| {
            decimals.len() == 3
                && (whole.to_owned() + decimals)
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
        })
        && if rest == "MB/s" {
            is_rate(after)
        } else {
            after == rest
        }
}

fn is_rate(after: &str) -> bool {
    let Some(number) = after
        .strip_prefix(' ')
        .and_then(|text| text.strip_suffix(" MB/s"))
    else {
        return false;
    };
    number.len() >= 6 && number.trim_start().parse::<f64>().is_ok()
}

#[test]
fn header_and_results_are_levels() {
    let list = "--benchmarks=fillseq,fillsync,readrandom,readmissing,seekrandom,readseq,deleteseq,compact,crc32c";
    let text = good(&run(&["--engine=null --num=20000", list]));
    let lines: Vec<&str> = text.lines().collect();
    let warning = usize::from(lines[5].starts_with("WARNING: Assertions"));
    assert_eq!(
        lines[..5],
        [
            "Keys:       16 bytes each",
            "Values:     100 bytes each (50 bytes after compression)",
            "Entries:    20000",
            "RawSize:    2.2 MB (estimated)",
            "FileSize:   1.3 MB (estimated)",
        ]
    );
    assert_eq!(lines[5 + warning], "-".repeat(48));
    let expected = [
        ("fillseq", "MB/s"),
        ("readrandom", " (20000 of 20000 found)"),
        ("readmissing", ""),
        ("seekrandom", " (0 of 20000 found)"),
        ("readseq", "MB/s"),
        ("deleteseq", ""),
        ("compact", ""),
    ];
    for (name, rest) in expected {
        let found = lines
            .iter()
            .filter(|line| line.starts_with(name))
            .collect::<Vec<_>>();
        assert_eq!(found.len(), 1, "{name} in {text}");
        // The null engine finds key 0 when it is drawn.
        assert!(
            name == "seekrandom" || is_result(found[0], name, rest),
            "{}",
            found[0]
        );
    }
    let fillsync = lines
        .iter()
        .find(|line| line.starts_with("fillsync "))
        .expect("ran");
    ends(fillsync, " MB/s (200 ops)");
    let crc = lines
        .iter()
        .find(|line| line.starts_with("crc32c "))
        .expect("ran");
    ends(crc, " MB/s (4K per op)");
}

#[test]
fn the_environment_goes_to_stderr() {
    let output = run(&["--engine=null --num=10 --benchmarks=fillseq"]);
    let text = stderr(&output);
    begins(&text, "Null:       version ");
    assert!(
        text.contains("\nDate:       ") && text.contains("\nCPU:        "),
        "{text}"
    );
    assert!(!stdout(&output).contains("version"));
}

#[test]
fn an_unknown_benchmark_is_reported_in_levels_words_and_the_list_goes_on() {
    let output = run(&["--engine=null --num=10 --benchmarks=nosuch,,fillseq"]);
    has(&stderr(&output), "unknown benchmark 'nosuch'\n");
    assert!(stdout(&output).contains("\nfillseq      : "));
    assert_eq!(output.status.code(), Some(1), "not everything was run");
}

/// An unknown name used to be reported after the directory error, with a successful exit status.
#[test]
fn a_slip_of_the_pen_is_reported_before_the_directory_is_looked_at() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("mine.txt"), "mine").expect("written");
    let output = command(home.path(), &["--benchmarks=fillseqq,,nosuch"]).output();
    let output = output.expect("the program starts");
    assert_eq!(
        stderr(&output),
        "unknown benchmark 'fillseqq'; did you mean fillseq?\nunknown benchmark 'nosuch'\n"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).is_empty());
}

/// The directory used to be that of LevelDB's own program, and one engine's directory held those of
/// several.
#[test]
fn without_a_directory_each_engine_has_one_of_its_own() {
    let home = tempfile::tempdir().expect("a directory");
    let run = |words: &[&str]| {
        let mut program = program(words);
        let output = program.env("TEST_TMPDIR", home.path()).output();
        let output = output.expect("the program starts");
        good(&output);
        output
    };
    let leveldbs = home.path().join("dbbench");
    std::fs::create_dir(&leveldbs).expect("created");
    std::fs::write(leveldbs.join("CURRENT"), "MANIFEST-000002\n").expect("written");
    let fill = ["--num=100 --benchmarks=fillseq"];
    run(&[&fill[..], &["--engine=cairndb,null"]].concat());
    run(&fill);
    run(&[&fill[..], &["--engine=null,cairndb"]].concat());
    let read = ["--num=100 --benchmarks=readseq --use_existing_db"];
    assert!(!stderr(&run(&read)).contains("empty database"));
    assert!(home.path().join("db_bench/cairndb").is_dir());
    let reported = stderr(&run(&["--num=100 --benchmarks=readrandom,fillseq,readseq"]));
    assert_eq!(
        reported.matches("reads an empty database").count(),
        1,
        "{reported}"
    );
    has(&reported, "readrandom reads an empty database: ");
}

#[test]
fn a_histogram_follows_its_line() {
    let output = run(&["--engine=null --num=1000 --benchmarks=fillseq --histogram"]);
    let text = stdout(&output);
    let (_, after) = text.split_once("\nfillseq ").expect("the row");
    let lines: Vec<&str> = after.lines().collect();
    assert_eq!(lines[1], "Microseconds per op:");
    begins(lines[2], "Count: 1000  Average: ");
    assert!(
        lines[3].starts_with("Min: ") && lines[3].contains("  Median: "),
        "{}",
        lines[3]
    );
    assert_eq!(lines[4], "-".repeat(54));
    begins(lines[5], "[       0,       1 ) ");
}

#[test]
fn help_and_list_name_flags_engines_and_workloads() {
    let help = stdout(&run(&["--help"]));
    assert!(
        help.contains("--benchmarks (") && help.contains("  readwhilewriting"),
        "{help}"
    );
    let list = stdout(&run(&["--list"]));
    assert!(
        list.contains("  null             version ")
            && list.contains("\n  fillrandbatch          -- "),
        "{list}"
    );
    has(&list, ", not a store: the bare loop of writes and reads\n");
}
