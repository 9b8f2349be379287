use super::*;
use crate::flags::FAMILY;

fn config(line: &str) -> Result<Config, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Config::new(&Given::parse(&FAMILY, &words).expect(line))
}

#[test]
fn nothing_said_is_the_classic_program_over_the_lru_cache() {
    let config = config("").expect("defaults");
    assert_eq!((config.caches, config.rounds), (vec!["lru".to_owned()], 1));
    let plan = config.plan;
    assert_eq!(
        (plan.threads, plan.ops_per_thread, plan.latency_ops),
        (16, 1_200_000, 120_000)
    );
    assert_eq!(
        (plan.cache_bytes, plan.max_key, plan.value_bytes),
        (8 << 20, 1 << 30, 10)
    );
    assert_eq!((plan.shard_bits, plan.skew, plan.seed), (Some(4), 0, 1000));
    assert_eq!(
        (plan.mix.insert, plan.mix.lookup, plan.mix.erase),
        (40, 50, 10)
    );
    assert!(!plan.populate && !plan.hold && !plan.lean);
}

#[test]
fn the_modern_profile_derives_its_keys() {
    let plan = config("--profile=modern").expect("defaults").plan;
    assert_eq!(
        (plan.max_key, plan.value_bytes, plan.skew),
        (524_288, 8192, 5)
    );
    assert_eq!(plan.mix.lookup_insert, 87);
    assert!(plan.populate && plan.hold);
    let plan = config("--cache_size=1000 --resident_ratio=2 --value_bytes=1000")
        .expect("few")
        .plan;
    assert_eq!(plan.max_key, 1, "at least one key");
    let plan = config("--max_key=77 --skew=1 --num_shard_bits=-1")
        .expect("both")
        .plan;
    assert_eq!((plan.max_key, plan.shard_bits), (77, None));
    let plan = config("--profile=classic --resident_ratio=0.5 --cache_size=1000")
        .expect("asked")
        .plan;
    assert_eq!(plan.max_key, 200);
}

#[test]
fn percentages_that_do_not_add_up_are_refused() {
    let error = config("--insert_percent=50").expect_err("110");
    assert_eq!(
        error,
        "Percentages must add to 100: lookup_insert_percent=0 insert_percent=50 blind_insert_percent=0 \
         lookup_percent=50 erase_percent=10 add to 110 (--profile=classic)"
    );
    assert!(
        config("--blind_insert_percent=5")
            .expect_err("105")
            .contains("add to 105 (--profile=modern)")
    );
    assert!(config("--blind_insert_percent=5 --lookup_insert_percent=82").is_ok());
}

#[test]
fn caches_are_named_once_and_rightly() {
    let names = |line: &str| config(line).expect(line).caches;
    assert_eq!(names("--cache=moka,lru"), ["moka", "lru"]);
    assert_eq!(names("--cache=all"), NAMES);
    assert!(!config("--cache=all").expect("all").named);
    assert_eq!(names("--use_clock_cache"), ["clock"]);
    assert_eq!(names("--cache_type=lru_cache"), ["lru"]);
    assert_eq!(names("--cache_type=hyper_clock_cache"), ["clock"]);
    let error = |line| config(line).expect_err("refused");
    assert_eq!(
        error("--cache=mocha"),
        "--cache=mocha: null, lru, clock, quick_cache, moka, rocksdb_lru, rocksdb_hyper_clock or all is \
         allowed; did you mean moka?"
    );
    assert!(error("--cache=").starts_with("--cache=: null, lru, "));
    assert_eq!(
        error("--cache=lru,lru"),
        "--cache=lru,lru: lru is named twice"
    );
    assert_eq!(
        error("--use_clock_cache --cache=lru"),
        "--use_clock_cache and --cache=lru both name a cache: give only one"
    );
}

#[test]
fn the_latency_pass_is_a_tenth_or_as_asked() {
    let ops = |line: &str| config(line).expect(line).plan.latency_ops;
    assert_eq!(ops("--ops_per_thread=5"), 1);
    assert_eq!(ops("--latency_ops=9"), 9);
    assert_eq!(ops("--latency_ops=0"), 0);
    assert_eq!(ops("--nohistograms"), 0);
    assert!(config("--seed=0").expect("chosen").plan.seed > 0);
}
