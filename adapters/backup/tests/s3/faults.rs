//! A place over a network that loses requests, answers and connections.
//!
//! What an operation reports is compared with what the server has, which is asked directly.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use cairndb_backup::{Objects, Place};
use cairndb_base::{ErrorKind, Result};
use cairndb_env::random::Random;
use cairndb_env::testing::setting::setting;

use super::model::Model;
use super::proxy::{Fate, Proxy};
use super::{download, endpoint, place, upload};

/// Operations, by all clients together.
const OPERATIONS: u64 = 400;
const CLIENTS: u64 = 4;
/// Requests between two outages, on average. In an outage, up to 11 requests fail one after the
/// other, which is more than a client repeats.
const OUTAGE_EVERY: u64 = 60;
/// Names of each kind for each client.
const NAMES: u64 = 12;

#[test]
fn a_lost_answer_hides_that_the_object_was_created() {
    let Some(endpoint) = endpoint() else { return };
    let fates = [
        Fate::Deny(503),
        Fate::Deny(500),
        Fate::CutAnswer(0),
        Fate::CutAnswer(500),
    ];
    for (fate, name) in fates.into_iter().zip(["a/0", "a/1", "a/2", "a/3"]) {
        let mut fates = vec![fate];
        let proxy = Proxy::start(&endpoint, move |head| {
            let planned = head.request().contains(name).then(|| fates.pop()).flatten();
            planned.unwrap_or(Fate::Pass)
        });
        let place = place(&proxy.endpoint, "lost");
        let created = place.create(name, name.as_bytes());
        println!("{fate:?}: {created:?}");
        // The object is there, but not even a repeated request can tell whose it is.
        assert!(!created.unwrap_or(false), "{fate:?}");
        assert_eq!(download(&place, name, 10).unwrap(), name.as_bytes());
    }
}

#[test]
fn a_failed_part_ends_an_upload() {
    let Some(endpoint) = endpoint() else { return };
    let proxy = Proxy::start(&endpoint, |head| {
        if head.request().contains("partNumber=") {
            Fate::Refuse(503)
        } else {
            Fate::Pass
        }
    });
    let place = place(&proxy.endpoint, "failed");
    let mut upload = place.upload("data/a").unwrap();
    let mut write = || upload.write(&super::content(1, 5 << 20));
    let error = (0..20)
        .find_map(|_| write().err())
        .expect("a later write fails");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(
        error
            .to_string()
            .contains("status code: 503 Service Unavailable: Trouble"),
        "{error}"
    );
    assert!(write().unwrap_err().message().contains("failed earlier"));
    assert!(
        upload
            .finish()
            .unwrap_err()
            .message()
            .contains("failed earlier")
    );
    assert_eq!(place.list("data", "").unwrap(), []);
    let aborts = |one: &super::proxy::Seen| one.request.starts_with("DELETE ");
    assert_eq!(proxy.seen().into_iter().filter(aborts).count(), 1);
}

#[test]
fn an_upload_whose_last_answer_is_lost_is_whole() {
    let Some(endpoint) = endpoint() else { return };
    for (fate, name) in [
        (Fate::CutAnswer(500), "data/a"),
        (Fate::Deny(500), "data/b"),
    ] {
        let mut fates = vec![fate];
        let proxy = Proxy::start(&endpoint, move |head| {
            let request = head.request();
            let last = request.starts_with("POST ") && request.contains("uploadId=");
            last.then(|| fates.pop()).flatten().unwrap_or(Fate::Pass)
        });
        let place = place(&proxy.endpoint, "last");
        let sent = super::content(7, 9 << 20);
        // S3 accepts the repeated request, other servers do not know the upload any more.
        let result = upload(&place, name, &sent, 9 << 20);
        println!("{fate:?}: {result:?}");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        }
        assert!(download(&place, name, 9 << 20).unwrap() == sent);
    }
}

#[test]
fn what_an_operation_reports_is_so() {
    let Some(endpoint) = endpoint() else { return };
    let seed = setting("CAIRN_SEED").unwrap_or(61);
    let operations = setting("CAIRN_S3_OPS").unwrap_or(OPERATIONS);
    println!("seed {seed}, {operations} operations");
    let ends: Vec<(Counts, Vec<Fate>)> = thread::scope(|scope| {
        let run = |client: u64| {
            let endpoint = &endpoint;
            move || run(endpoint, seed, client, operations / CLIENTS)
        };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(run(client)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("a client passes"))
            .collect()
    });
    let mut total = Counts::default();
    let mut fates = BTreeMap::<&str, u64>::new();
    for (counts, met) in ends {
        for (what, count) in counts {
            *total.entry(what).or_default() += count;
        }
        for fate in met {
            *fates.entry(fate.name()).or_default() += 1;
        }
    }
    println!("operations {total:?}\nrequests {fates:?}");
    if operations >= OPERATIONS {
        let wanted = [
            "pass",
            "delay",
            "cut request",
            "cut answer",
            "refuse",
            "deny",
            "hang up",
        ];
        assert_eq!(
            fates.into_keys().collect::<BTreeSet<_>>(),
            BTreeSet::from(wanted)
        );
        for what in [
            "create: done",
            "create: failed",
            "create: exists",
            "upload: done",
        ] {
            assert!(total.contains_key(what), "no {what}");
        }
    }
}

/// How often each operation ended how.
type Counts = BTreeMap<&'static str, u64>;

struct Client {
    /// Through the proxy.
    far: Objects,
    /// Directly.
    near: Objects,
    folder: String,
    model: Model,
    random: Random,
    counts: Counts,
    contents: u64,
}

fn run(endpoint: &str, seed: u64, client: u64, operations: u64) -> (Counts, Vec<Fate>) {
    let seed = Random::new(seed.wrapping_mul(CLIENTS) + client).next_u64();
    let mut plan = Random::new(seed.wrapping_add(1));
    let mut outage = 0;
    let proxy = Proxy::start(endpoint, move |_| {
        if outage == 0 && plan.below(OUTAGE_EVERY) == 0 {
            outage = plan.below(12);
        }
        if outage == 0 {
            return Fate::draw(&mut plan);
        }
        outage -= 1;
        loop {
            let fate = Fate::draw(&mut plan);
            if fate.fails() {
                return fate;
            }
        }
    });
    let mut client = Client {
        far: place(&proxy.endpoint, "faults"),
        near: place(endpoint, "faults"),
        folder: format!("client{client}"),
        model: Model::default(),
        random: Random::new(seed),
        counts: Counts::new(),
        contents: seed << 20,
    };
    for _ in 0..operations {
        client.step();
    }
    client.list(true);
    (
        client.counts,
        proxy.seen().into_iter().map(|one| one.fate).collect(),
    )
}

impl Client {
    fn step(&mut self) {
        let made = format!("{}/made{}", self.folder, self.random.below(NAMES));
        let sent = format!("{}/sent{}", self.folder, self.random.below(NAMES));
        match self.random.below(20) {
            0..=7 => self.create(&made),
            8..=11 => self.upload(&sent),
            12 => self.remove(&made),
            13 => self.remove(&sent),
            14 => self.list(false),
            15..=17 => self.download(&made),
            _ => self.download(&sent),
        }
    }

    fn count<T>(&mut self, what: [&'static str; 2], result: &Result<T>) {
        *self
            .counts
            .entry(what[usize::from(result.is_err())])
            .or_default() += 1;
        if let Err(error) = result {
            assert!(matches!(error.kind(), ErrorKind::Io), "{error}");
            let text = error.to_string();
            assert!(text.contains(&self.folder), "{text}");
            assert!(text.contains(self.far.url()), "{text}");
        }
    }

    /// Returns a content that no object had.
    fn content(&mut self, long: bool) -> ((u64, usize), Vec<u8>) {
        self.contents += 1;
        let len = match (long, self.random.below(6)) {
            (true, 0) => (8 << 20) + self.random.index(12 << 20),
            (_, 1) => 0,
            (_, _) => self.random.index(100_000),
        };
        ((self.contents, len), super::content(self.contents, len))
    }

    fn create(&mut self, name: &str) {
        let before = self.model.possible(name);
        let (new, bytes) = self.content(false);
        let result = self.far.create(name, &bytes);
        self.count(["create: done", "create: failed"], &result);
        match result {
            Ok(true) => {
                assert!(before.contains(&None), "{name} was replaced");
                self.model.is(name, Some(new));
                self.model.settle(&self.near, name);
            }
            Ok(false) => {
                // It may be the object of this call, if the answer was lost.
                if before.contains(&None) {
                    self.model.may_be(name, Some(new));
                }
                let found = self.model.settle(&self.near, name);
                assert!(found.is_some(), "{name} does not exist");
                let own = found == Some(new);
                let what = if own {
                    "create: exists, own"
                } else {
                    "create: exists"
                };
                *self.counts.entry(what).or_default() += 1;
            }
            Err(_) => {
                if before.contains(&None) {
                    self.model.may_be(name, Some(new));
                }
                self.model.settle(&self.near, name);
            }
        }
    }

    fn upload(&mut self, name: &str) {
        let (new, bytes) = self.content(true);
        let piece_bytes = 1 + self.random.index(3 << 20);
        let result = upload(&self.far, name, &bytes, piece_bytes);
        self.count(["upload: done", "upload: failed"], &result);
        match result {
            Ok(()) => self.model.is(name, Some(new)),
            Err(_) => self.model.may_be(name, Some(new)),
        }
        self.model.settle(&self.near, name);
    }

    fn remove(&mut self, name: &str) {
        let result = self.far.remove(name);
        self.count(["remove: done", "remove: failed"], &result);
        match result {
            Ok(()) => self.model.is(name, None),
            Err(_) => self.model.may_be(name, None),
        }
        self.model.settle(&self.near, name);
    }

    fn download(&mut self, name: &str) {
        match download(&self.far, name, 300_000) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.model.check(name, None);
            }
            result => {
                self.count(["download: done", "download: failed"], &result);
                if let Ok(bytes) = result {
                    self.model.check(name, Some(&bytes));
                }
            }
        }
    }

    /// Lists the folder, at the end from near.
    fn list(&mut self, end: bool) {
        let result = if end { &self.near } else { &self.far }.list(&self.folder, "");
        self.count(["list: done", "list: failed"], &result);
        if let Ok(objects) = result {
            assert!(objects.is_sorted_by(|one, other| one.name < other.name));
            let found = objects
                .into_iter()
                .map(|object| (object.name, object.bytes))
                .collect();
            self.model.check_list(&self.folder, &found);
        } else {
            assert!(!end, "the server answers");
        }
    }
}
