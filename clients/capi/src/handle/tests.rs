//! Every way to misuse a handle is an error, also from several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb::ErrorKind;

use super::*;

/// A shared object that counts how many of its kind live.
struct Counted {
    alive: Arc<AtomicUsize>,
    number: usize,
}

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, number: usize) -> Counted {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted {
            alive: Arc::clone(alive),
            number,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Object for Counted {
    const KIND: HandleKind = HandleKind::Snapshot;
}

impl SharedObject for Counted {}

/// An exclusive object.
struct Number(usize);

impl Object for Number {
    const KIND: HandleKind = HandleKind::Batch;
}

fn kind_of<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.kind(),
    }
}

fn number_of(handle: Handle) -> Result<usize, Error> {
    with_shared(handle, |counted: &Counted| Ok(counted.number))
}

/// A destruction frees what earlier ones had to leave, unless another test is just doing that.
fn all_are_freed(alive: &Arc<AtomicUsize>) {
    for _ in 0..1_000_000 {
        let next = insert(Counted::new(alive, 0)).unwrap();
        destroy::<Counted>(next).unwrap();
        if alive.load(Ordering::Relaxed) == 0 {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{} objects are never freed", alive.load(Ordering::Relaxed));
}

#[test]
fn a_destroyed_handle_is_closed_and_its_slot_is_used_again() {
    let alive = Arc::default();
    let first = insert(Counted::new(&alive, 1)).unwrap();
    assert_eq!(number_of(first).unwrap(), 1);
    destroy::<Counted>(first).unwrap();
    all_are_freed(&alive);
    assert_eq!(kind_of(number_of(first)), ErrorKind::Closed);
    assert_eq!(kind_of(destroy::<Counted>(first)), ErrorKind::Closed);
    let second = insert(Counted::new(&alive, 2)).unwrap();
    assert_ne!(first, second);
    assert_eq!(kind_of(number_of(first)), ErrorKind::Closed);
    assert_eq!(number_of(second).unwrap(), 2);
    destroy::<Counted>(second).unwrap();
}

#[test]
fn handles_of_other_kinds_and_numbers_of_the_caller_are_invalid() {
    let batch = insert(Number(7)).unwrap();
    assert_eq!(kind_of(number_of(batch)), ErrorKind::InvalidArgument);
    assert_eq!(kind_of(number_of(Handle::NULL)), ErrorKind::InvalidArgument);
    assert_eq!(kind_of(entry_of(batch)), ErrorKind::InvalidArgument);
    for bits in [1, 8, 11, u64::MAX, 1 << 40, 0x7fff_1234_5678] {
        let refused = kind_of(number_of(Handle(bits)));
        assert!(
            matches!(refused, ErrorKind::InvalidArgument | ErrorKind::Closed),
            "{bits:x}"
        );
        let taken = with_exclusive(Handle(bits), |_, _: &mut Number| Ok(()));
        let refused = kind_of(taken);
        assert!(
            matches!(refused, ErrorKind::InvalidArgument | ErrorKind::Closed),
            "{bits:x}"
        );
        assert!(destroy::<Number>(Handle(bits)).is_err());
    }
    destroy::<Number>(batch).unwrap();
}

/// Regression: the number of a slot that was never used was taken for a handle that a panic had
/// poisoned, if other slots beside it were in use.
#[test]
fn numbers_of_slots_that_were_never_used_are_invalid() {
    let batch = insert(Number(7)).unwrap();
    for slot in 0..64 {
        let bits = slot << KIND_BITS | HandleKind::Snapshot as u64;
        let refused = kind_of(number_of(Handle(bits)));
        assert_eq!(refused, ErrorKind::InvalidArgument, "slot {slot}");
    }
    destroy::<Number>(batch).unwrap();
}

#[test]
fn an_exclusive_object_has_one_user_at_a_time() {
    let batch = insert(Number(7)).unwrap();
    let inner = with_exclusive(batch, |_, number: &mut Number| {
        number.0 += 1;
        let again = with_exclusive(batch, |_, _: &mut Number| Ok(()));
        assert_eq!(kind_of(again), ErrorKind::InvalidArgument);
        assert_eq!(
            kind_of(destroy::<Number>(batch)),
            ErrorKind::InvalidArgument
        );
        Ok(number.0)
    });
    assert_eq!(inner.unwrap(), 8);
    destroy::<Number>(batch).unwrap();
}

#[test]
fn a_panic_poisons_the_handle_and_nothing_else() {
    let alive = Arc::default();
    let (shared, batch) = (
        insert(Counted::new(&alive, 1)).unwrap(),
        insert(Number(7)).unwrap(),
    );
    let other = insert(Number(8)).unwrap();
    let panicked = with_shared(shared, |_: &Counted| -> Result<(), Error> {
        panic!("boom {}", 1)
    });
    let error = panicked.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned);
    assert!(error.to_string().contains("boom 1"), "{error}");
    let panicked = with_exclusive(batch, |_, _: &mut Number| -> Result<(), Error> {
        panic!("boom")
    });
    assert_eq!(kind_of(panicked), ErrorKind::Poisoned);
    assert_eq!(kind_of(number_of(shared)), ErrorKind::Poisoned);
    let used = with_exclusive(batch, |_, number: &mut Number| Ok(number.0));
    assert_eq!(kind_of(used), ErrorKind::Poisoned);
    let used = with_exclusive(other, |_, number: &mut Number| Ok(number.0));
    assert_eq!(used.unwrap(), 8);
    destroy::<Counted>(shared).unwrap();
    destroy::<Number>(batch).unwrap();
    destroy::<Number>(other).unwrap();
    all_are_freed(&alive);
}

#[test]
fn an_object_lives_until_its_last_call_returns() {
    let alive = Arc::default();
    let handle = insert(Counted::new(&alive, 1)).unwrap();
    with_shared(handle, |counted: &Counted| {
        // As a callback or another thread would.
        destroy::<Counted>(handle)?;
        assert_eq!(alive.load(Ordering::Relaxed), 1);
        assert_eq!(counted.number, 1);
        Ok(())
    })
    .unwrap();
    assert_eq!(kind_of(number_of(handle)), ErrorKind::Closed);
    all_are_freed(&alive);
}

#[test]
fn calls_within_calls_end_in_an_error_not_in_memory_of_others() {
    fn nested(handle: Handle, depth: usize) -> Result<usize, Error> {
        with_shared(handle, |_: &Counted| match nested(handle, depth + 1) {
            Err(error) if error.kind() == ErrorKind::InvalidArgument => Ok(depth),
            deeper => deeper,
        })
    }
    let handle = insert(Counted::new(&Arc::default(), 1)).unwrap();
    assert!(nested(handle, 1).unwrap() >= 8);
    assert_eq!(number_of(handle).unwrap(), 1);
    destroy::<Counted>(handle).unwrap();
}

/// Four threads read through handles that four others replace at the same time.
#[test]
fn readers_never_see_an_object_of_another_handle() {
    const ROUNDS: usize = 300;
    let alive = Arc::default();
    let places: Vec<_> = (0..4)
        .map(|_| std::sync::atomic::AtomicU64::new(0))
        .collect();
    std::thread::scope(|scope| {
        for (place, at) in places.iter().zip(0..) {
            let alive = &alive;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let handle = insert(Counted::new(alive, round * 4 + at)).unwrap();
                    place.store(handle.0, Ordering::Release);
                    std::thread::yield_now();
                    destroy::<Counted>(handle).unwrap();
                }
                place.store(u64::MAX, Ordering::Release);
            });
            scope.spawn(move || {
                loop {
                    let bits = place.load(Ordering::Acquire);
                    if bits == u64::MAX {
                        break;
                    }
                    match number_of(Handle(bits)) {
                        Ok(number) => assert_eq!(number % 4, at),
                        Err(error) if bits == 0 => {
                            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Closed, "{error}"),
                    }
                }
            });
        }
    });
    all_are_freed(&alive);
}

#[test]
fn a_slot_without_further_generations_is_left_out() {
    let handle = Handle::new(3, GENERATION_MAX, HandleKind::Batch);
    assert_eq!((handle.slot(), handle.generation()), (3, GENERATION_MAX));
    assert!(handle.is_of(HandleKind::Batch) && !handle.is_of(HandleKind::Database));
    assert_eq!(
        handle.live_state() >> STATE_GENERATION_SHIFT,
        GENERATION_MAX
    );
}
