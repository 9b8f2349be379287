use super::*;

fn model() -> (Pool, Model) {
    let pool = Pool::new(0.5);
    let model = Model::new(&pool, 100, 0, &[100, 100_000, 100]);
    (pool, model)
}

#[test]
fn words_name_values_of_each_size() {
    let (pool, model) = model();
    let small = model.sizes(100).expect("made for it");
    let large = model.sizes(100_000).expect("made for it");
    assert!(model.sizes(7).is_none());
    assert_eq!(
        model.expected(small.word(10_485)),
        fold(pool.value(10_485, 100))
    );
    assert_eq!(model.expected(large.word(9)), fold(pool.value(9, 100_000)));
    assert_eq!(model.expected(Word::ABSENT), ABSENT);
}

#[test]
fn scan_expects_what_was_written_in_either_direction() {
    let (pool, model) = model();
    let sizes = model.sizes(100).expect("made for it");
    for index in [3, 50, 99] {
        model.store(index, sizes.word(index * 2));
    }
    let one = |index: usize| {
        bind(
            fold(&key::digits(index as u64)),
            fold(pool.value(index * 2, 100)),
        )
    };
    let all = one(3).wrapping_add(one(50)).wrapping_add(one(99));
    assert_eq!(
        model.scan(u64::MAX, false),
        Expected {
            entries: 3,
            total: all,
            exact: true
        }
    );
    assert_eq!(
        model.scan(1, true),
        Expected {
            entries: 1,
            total: one(99),
            exact: true
        }
    );
    assert_eq!(model.present(), 3);
}

#[test]
fn concurrent_reads_are_judged_loosely_only_around_a_write() {
    let (pool, model) = model();
    let sizes = model.sizes(100).expect("made for it");
    model.store(5, sizes.word(1));
    let right = fold(pool.value(1, 100));
    let wrong = fold(pool.value(2, 100));
    let still = model.load(5);
    assert!(model.allows(still, still, right));
    assert!(!model.allows(still, still, wrong));
    let before = model.begin(5);
    let marked = model.load(5);
    assert!(model.allows(marked, marked, right) && model.allows(marked, marked, wrong));
    assert!(
        !model.allows(marked, marked, wrong ^ 1),
        "never a value that nobody wrote"
    );
    model.end(5, before, sizes.word(2));
    let after = model.load(5);
    assert!(model.allows(after, after, wrong) && !model.allows(after, after, right));
}

#[test]
fn writers_that_met_leave_the_key_ambiguous_until_one_is_alone() {
    let (pool, model) = model();
    let sizes = model.sizes(100).expect("made for it");
    for first_ends_first in [true, false] {
        let first = model.begin(7);
        let second = model.begin(7);
        let mut ends = [(first, 1), (second, 2)];
        if !first_ends_first {
            ends.reverse();
        }
        for (before, ordinal) in ends {
            model.end(7, before, sizes.word(ordinal));
            let word = model.load(7);
            assert!(!word.is_exact() && word.is_present());
            assert!((1..3).all(|value| model.allows(word, word, fold(pool.value(value, 100)))));
        }
        assert!(!model.scan(u64::MAX, false).exact);
        model.store(7, sizes.word(3));
        assert!(model.scan(u64::MAX, false).exact);
    }
}

#[test]
fn restored_words_are_those_kept_and_strange_ones_are_refused() {
    let (_, mut model) = model();
    let sizes = model.sizes(100).expect("made for it");
    model.store(5, sizes.word(44));
    let kept = model.to_bytes();
    model.clear();
    assert!(model.restore(&kept));
    assert_eq!(model.load(5), sizes.word(44));
    assert!(!model.restore(&kept[1..]));
    assert!(!model.restore(&[0xff; 400]));
    assert_eq!(model.load(5), sizes.word(44));
}
