//! What a transaction costs beside the batch that it writes.
//!
//! `cargo bench -p cairndb --bench transactions`. For each size, rounds in turns: a batch, a
//! transaction that only writes, one with snapshot isolation, one that reads each key first and a
//! batch after the same gets from a snapshot. Before each commit another key is written, so that a
//! commit has something to check; its time is not counted. Prints the median of the nanoseconds an
//! entry, their spread, and the ratio to the batch.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::big_endian_bytes,
    reason = "a benchmark reads the clock, prints, and sorts numbers"
)]

use std::time::{Duration, Instant};

use cairndb::{Db, Isolation, Options, Transaction, TransactionOptions, WriteBatch};

const ROUNDS: usize = 15;
/// Number of entries of one round: less than a memtable holds.
const ENTRIES: u32 = 20_000;
const KEYS: u64 = 1_000_000;

fn key(n: u64) -> [u8; 16] {
    let mut key = *b"transaction     ";
    let scattered = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % KEYS;
    key[8..].copy_from_slice(&scattered.to_be_bytes());
    key
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Batch,
    Serializable,
    Snapshot,
    ReadsFirst,
    BatchAfterGets,
}

const WAYS: [(&str, Way); 5] = [
    ("batch", Way::Batch),
    ("transaction, serializable", Way::Serializable),
    ("transaction, snapshot", Way::Snapshot),
    ("transaction, reads first", Way::ReadsFirst),
    ("gets, then batch", Way::BatchAfterGets),
];

struct Bench {
    db: Db,
    value: Vec<u8>,
    next: u64,
}

impl Bench {
    /// Writes `size` entries, and returns the time that took.
    fn once(&mut self, way: Way, size: u64) -> Duration {
        let first = self.next;
        self.next += size;
        let keys = (first..self.next).map(key);
        let begun = Instant::now();
        let (db, value) = (&self.db, &self.value);
        match way {
            Way::Batch | Way::BatchAfterGets => {
                let mut batch = WriteBatch::new();
                let snapshot = (way == Way::BatchAfterGets).then(|| db.snapshot());
                for key in keys {
                    if let Some(snapshot) = &snapshot {
                        snapshot.get(&key).unwrap();
                    }
                    batch.put(&key, value);
                }
                let paused = self.beside();
                db.write(&batch).unwrap();
                begun.elapsed().saturating_sub(paused)
            }
            Way::Serializable | Way::Snapshot | Way::ReadsFirst => {
                let isolation = match way {
                    Way::Snapshot => Isolation::Snapshot,
                    _ => Isolation::Serializable,
                };
                let options = TransactionOptions::new().isolation(isolation);
                let transaction: Transaction = db.transaction_with(&options);
                for key in keys {
                    if way == Way::ReadsFirst {
                        transaction.get(&key).unwrap();
                    }
                    transaction.put(&key, value).unwrap();
                }
                let paused = self.beside();
                transaction.commit().unwrap();
                begun.elapsed().saturating_sub(paused)
            }
        }
    }

    /// Writes another key, and returns the time that took.
    fn beside(&self) -> Duration {
        let begun = Instant::now();
        self.db.put(b"beside", b"").unwrap();
        begun.elapsed()
    }
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new()
        .create_if_missing(true)
        .memory_budget(64 << 20);
    let mut bench = Bench {
        db: options.open(dir.path()).unwrap(),
        value: vec![b'v'; 100],
        next: 0,
    };
    for size in [1_u16, 10, 100, 1000] {
        let mut times = vec![Vec::new(); WAYS.len()];
        for _ in 0..ROUNDS {
            for (times, (_, way)) in times.iter_mut().zip(WAYS) {
                bench.db.flush().unwrap();
                bench.db.wait_idle().unwrap();
                let spent: Duration = (0..ENTRIES / u32::from(size))
                    .map(|_| bench.once(way, u64::from(size)))
                    .sum();
                times.push(spent.as_secs_f64() * 1e9 / f64::from(ENTRIES));
            }
        }
        for times in &mut times {
            times.sort_unstable_by(f64::total_cmp);
        }
        println!("{size} entries each, ns an entry:");
        let batch = times[0][ROUNDS / 2];
        for (times, (name, _)) in times.iter().zip(WAYS) {
            let (least, median, most) = (times[0], times[ROUNDS / 2], times[ROUNDS - 1]);
            println!(
                "  {name:<26} {median:>5.0} ({least:.0} to {most:.0}), {:.2} of the batch",
                median / batch
            );
        }
    }
}
