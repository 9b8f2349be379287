//! Cursors under orders that are none.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use cairndb::{Comparator, Cursor};

use crate::{appending, stepped};

/// Bytewise order until `on` is set. After that, keys that start with `lies` sort on the other side
/// of the hot key.
#[derive(Debug)]
struct Changed {
    lies: u8,
    on: AtomicBool,
}

const HOT: &[u8] = b"q hot";

impl Comparator for Changed {
    fn name(&self) -> &'static str {
        "test.Changed"
    }
    fn equality_is_identity(&self) -> bool {
        true
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = a.cmp(b);
        let lies = |key: &[u8], other: &[u8]| other == HOT && key.first() == Some(&self.lies);
        if self.on.load(Memory::Relaxed) && (lies(a, b) || lies(b, a)) {
            order.reverse()
        } else {
            order
        }
    }
}

/// Regression: a repositioned source could return to an earlier position of the cursor, and the
/// cursor never reached an end.
#[test]
fn cursors_end_under_a_comparator_that_changes() {
    for (lies, flushed) in [(b'p', false), (b'p', true), (b'z', false), (b'z', true)] {
        let on = AtomicBool::new(false);
        let order = Arc::new(Changed { lies, on });
        let options = stepped().comparator(order.clone());
        let db = options.memory_budget(16 << 20).open("/db").unwrap();
        let mut kept = Vec::new();
        for n in 0..60u8 {
            db.put(HOT, &[n; 3]).unwrap();
            kept.push(db.snapshot());
        }
        let other = |n: u32| [&[lies][..], format!("{n:04}").as_bytes()].concat();
        (0..300).for_each(|n| db.put(&other(n), b"").unwrap());
        kept.push(db.snapshot());
        (0..300).for_each(|n| db.delete(&other(n)).unwrap());
        db.delete(HOT).unwrap();
        if flushed {
            db.flush().unwrap();
        }
        order.on.store(true, Memory::Relaxed);
        // The results are undefined, but the calls must return.
        let mut cursor = db.cursor();
        let _ = cursor.seek_to_first();
        let _ = cursor.seek_to_last();
        for snapshot in &kept {
            let mut cursor = snapshot.cursor();
            let _ = cursor.seek_to_first();
            let _ = cursor.next();
            let _ = cursor.seek_to_last();
            let _ = cursor.prev();
        }
    }
}

/// An order in which one key is not equal to itself, like a floating-point NaN.
#[derive(Debug)]
struct Irreflexive;

impl Comparator for Irreflexive {
    fn name(&self) -> &'static str {
        "test.Irreflexive"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b"nan" {
            Ordering::Less
        } else {
            a.cmp(b)
        }
    }
}

#[test]
fn cursors_end_if_a_key_is_not_equal_to_itself() {
    for flushed in [false, true] {
        for operands in [false, true] {
            let options = appending().comparator(Arc::new(Irreflexive));
            let db = options.open("/db").unwrap();
            for other in [&b"a"[..], b"z", b"nan"] {
                db.put(other, b"1").unwrap();
                if operands {
                    db.merge(other, b"2").unwrap();
                }
            }
            if flushed {
                // Writing a table may fail for keys that are out of order.
                let _ = db.flush();
            }
            for other in [&b"a"[..], b"z", b"nan"] {
                let _ = db.get(other);
            }
            walk(db.cursor(), Cursor::seek_to_first, Cursor::next);
            walk(db.cursor(), Cursor::seek_to_last, Cursor::prev);
            let _ = db.compact_range(..);
        }
    }
}

type Move = fn(&mut Cursor) -> cairndb::Result<()>;

/// Checks that a walk over three keys ends.
fn walk(mut cursor: Cursor, first: Move, step: Move) {
    let _ = first(&mut cursor);
    let steps = (0..20).take_while(|_| cursor.valid() && step(&mut cursor).is_ok());
    assert!(steps.count() < 20);
}
