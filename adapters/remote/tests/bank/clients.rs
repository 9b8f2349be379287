//! The bank: its clients, and the check of its books.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use cairndb_env::random::Random;
use cairndb_env::testing::setting::setting;
use cairndb_env::{Env as _, RealEnv};
use cairndb_remote::open;
use cairndb_store::{Batch, Error, ErrorKind, Scan, Store, StoreExt as _, Value};

const ACCOUNTS: u64 = 100;
const CLIENTS: u64 = 8;
const FIRST_BALANCE: i64 = 1000;
/// Transfers that must succeed between two disturbances.
const PROGRESS: u64 = 20;
/// How long progress may take: an election, a restart, and a busy machine.
const PROGRESS_TIMEOUT: Duration = Duration::from_mins(2);

/// What became of the transfers, by id.
#[derive(Debug, Default)]
struct Books {
    acknowledged: BTreeSet<Vec<u8>>,
    unknown: BTreeSet<Vec<u8>>,
    failed: BTreeSet<Vec<u8>>,
}

pub(crate) struct Bank {
    store: Box<dyn Store>,
    books: Mutex<Books>,
    acknowledged: AtomicU64,
    progress: Condvar,
    ending: AtomicBool,
}

fn account(number: u64) -> Vec<u8> {
    format!("account/{number:03}").into_bytes()
}

fn number(value: Option<&Value>) -> i64 {
    let text = value.map(|value| String::from_utf8_lossy(value).into_owned());
    text.expect("every account exists")
        .parse()
        .expect("a number")
}

impl Bank {
    pub(crate) fn open(url: &str) -> Bank {
        let store = open(url).unwrap_or_else(|error| panic!("{error}"));
        let mut batch = Batch::new();
        for n in 0..ACCOUNTS {
            batch.put(&account(n), FIRST_BALANCE.to_string().as_bytes());
        }
        store.write(&batch).expect("the accounts are opened");
        Bank {
            store,
            books: Mutex::default(),
            acknowledged: AtomicU64::new(0),
            progress: Condvar::new(),
            ending: AtomicBool::new(false),
        }
    }

    /// Runs the clients for `duration`, and disturbs them again and again after some progress.
    pub(crate) fn run(&self, duration: Duration, mut disturb: impl FnMut(usize)) {
        let seed = setting("CAIRN_SEED").unwrap_or(53);
        println!("seed {seed}, {} s", duration.as_secs());
        let clock = RealEnv::default();
        let nanos = u64::try_from(duration.as_nanos()).expect("some minutes");
        let end = clock.now_ns() + nanos;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || self.client(client, seed));
            }
            let mut round = 0;
            while clock.now_ns() < end {
                self.await_progress();
                disturb(round);
                round += 1;
            }
            self.await_progress();
            self.ending.store(true, Ordering::SeqCst);
            println!("{round} disturbances");
        });
    }

    /// Waits until some more transfers have succeeded.
    pub(crate) fn await_progress(&self) {
        let before = self.acknowledged.load(Ordering::SeqCst);
        let books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let (held, waited) = self
            .progress
            .wait_timeout_while(books, PROGRESS_TIMEOUT, |_| {
                self.acknowledged.load(Ordering::SeqCst) < before + PROGRESS
            })
            .unwrap_or_else(PoisonError::into_inner);
        drop(held);
        assert!(!waited.timed_out(), "no progress");
    }

    fn client(&self, client: u64, seed: u64) {
        let mut random = Random::new(seed + client);
        let mut count = 0;
        while !self.ending.load(Ordering::SeqCst) {
            let id = format!("transfer/{client}/{count:06}").into_bytes();
            count += 1;
            let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
            let amount = i64::try_from(random.below(10)).unwrap_or(1);
            let result = self.transfer(&id, from, to, amount);
            let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
            match result.map_err(|error| (error.kind(), error)) {
                Ok(()) => {
                    books.acknowledged.insert(id);
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    self.progress.notify_all();
                }
                Err((ErrorKind::OutcomeUnknown, _)) => {
                    books.unknown.insert(id);
                }
                Err((
                    ErrorKind::Unavailable
                    | ErrorKind::DeadlineExceeded
                    | ErrorKind::Conflict
                    | ErrorKind::SnapshotExpired,
                    _,
                )) => {
                    books.failed.insert(id);
                }
                Err((_, error)) => {
                    // Ends the other clients too.
                    self.ending.store(true, Ordering::SeqCst);
                    panic!("an error that nobody can handle: {error}");
                }
            }
        }
    }

    fn transfer(&self, id: &[u8], from: u64, to: u64, amount: i64) -> Result<(), Error> {
        let (source, target) = (account(from), account(to));
        self.store.transact(|transaction| {
            let found = transaction.multi_get(&[&source, &target, id])?;
            assert!(found[2].is_none(), "the transfer was applied before");
            transaction.put(id, format!("{from} {to} {amount}").as_bytes())?;
            if from != to {
                let paid = number(found[0].as_ref()) - amount;
                let received = number(found[1].as_ref()) + amount;
                transaction.put(&source, paid.to_string().as_bytes())?;
                transaction.put(&target, received.to_string().as_bytes())?;
            }
            Ok(())
        })
    }

    /// Compares one snapshot with the books.
    pub(crate) fn check(&self) {
        let books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.store.snapshot().expect("the engine answers");
        let scan = |prefix: &[u8]| -> BTreeMap<Vec<u8>, String> {
            let entries = snapshot.scan(&Scan::prefix(prefix)).expect("a scan");
            let text = |value: Value| String::from_utf8_lossy(&value).into_owned();
            entries
                .map(|entry| entry.expect("an entry"))
                .map(|(key, value)| (key.into_vec(), text(value)))
                .collect()
        };
        let transfers = scan(b"transfer/");
        let mut expected = vec![FIRST_BALANCE; usize::try_from(ACCOUNTS).unwrap_or(0)];
        for transfer in transfers.values() {
            let parts: Vec<i64> = transfer
                .split(' ')
                .map(|part| part.parse().expect("a number"))
                .collect();
            let index = |n: i64| usize::try_from(n).expect("an account");
            expected[index(parts[0])] -= parts[2];
            expected[index(parts[1])] += parts[2];
        }
        let found: Vec<i64> = scan(b"account/")
            .values()
            .map(|balance| balance.parse().expect("a number"))
            .collect();
        assert_eq!(
            found, expected,
            "the balances are not the sum of the transfers"
        );
        assert_eq!(found.iter().sum::<i64>(), FIRST_BALANCE * 100);
        for id in &books.acknowledged {
            assert!(transfers.contains_key(id), "lost: {}", id.escape_ascii());
        }
        for id in &books.failed {
            assert!(
                !transfers.contains_key(id),
                "not refused: {}",
                id.escape_ascii()
            );
        }
        let applied = books
            .unknown
            .iter()
            .filter(|id| transfers.contains_key(*id));
        println!(
            "{} acknowledged, {} failed, {} unknown of which {} were applied",
            books.acknowledged.len(),
            books.failed.len(),
            books.unknown.len(),
            applied.count()
        );
        let known = books.acknowledged.len() + books.unknown.len();
        assert!(transfers.len() <= known, "a transfer that nobody made");
    }
}
