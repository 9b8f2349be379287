use super::*;

#[test]
fn limits_are_levels_154() {
    let limits = limits();
    assert_eq!(limits.len(), 154);
    let first: Vec<f64> = limits[..22].to_vec();
    let expected = [
        1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 25.0,
        30.0, 35.0, 40.0, 45.0, 50.0, 60.0,
    ];
    assert_eq!(first, expected);
    assert_eq!(limits[151..], [8e9, 9e9, 1e200]);
    assert!(limits.is_sorted());
}

#[test]
fn text_is_levels() {
    let mut histogram = Histogram::new();
    for ns in [500, 1_000, 1_500, 2_500, 11_000] {
        histogram.add(ns);
    }
    let expected = "\
Count: 5  Average: 3.3000  StdDev: 3.91
Min: 0.5000  Median: 1.7500  Max: 11.0000
------------------------------------------------------
[       0,       1 )       1  20.000%  20.000% ####
[       1,       2 )       2  40.000%  60.000% ########
[       2,       3 )       1  20.000%  80.000% ####
[      10,      12 )       1  20.000% 100.000% ####
";
    assert_eq!(histogram.to_text(), expected);
}

#[test]
fn fine_buckets_cover_every_time_in_order() {
    let mut last = 0;
    for ns in
        (0..5_000u64).chain((13..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]))
    {
        let bucket = fine_bucket(ns);
        assert!(bucket >= last && bucket < FINE_BUCKETS, "{ns}");
        let limit = fine_limit(bucket);
        assert!(
            limit >= ns && limit - ns <= ns / 64,
            "{ns} in a bucket up to {limit}"
        );
        last = bucket;
    }
}

#[test]
fn percentiles_are_within_the_width_of_a_bucket() {
    let mut histogram = Histogram::new();
    for ns in 1..=100_000 {
        histogram.add(ns);
    }
    for (per_million, exact) in [(500_000, 50_000), (990_000, 99_000), (999_900, 99_990)] {
        let given = histogram.percentile_ns(per_million);
        assert!(
            given >= exact && given <= exact + exact / 50,
            "{given} for {exact}"
        );
    }
    assert_eq!(histogram.percentile_ns(1_000_000), 100_000);
    assert_eq!(Histogram::new().percentile_ns(500_000), 0);
}
