//! What a place promises, on a server that answers as it should.

use std::thread;

use cairndb_backup::{Object, Place};
use cairndb_base::ErrorKind;

use super::proxy::{Fate, Proxy};
use super::{content, download, endpoint, names, place, upload};

const MIB: usize = 1 << 20;

#[test]
fn an_object_is_created_once() {
    let Some(endpoint) = endpoint() else { return };
    let place = place(&endpoint, "once");
    assert!(place.create("notes/first", b"slate").unwrap());
    assert!(!place.create("notes/first", b"chalk").unwrap());
    assert_eq!(download(&place, "notes/first", 10).unwrap(), b"slate");
    assert!(place.create("notes/empty", b"").unwrap());
    assert!(!place.create("notes/empty", b"chalk").unwrap());
    assert_eq!(download(&place, "notes/empty", 10).unwrap(), b"");
}

#[test]
fn one_of_several_threads_creates_an_object() {
    let Some(endpoint) = endpoint() else { return };
    let (one, other) = (&place(&endpoint, "race"), &place(&endpoint, "race"));
    for round in 0..25_u8 {
        let name = &format!("notes/{round}");
        let created: Vec<bool> = thread::scope(|scope| {
            let create = |thread: u8| {
                let place = [one, other][usize::from(thread % 2)];
                move || place.create(name, &[round, thread]).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|thread| scope.spawn(create(thread))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let found = download(one, name, 10).unwrap();
        assert_eq!(found[0], round);
        let winner = usize::from(found[1]);
        let wanted: Vec<bool> = (0..8).map(|thread| thread == winner).collect();
        assert_eq!(created, wanted, "{name}");
    }
}

#[test]
fn objects_come_back_as_they_went() {
    let Some(endpoint) = endpoint() else { return };
    let place = place(&endpoint, "lengths");
    let lens = [0, 5, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 16 * MIB, 20 * MIB];
    for (seed, len) in (1_u64..).zip(lens) {
        let name = format!("data/{len}");
        let sent = content(seed, len);
        upload(&place, &name, &sent, MIB + 17).unwrap();
        for piece_bytes in [3 * MIB + 7, 8 * MIB, 32 * MIB] {
            let came = download(&place, &name, piece_bytes).unwrap();
            assert!(came == sent, "{name} in pieces of {piece_bytes}");
        }
        assert!(!place.create(&name, b"").unwrap(), "{name} is there");
    }
    let listed: Vec<u64> = place
        .list("data", "")
        .unwrap()
        .iter()
        .map(|one| one.bytes)
        .collect();
    let mut wanted = lens.map(|len| (len.to_string(), len as u64));
    wanted.sort();
    assert_eq!(listed, wanted.map(|(_, len)| len));
    // In one piece, and over another object.
    let sent = content(99, 20 * MIB);
    upload(&place, "data/5", &sent, sent.len()).unwrap();
    assert!(download(&place, "data/5", MIB).unwrap() == sent);
    upload(&place, "data/5", b"short", 1).unwrap();
    assert_eq!(download(&place, "data/5", MIB).unwrap(), b"short");
}

#[test]
fn an_unfinished_upload_leaves_nothing() {
    let Some(endpoint) = endpoint() else { return };
    let proxy = Proxy::start(&endpoint, |_| Fate::Pass);
    let place = place(&proxy.endpoint, "unfinished");
    for (name, len) in [("data/short", 5), ("data/long", 20 * MIB)] {
        let mut upload = place.upload(name).unwrap();
        upload.write(&content(1, len)).unwrap();
        drop(upload);
        let error = place.download(name).err().expect("there is no object");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
    assert_eq!(place.list("data", "").unwrap(), []);
    let aborted = |seen: &super::proxy::Seen| {
        let status = seen.status.as_deref().unwrap_or_default();
        seen.request.starts_with("DELETE ")
            && seen.request.contains("/data/long?uploadId=")
            && status.starts_with("HTTP/1.1 204")
    };
    assert!(
        proxy.seen().iter().any(aborted),
        "the parts were not removed: {:?}",
        proxy.seen()
    );
}

#[test]
fn parts_travel_two_at_a_time() {
    let Some(endpoint) = endpoint() else { return };
    let proxy = Proxy::start(&endpoint, |_| Fate::Delay(50));
    let place = place(&proxy.endpoint, "parts");
    let sent = content(3, 50 * MIB);
    upload(&place, "data/a", &sent, 50 * MIB).unwrap();
    assert!(download(&place, "data/a", 50 * MIB).unwrap() == sent);
    let count = |what: &str| {
        proxy
            .seen()
            .iter()
            .filter(|one| one.request.contains(what))
            .count()
    };
    assert_eq!(
        (count("partNumber="), count("GET ")),
        (7, 7),
        "{:?}",
        proxy.seen()
    );
    assert_eq!(proxy.seen().iter().map(|one| one.at_once).max(), Some(2));
}

#[test]
fn a_long_folder_is_listed_from_any_name_on() {
    let Some(endpoint) = endpoint() else { return };
    let place = &place(&endpoint, "list");
    let name = |n: usize| format!("{n:04}.log");
    let count = 1_150;
    thread::scope(|scope| {
        for first in 0..4 {
            scope.spawn(move || {
                for n in (first..count).step_by(4) {
                    let created = place.create(&format!("many/{}", name(n)), &vec![b'x'; n % 7]);
                    assert!(created.unwrap());
                }
            });
        }
    });
    // Neighbours in the order of names, and what is deeper.
    for other in ["man/1", "many-more/1", "many.log/1", "many/deep/1"] {
        assert!(place.create(other, b"").unwrap());
    }
    let all: Vec<String> = (0..count).map(name).collect();
    assert_eq!(names(place, "many", ""), all);
    assert_eq!(names(place, "many", "0099.log"), all[100..]);
    assert_eq!(names(place, "many", "0099.loh"), all[100..]);
    assert_eq!(names(place, "many", "0099"), all[99..]);
    assert_eq!(names(place, "many", "1148.log"), all[1149..]);
    assert_eq!(names(place, "many", "1149.log"), [""; 0]);
    assert_eq!(names(place, "none", ""), [""; 0]);
    assert_eq!(names(place, "none", "0099.log"), [""; 0]);
    let last = Object {
        name: name(1149),
        bytes: 1149 % 7,
    };
    assert_eq!(place.list("many", "1148.log").unwrap(), [last]);
}

#[test]
fn an_object_is_removed_once_or_twice() {
    let Some(endpoint) = endpoint() else { return };
    let place = place(&endpoint, "remove");
    place.remove("notes/none").unwrap();
    assert!(place.create("notes/a", b"slate").unwrap());
    place.remove("notes/a").unwrap();
    place.remove("notes/a").unwrap();
    let error = place.download("notes/a").err().expect("there is no object");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    let wanted = format!(
        "not found: the place has no such object (file notes/a in {})",
        place.url()
    );
    assert!(text.starts_with(&wanted), "{text}");
    assert!(place.create("notes/a", b"chalk").unwrap());
    assert_eq!(download(&place, "notes/a", 5).unwrap(), b"chalk");
}

#[test]
fn a_replaced_object_is_not_read_on() {
    let Some(endpoint) = endpoint() else { return };
    let place = place(&endpoint, "replaced");
    upload(&place, "data/a", &content(1, 9 * MIB), MIB).unwrap();
    let mut download = place.download("data/a").unwrap();
    let mut piece = vec![0; 8 * MIB];
    assert_eq!(download.read(&mut piece).unwrap(), 8 * MIB);
    upload(&place, "data/a", &content(2, 9 * MIB), MIB).unwrap();
    let error = download.read(&mut piece).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        error.message().contains("replaced while it was read"),
        "{error}"
    );
}
