use super::*;

fn model() -> (Pool, Model) {
    let pool = Pool::new(0.5, 100);
    let model = Model::new(&pool, 100);
    (pool, model)
}

#[test]
fn words_name_values_of_each_size() {
    let (pool, model) = model();
    let (small, large) = (model.words(Values::Flag), model.words(Values::Large));
    assert_eq!(
        model.expected(small.word(10_485)),
        fold(pool.set(Values::Flag).value(10_485))
    );
    assert_eq!(
        model.expected(large.word(9)),
        fold(pool.set(Values::Large).value(9))
    );
    assert_eq!(model.expected(Word::ABSENT), ABSENT);
}

#[test]
fn the_greater_of_two_values_stays() {
    let (pool, model) = model();
    let (small, large) = (model.words(Values::Flag), model.words(Values::Large));
    for (one, other) in [
        (small.word(3), small.word(4)),
        (small.word(0), large.word(9)),
    ] {
        let bytes = |word| model.value(&pool, word).expect("a value");
        let greater = model.greater(&pool, one, other);
        assert_eq!(bytes(greater), bytes(one).max(bytes(other)));
        assert_eq!(model.greater(&pool, other, one), greater);
        assert_eq!(model.greater(&pool, Word::ABSENT, one), one);
    }
}

#[test]
fn keys_are_added_and_given_up_after_those_of_num() {
    let (_, mut model) = model();
    model.store(99, model.words(Values::Flag).word(1));
    model.grow(300);
    assert_eq!(model.keys(), 300);
    model.store(120, model.words(Values::Flag).word(2));
    model.shrink(121);
    assert_eq!((model.keys(), model.present()), (121, 2));
    let kept = model.to_bytes();
    model.clear();
    assert_eq!((model.keys(), model.present()), (100, 0));
    assert!(model.restore(&kept));
    assert_eq!((model.keys(), model.present()), (121, 2));
    model.shrink(0);
    assert_eq!(model.keys(), 100);
}

#[test]
fn scan_expects_what_was_written_in_either_direction() {
    let (pool, model) = model();
    let words = model.words(Values::Flag);
    for index in [3, 50, 99] {
        model.store(index, words.word(index * 2));
    }
    let one = |index: usize| {
        bind(
            fold(&crate::workload::key::digits(index as u64)),
            fold(pool.set(Values::Flag).value(index * 2)),
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
    let words = model.words(Values::Flag);
    model.store(5, words.word(1));
    let right = fold(pool.set(Values::Flag).value(1));
    let wrong = fold(pool.set(Values::Flag).value(2));
    let still = model.load(5);
    assert!(model.allows(still, still, right));
    assert!(!model.allows(still, still, wrong));
    let before = model.begin(5);
    let marked = model.load(5);
    assert!(model.allows(marked, marked, right) && model.allows(marked, marked, wrong));
    assert!(
        !model.allows(marked, marked, wrong ^ 1),
        "never a value that was not written"
    );
    model.end(5, before, words.word(2));
    let after = model.load(5);
    assert!(model.allows(after, after, wrong) && !model.allows(after, after, right));
}

#[test]
fn writers_that_met_leave_the_key_ambiguous_until_one_is_alone() {
    let (pool, model) = model();
    let words = model.words(Values::Flag);
    for first_ends_first in [true, false] {
        let first = model.begin(7);
        let second = model.begin(7);
        let mut ends = [(first, 1), (second, 2)];
        if !first_ends_first {
            ends.reverse();
        }
        for (before, ordinal) in ends {
            model.end(7, before, words.word(ordinal));
            let word = model.load(7);
            assert!(!word.is_exact() && word.is_present());
            assert!((1..3).all(|value| model.allows(
                word,
                word,
                fold(pool.set(Values::Flag).value(value))
            )));
        }
        assert!(!model.scan(u64::MAX, false).exact);
        model.store(7, words.word(3));
        assert!(model.scan(u64::MAX, false).exact);
    }
}

#[test]
fn restored_words_are_those_kept_and_strange_ones_are_refused() {
    let (_, mut model) = model();
    let words = model.words(Values::Flag);
    model.store(5, words.word(44));
    let kept = model.to_bytes();
    model.clear();
    assert!(model.restore(&kept));
    assert_eq!(model.load(5), words.word(44));
    assert!(!model.restore(&kept[1..]));
    assert!(!model.restore(&[0xff; 400]));
    assert_eq!(model.load(5), words.word(44));
}

#[test]
fn live_bytes_are_those_of_present_keys_and_their_last_values() {
    let (pool, model) = model();
    assert_eq!(model.live_bytes(&pool), 0);
    let (small, large) = (model.words(Values::Flag), model.words(Values::Large));
    model.store(3, small.word(1));
    model.store(3, small.word(2));
    model.store(99, large.word(0));
    model.store(98, small.word(0));
    model.store(98, Word::ABSENT);
    assert_eq!(model.live_bytes(&pool), 16 + 100 + 16 + 100_000);
}
