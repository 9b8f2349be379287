//! Databases against goleveldb 1.0.0, another implementation of the format, in Go: what it writes
//! is read and converted here, and what is written here it reads, with equal contents both ways.
//!
//! `make compat` builds the program in `goleveldb/` and runs these tests.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_GOLEVELDB` | the program |
//! | `CAIRN_SEED` | the first seed, 1 by default |
//! | `CAIRN_ROUNDS` | number of rounds, 60 by default |

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "common/noise.rs"]
mod noise;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cairndb_env::{Env as _, RealEnv};
use cairndb_leveldb::{
    Codec, Database, NewDatabase, Order, Orders, ReadOptions, ReverseOrder, TableOptions,
    WriteOptions,
};

use cairndb_env::testing::setting::setting;
use noise::Noise;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn rounds() -> std::ops::Range<u64> {
    let first = setting("CAIRN_SEED").unwrap_or(1);
    first..first + setting("CAIRN_ROUNDS").unwrap_or(60)
}

fn program() -> Command {
    let program = std::env::var_os("CAIRN_GOLEVELDB").expect("make compat sets it");
    Command::new(program)
}

/// The order of the keys: LevelDB's own, or its reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Bytewise,
    Reverse,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Direction::Bytewise => "bytewise",
            Direction::Reverse => "reverse",
        }
    }

    fn reverse() -> Arc<ReverseOrder> {
        Arc::new(ReverseOrder::of("example.reverse", Order::Bytewise))
    }

    fn order(self) -> Order {
        match self {
            Direction::Bytewise => Order::Bytewise,
            Direction::Reverse => Order::Custom(Direction::reverse()),
        }
    }

    fn sorted(self, entries: &Entries) -> Pairs {
        let mut pairs: Pairs = entries.clone().into_iter().collect();
        if self == Direction::Reverse {
            pairs.reverse();
        }
        pairs
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("x"), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix('x').unwrap();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn key(noise: &mut Noise, keys: usize) -> Vec<u8> {
    let number = noise.below(keys);
    match number % 3 {
        0 => format!("{number:08}").into_bytes(),
        1 => format!("shared/prefix/{number}").into_bytes(),
        _ => vec![0xff; number % 40],
    }
}

/// Draws commands for goleveldb. Returns them and what the database must then hold.
fn commands(noise: &mut Noise) -> (String, Entries) {
    let (keys, value_bytes) = (noise.pick(&[5, 300, 5000]), noise.pick(&[10, 300, 20_000]));
    let (mut text, mut entries) = (String::new(), Entries::new());
    for _ in 0..noise.pick(&[1, 20, 120]) {
        for _ in 0..=noise.below(30) {
            let key = key(noise, keys);
            if noise.below(4) == 0 {
                writeln!(text, "d {}", hex(&key)).unwrap();
                entries.remove(&key);
            } else {
                let len = noise.below(value_bytes);
                let value = if noise.below(2) == 0 {
                    noise.bytes(len)
                } else {
                    vec![7; len]
                };
                writeln!(text, "p {} {}", hex(&key), hex(&value)).unwrap();
                entries.insert(key, value);
            }
        }
        text.push_str("w\n");
        match noise.below(12) {
            0 => text.push_str("compact\n"),
            1 => text.push_str("reopen\n"),
            _ => {}
        }
    }
    if noise.below(2) == 0 {
        text.push_str("die\n");
    }
    (text, entries)
}

/// Makes goleveldb write a database.
fn write(path: &Path, direction: Direction, noise: &mut Noise) -> Entries {
    let (commands, entries) = commands(noise);
    let settings = [
        noise.pick(&["1", "1024", "4096", "65536"]),
        noise.pick(&["none", "snappy"]),
        noise.pick(&["0", "10"]),
        noise.pick(&["4096", "65536", "4194304"]),
        noise.pick(&["10000", "2097152"]),
    ];
    let mut child = program()
        .arg("write")
        .arg(path)
        .arg(direction.name())
        .args(settings)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(commands.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    entries
}

/// What goleveldb reads, forwards and backwards, both in ascending order.
fn dump(path: &Path, direction: Direction) -> [Pairs; 2] {
    let output = program()
        .arg("dump")
        .arg(path)
        .arg(direction.name())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (forward, backward) = text.split_once("--\n").unwrap();
    let pairs = |lines: &str| -> Pairs {
        let pair = |line: &str| {
            let (key, value) = line.split_once(' ').unwrap();
            (unhex(key), unhex(value))
        };
        lines.lines().map(pair).collect()
    };
    let (forward, mut backward) = (pairs(forward), pairs(backward));
    backward.reverse();
    [forward, backward]
}

/// What is read here, in the same form.
fn read(path: &Path, direction: Direction) -> [Pairs; 2] {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let orders = Orders::default().with(Direction::reverse());
    let options = ReadOptions {
        orders,
        ..ReadOptions::default()
    };
    let database = Database::open(&dir, &options).unwrap();
    assert_eq!(database.order().name(), direction.order().name());
    for info in database.tables() {
        database.verify_table(info).unwrap();
    }
    let mut cursor = database.cursor();
    let (mut forward, mut backward) = (Pairs::new(), Pairs::new());
    cursor.seek_to_first().unwrap();
    while cursor.valid() {
        forward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next().unwrap();
    }
    cursor.seek_to_last().unwrap();
    while cursor.valid() {
        backward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev().unwrap();
    }
    backward.reverse();
    [forward, backward]
}

fn draw(noise: &mut Noise) -> Direction {
    noise.pick(&[Direction::Bytewise, Direction::Bytewise, Direction::Reverse])
}

#[test]
#[ignore = "needs goleveldb: make compat"]
fn what_goleveldb_writes_is_read_and_converted() {
    for seed in rounds() {
        println!("CAIRN_SEED={seed}");
        let noise = &mut Noise::new(seed);
        let home = tempfile::tempdir().unwrap();
        let direction = draw(noise);
        let expected = direction.sorted(&write(home.path(), direction, noise));
        for found in read(home.path(), direction) {
            assert!(
                found == expected,
                "{} entries, not {}",
                found.len(),
                expected.len()
            );
        }
        let mut options = cairndb::Options::new().upgrade_leveldb(true);
        if direction == Direction::Reverse {
            options = options.comparator(Direction::reverse());
        }
        let db = options.open(home.path()).unwrap();
        let converted: Pairs = db
            .iter()
            .map(|entry| entry.unwrap())
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect();
        assert!(
            converted == expected,
            "{} entries, not {}",
            converted.len(),
            expected.len()
        );
        db.close().unwrap();
        let [forward, backward] = dump(&home.path().join("leveldb-original"), direction);
        assert!(forward == expected && backward == expected);
    }
}

#[test]
#[ignore = "needs goleveldb: make compat"]
fn what_is_written_here_goleveldb_reads() {
    for seed in rounds() {
        println!("CAIRN_SEED={seed}");
        let noise = &mut Noise::new(!seed);
        let home = tempfile::tempdir().unwrap();
        let direction = draw(noise);
        let expected = direction.sorted(&commands(noise).1);
        let tables = TableOptions {
            block_bytes: noise.pick(&[1, 300, 4096, 100_000]),
            restart_interval: noise.pick(&[1, 2, 16, 100]),
            codec: noise.pick(&[Codec::None, Codec::Snappy]),
            bloom_bits: noise.pick(&[None, Some(1), Some(10), Some(44)]),
        };
        let options = WriteOptions {
            order: direction.order(),
            table_bytes: noise.pick(&[1, 10_000, 2 << 20]),
            tables,
        };
        let dir = RealEnv::new().open_dir(home.path(), true).unwrap();
        let mut new = NewDatabase::create(&dir, options).unwrap();
        for (key, value) in &expected {
            new.put(key, value).unwrap();
        }
        new.finish().unwrap();
        let [forward, backward] = dump(home.path(), direction);
        assert!(forward == expected && backward == expected);
        // goleveldb has opened it for writing, and perhaps changed it.
        assert!(read(home.path(), direction) == [expected.clone(), expected]);
    }
}
