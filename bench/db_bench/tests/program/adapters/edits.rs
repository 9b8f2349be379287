//! The contract of calls that find entries and change them: pops, extraction, batches with
//! removals, iteration, and a sync of earlier writes.

use bench_core::engine::{End, Engine, Session as _, Store};

use super::{Map, ROLE, key};

/// Changes the store and the model in the same way, and compares what the calls find.
pub(super) fn check_edits(engine: &impl Engine, store: &impl Store, model: &mut Map) {
    let able = engine.capabilities();
    let mut session = store.session(ROLE).expect("a session");
    let mut seen = Vec::new();
    for limit in [usize::MAX, 5] {
        seen.clear();
        let each = |key: &[u8], value: &[u8]| {
            seen.push((key.to_vec(), value.to_vec()));
            seen.len() < limit
        };
        session.iterate(each).expect("iterated");
        assert!(
            seen.iter()
                .map(|(key, value)| (key, value))
                .eq(model.iter().take(limit))
        );
    }
    let ends: &[End] = if able.reverse {
        &[End::First, End::Last, End::Last, End::First]
    } else {
        &[End::First]
    };
    for &end in ends {
        let popped = session.pop(end, |key, value| (key.to_vec(), value.to_vec()));
        let expected = match end {
            End::First => model.pop_first(),
            End::Last => model.pop_last(),
        };
        assert_eq!(popped.expect("popped"), expected);
    }
    if able.batch {
        // A batch may delete what it has put, and the reverse.
        session.batch_put(&key(100), b"in vain").expect("added");
        session.batch_delete(&key(100)).expect("added");
        session.batch_delete(&key(102)).expect("added");
        session.batch_put(&key(102), b"stays").expect("added");
        session.batch_delete(&key(999)).expect("absent, but added");
        session.batch_write().expect("written");
        model.remove(&key(100));
        model.insert(key(102), b"stays".to_vec());
    }
    if able.batch && able.seek {
        let mut visited = Vec::new();
        let wanted = |key: &[u8], _: &[u8]| {
            visited.push(key.to_vec());
            visited.len().is_multiple_of(3)
        };
        let (from, to) = (key(200), key(400));
        session.extract((&from, &to), wanted).expect("extracted");
        let expected: Vec<Vec<u8>> = model.range(from..to).map(|(key, _)| key.clone()).collect();
        assert_eq!(visited, expected);
        for key in expected.iter().skip(2).step_by(3) {
            model.remove(key);
        }
    }
    if able.sync_later {
        session.sync().expect("synced");
    }
}

/// Takes all entries from both ends in turn, and then finds none.
pub(super) fn drain(store: &impl Store, mut model: Map) {
    let mut session = store.session(ROLE).expect("a session");
    let mut end = End::First;
    loop {
        let popped = session.pop(end, |key, _| key.to_vec()).expect("popped");
        let expected = match end {
            End::First => model.pop_first(),
            End::Last => model.pop_last(),
        };
        assert_eq!(popped, expected.map(|(key, _)| key));
        if popped.is_none() {
            break;
        }
        end = if end == End::First {
            End::Last
        } else {
            End::First
        };
    }
}
