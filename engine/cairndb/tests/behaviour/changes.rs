//! The feed of changes delivers what was written, in order, once, and says what it does not have.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cairndb::env::random::Random;
use cairndb::{
    BatchEntry, Change, ChangeKind, Changes, ChangesOptions, Db, Durability, ErrorKind,
    KeyspaceOptions, Options, Place, WriteBatch, WriteOptions,
};

use crate::{all, fails, fails_with, mem_db, noise, paths, real_dir, threaded};

/// Returns all changes that can be delivered now.
#[track_caller]
fn ready(changes: &mut Changes) -> Vec<Change> {
    let next = || changes.next_within(Duration::ZERO).unwrap();
    std::iter::from_fn(next).collect()
}

/// Returns one line for each entry of a change.
fn lines(change: &Change) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(20)]).into_owned();
    let entries = match &change.kind {
        ChangeKind::Batch(entries) => entries,
        ChangeKind::Unlogged { entries } => return vec![format!("{entries} unlogged")],
        ChangeKind::KeyspaceCreated { name } => return vec![format!("created {name}")],
        ChangeKind::KeyspaceDropped { name } => return vec![format!("dropped {name}")],
        other => panic!("{other:?}"),
    };
    let line = |(space, entry): (Option<&str>, BatchEntry<'_>)| {
        let space = space.map_or(String::new(), |space| format!("{space}/"));
        match entry {
            BatchEntry::Put { key, value } => format!("{space}{}={}", text(key), text(value)),
            BatchEntry::Delete { key } => format!("{space}{} gone", text(key)),
            BatchEntry::Merge { key, operand } => {
                format!("{space}{}+{}", text(key), text(operand))
            }
            BatchEntry::DeleteRange { from, to } => {
                let to = to.map_or("the end".to_owned(), text);
                format!("{space}{}..{to} gone", text(from))
            }
            other => panic!("{other:?}"),
        }
    };
    entries.iter().map(line).collect()
}

fn delivered(changes: &mut Changes) -> Vec<String> {
    ready(changes)
        .iter()
        .map(|it| lines(it).join(" "))
        .collect()
}

#[test]
fn every_batch_arrives_whole_with_its_keyspaces() {
    let (db, _) = mem_db();
    db.put(b"before", b"0").unwrap();
    let mut changes = db.changes(&ChangesOptions::new()).unwrap();
    assert!(ready(&mut changes).is_empty());
    db.put(b"a", b"1").unwrap();
    let users = db
        .create_keyspace("users", &KeyspaceOptions::new())
        .unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"b", b"2");
    batch.delete(b"a");
    batch.put_in(&users, b"7", b"Ada");
    batch.delete_range_in(&users, &b"8"[..]..);
    batch.delete_range(b"x"..b"y");
    db.write(&batch).unwrap();
    users.put(b"large", &[b'v'; 20_000]).unwrap();
    db.drop_keyspace("users").unwrap();
    db.put(b"c", b"").unwrap();
    assert_eq!(
        delivered(&mut changes),
        [
            "a=1",
            "created users",
            "b=2 a gone users/7=Ada users/8..the end gone x..y gone",
            "users/large=vvvvvvvvvvvvvvvvvvvv",
            "dropped users",
            "c=",
        ]
    );
    assert!(delivered(&mut changes).is_empty());
}

#[test]
fn what_was_not_logged_is_a_gap() {
    let (db, _) = mem_db();
    let mut changes = db.changes(&ChangesOptions::new()).unwrap();
    let unlogged = WriteOptions::new().durability(Durability::None);
    db.put(b"a", b"1").unwrap();
    for n in 0..5 {
        db.put_with(&[n], b"", &unlogged).unwrap();
    }
    // Nothing says yet that these are durable.
    assert_eq!(delivered(&mut changes), ["a=1"]);
    db.put(b"b", b"2").unwrap();
    db.put_with(b"last", b"", &unlogged).unwrap();
    assert_eq!(delivered(&mut changes), ["5 unlogged", "b=2"]);
    db.flush().unwrap();
    assert_eq!(delivered(&mut changes), ["1 unlogged"]);
}

#[test]
fn a_consumer_continues_after_its_place_across_opens() {
    let (db, options) = mem_db();
    let lease = ChangesOptions::new().lease("copy");
    let mut changes = db.changes(&lease).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"2").unwrap();
    let [first, _] = &ready(&mut changes)[..] else {
        panic!("two changes")
    };
    changes.acknowledge(first.place).unwrap();
    drop(changes);
    db.put(b"c", b"3").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);
    for round in 0..3 {
        let db = options.open("/db").unwrap();
        let held: Vec<_> = db
            .leases()
            .unwrap()
            .into_iter()
            .map(|it| (it.name, it.place))
            .collect();
        assert_eq!(held, [("copy".to_owned(), first.place)]);
        // The lease or the place alone, or both.
        let wanted = [
            lease.clone(),
            ChangesOptions::new().after(first.place),
            lease.clone().after(first.place),
        ];
        let mut changes = db.changes(&wanted[round]).unwrap();
        assert_eq!(delivered(&mut changes), ["b=2", "c=3"], "round {round}");
        drop(changes);
        db.close().unwrap();
    }
    let db = options.open("/db").unwrap();
    db.drop_lease("copy").unwrap();
    fails_with(db.drop_lease("copy"), ErrorKind::NotFound, "copy");
    assert!(db.leases().unwrap().is_empty());
    let after = ChangesOptions::new().after(first.place);
    fails(db.changes(&after), ErrorKind::Revoked);
}

/// Places that are of another database, or of writes that were lost.
#[test]
fn a_place_that_was_not_taken_over_is_refused() {
    let (db, options) = mem_db();
    db.put(b"a", b"1").unwrap();
    let place = db.place().unwrap();
    let after = |place| ChangesOptions::new().after(place);
    let beyond = Place {
        seq: place.seq + 1,
        ..place
    };
    fails_with(db.changes(&after(beyond)), ErrorKind::Revoked, "has lost");
    let foreign = Place {
        incarnation: place.incarnation ^ 1,
        ..place
    };
    let error = fails_with(
        db.changes(&after(foreign)),
        ErrorKind::InvalidArgument,
        "of another",
    );
    assert!(error.to_string().contains(&foreign.to_string()), "{error}");
    // A fork takes over what was written before it.
    let snapshot = db.snapshot();
    db.put(b"b", b"2").unwrap();
    let later = db.place().unwrap();
    snapshot.fork("/fork").unwrap();
    let fork = options.open("/fork").unwrap();
    fails(fork.changes(&after(later)), ErrorKind::Revoked);
    let own = fork.place().unwrap();
    assert_ne!(own.incarnation, place.incarnation);
    fails(db.changes(&after(own)), ErrorKind::InvalidArgument);
    for text in ["", "1", "x-1", "0-", "0000000000000001-1-2"] {
        fails(text.parse::<Place>(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_consumer_that_is_too_slow_falls_off_and_begins_again() {
    let (db, options) = mem_db();
    let lease = ChangesOptions::new().lease("slow").bytes_max(300 << 10);
    let mut changes = db.changes(&lease).unwrap();
    let mut random = Random::new(3);
    for n in 0..3000_u32 {
        db.put(&n.to_be_bytes(), &noise(&mut random, 400)).unwrap();
    }
    db.flush().unwrap();
    fails_with(changes.try_next(), ErrorKind::Revoked, "begin again");
    let lease_of = |db: &Db| db.leases().unwrap()[0].clone();
    assert!(lease_of(&db).fell_off, "nothing is held for it");
    // It stays so until it begins again.
    drop(changes);
    db.close().unwrap();
    drop(db);
    let db = options.open("/db").unwrap();
    assert!(lease_of(&db).fell_off);
    fails(db.changes(&lease), ErrorKind::Revoked);
    let (snapshot, mut changes) = db.snapshot_and_changes(&lease).unwrap();
    db.put(b"new", b"1").unwrap();
    assert_eq!(snapshot.iter().count(), 3000);
    assert_eq!(delivered(&mut changes), ["new=1"]);
    assert!(!lease_of(&db).fell_off);
    // A reader without a lease holds the log while it runs.
    let mut reader = db.changes(&ChangesOptions::new()).unwrap();
    for n in 0..3000_u32 {
        db.put(&n.to_be_bytes(), &noise(&mut random, 400)).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(ready(&mut reader).len(), 3000);
    fails(changes.try_next(), ErrorKind::Revoked);
}

/// The consumer waits on another thread; nobody syncs but the database.
#[test]
fn a_waiting_consumer_gets_what_is_written_within_the_interval() {
    let options = threaded();
    let db = options.open("/db").unwrap();
    let mut changes = db.changes(&ChangesOptions::new()).unwrap();
    let consumer_place = Arc::new(Mutex::new(None));
    let reached = Arc::clone(&consumer_place);
    let consumer = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for change in changes.by_ref() {
            match change {
                Ok(change) => {
                    assert_eq!(change.durability, Durability::Sync);
                    seen.push((lines(&change).join(" "), change.time));
                    *reached.lock().unwrap() = Some(change.place.seq);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                    return seen;
                }
            }
        }
        unreachable!("it ends with an error")
    });
    for n in 0..2000_u32 {
        db.put(format!("{n}").as_bytes(), b"").unwrap();
        if n % 500 == 0 {
            db.flush().unwrap();
        }
    }
    // The consumer has everything before this once another one has it.
    let mut other = db.changes(&ChangesOptions::new()).unwrap();
    db.put(b"end", b"").unwrap();
    assert!(
        other
            .next_within(Duration::from_secs(10))
            .unwrap()
            .is_some()
    );
    while consumer_place
        .lock()
        .unwrap()
        .is_none_or(|seq| seq < other.place().seq)
    {
        std::thread::yield_now();
    }
    db.close().unwrap();
    let seen = consumer.join().unwrap();
    let wanted: Vec<String> = (0..2000).map(|n| format!("{n}=")).collect();
    let names: Vec<&String> = seen.iter().map(|(line, _)| line).take(2000).collect();
    assert_eq!(names, wanted.iter().collect::<Vec<_>>());
    assert!(seen.iter().all(|(_, time)| time.is_some()));
}

#[test]
fn a_handle_that_only_reads_has_no_feed() {
    let dir = real_dir();
    let db = Db::open(&dir).unwrap();
    fails_with(
        db.changes(&ChangesOptions::new().lease("")),
        ErrorKind::InvalidArgument,
        "255",
    );
    let unlogged = ChangesOptions::new().durability(Durability::None);
    fails_with(
        db.changes(&unlogged),
        ErrorKind::InvalidArgument,
        "unlogged",
    );
    assert!(all(&db).is_empty());
    db.close().unwrap();
    drop(db);
    let reader = Options::new().read_only(true).open(&dir).unwrap();
    fails(reader.changes(&ChangesOptions::new()), ErrorKind::ReadOnly);
}

/// Polls by hand, with a waker that counts.
#[cfg(feature = "stream")]
#[test]
fn a_stream_wakes_its_consumer_and_ends_with_the_database() {
    use std::pin::pin;
    use std::sync::mpsc::{Sender, channel};
    use std::task::{Context, Poll, Wake};

    use futures_core::Stream;

    struct Signal(Sender<()>);

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    let db = threaded().open("/db").unwrap();
    let changes = db.changes(&ChangesOptions::new()).unwrap();
    let mut stream = pin!(changes.into_stream().unwrap());
    let (sender, woken) = channel();
    let waker = Arc::new(Signal(sender)).into();
    let mut context = Context::from_waker(&waker);
    assert!(stream.as_mut().poll_next(&mut context).is_pending());
    for n in 0..200_u8 {
        db.put(&[n], b"").unwrap();
    }
    let mut seen = 0;
    while seen < 200 {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(change)) => seen += usize::from(lines(&change.unwrap()).len() == 1),
            Poll::Ready(None) => panic!("it ended"),
            Poll::Pending => woken.recv_timeout(Duration::from_secs(10)).unwrap(),
        }
    }
    db.close().unwrap();
    loop {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(ended)) => _ = fails(ended, ErrorKind::Closed),
            Poll::Ready(None) => break,
            Poll::Pending => woken.recv_timeout(Duration::from_secs(10)).unwrap(),
        }
    }
}

#[test]
fn a_write_at_the_end_of_an_interval_is_delivered() {
    let db = threaded().open("/db").unwrap();
    let often = ChangesOptions::new().sync_interval(Duration::from_millis(2));
    let mut changes = db.changes(&often).unwrap();
    for n in 0..200_u32 {
        // While the sync of the last interval ends.
        db.put(&n.to_be_bytes(), b"").unwrap();
        let change = changes.next_within(Duration::from_secs(20)).unwrap();
        assert!(change.is_some(), "change {n}");
    }
}

/// Damage where only a lease needs the log: no open reads it, but `verify` does.
#[test]
fn damage_of_the_log_that_a_lease_keeps_is_found() {
    let dir = real_dir();
    let db = Db::open(&dir).unwrap();
    drop(db.changes(&ChangesOptions::new().lease("copy")).unwrap());
    for value in [&b"first"[..], b"the second"] {
        db.put(b"k", value).unwrap();
        db.flush().unwrap();
    }
    db.close().unwrap();
    let verify = || cairndb::verify(&dir, &Options::new());
    assert_eq!(verify().unwrap().log_versions, 0, "all is in tables");

    let at = |bytes: &[u8]| bytes.windows(10).position(|part| part == b"the second");
    let mut flipped = Vec::new();
    for path in paths(dir.path(), "log") {
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = at(&bytes) {
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            flipped.push((path.file_name().unwrap().to_owned(), at));
        }
    }

    let error = fails(verify(), ErrorKind::Corruption);
    let named = error.file_name().unwrap();
    let (_, flipped) = flipped.iter().find(|(file, _)| *file == *named).unwrap();
    // The record begins shortly before its value.
    let offset = usize::try_from(error.file_offset().unwrap()).unwrap();
    assert!((flipped - 100..*flipped).contains(&offset), "{error}");
    // The consumer gets what is before; everybody else gets everything.
    let db = Db::open(&dir).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"the second"[..]));
    let mut changes = db.changes(&ChangesOptions::new().lease("copy")).unwrap();
    let change = changes.next_within(Duration::ZERO).unwrap().unwrap();
    assert_eq!(lines(&change), ["k=first"]);
    fails(changes.next_within(Duration::ZERO), ErrorKind::Corruption);
    drop(changes);
    // Without the lease nobody needs it.
    db.drop_lease("copy").unwrap();
    db.close().unwrap();
    assert_eq!(verify().unwrap().entries, 1);
}

#[test]
fn a_feed_that_begins_later_has_the_keyspaces_before_it() {
    let (db, _) = mem_db();
    db.put(b"a", b"1").unwrap();
    let place = db.place().unwrap();
    db.create_keyspace("space", &KeyspaceOptions::new())
        .unwrap();
    db.put(b"b", b"2").unwrap();
    db.flush().unwrap();
    let mut changes = db.changes(&ChangesOptions::new().after(place)).unwrap();
    assert_eq!(delivered(&mut changes), ["created space", "b=2"]);
}

#[test]
fn a_lease_may_have_several_consumers() {
    let db = threaded().open("/db").unwrap();
    let lease = ChangesOptions::new().lease("copy");
    let first = db.changes(&lease).unwrap();
    let mut second = db.changes(&lease).unwrap();
    drop(first);
    db.put(b"a", b"1").unwrap();
    // The log is still synced for it.
    let change = second.next_within(Duration::from_secs(20)).unwrap();
    assert!(change.is_some());
}
