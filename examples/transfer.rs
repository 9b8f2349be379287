//! Transfers between accounts by several threads: transactions that read, check and write.
//! `cargo run --example transfer`.
#![allow(clippy::print_stdout, reason = "examples print")]

use cairndb::{Db, Options, Result, Value};

const ACCOUNTS: u64 = 5;
const THREADS: u64 = 4;
const TRANSFERS: u64 = 1_000;

fn account(number: u64) -> Vec<u8> {
    format!("account/{number}").into_bytes()
}

fn amount(value: Option<Value>) -> u64 {
    let bytes = value.and_then(|value| (*value).try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

/// Moves up to `most` from one account to another, and returns how much it was.
fn transfer(db: &Db, from: u64, to: u64, most: u64) -> Result<u64> {
    db.transact(|transaction| {
        let balance = amount(transaction.get(&account(from))?);
        let moved = balance.min(most);
        transaction.put(&account(from), &(balance - moved).to_le_bytes())?;
        // Read after the write above: an account may be both.
        let balance = amount(transaction.get(&account(to))?);
        transaction.put(&account(to), &(balance + moved).to_le_bytes())?;
        Ok(moved)
    })
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-transfer-{}", std::process::id()));
    let db = Db::open(&path)?;
    for number in 0..ACCOUNTS {
        db.put(&account(number), &100_u64.to_le_bytes())?;
    }
    std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let db = &db;
            scope.spawn(move || -> Result<()> {
                for turn in 0..TRANSFERS {
                    let (from, to) = ((thread + turn) % ACCOUNTS, turn * 7 % ACCOUNTS);
                    transfer(db, from, to, 1 + turn % 30)?;
                }
                Ok(())
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no transfer panics"))
    })?;
    let mut total = 0;
    for entry in db.prefix(b"account/") {
        let (name, balance) = entry?;
        let balance = amount(Some(balance));
        println!("{}: {balance}", name.escape_ascii());
        total += balance;
    }
    assert_eq!(total, 100 * ACCOUNTS, "transfers keep the total");
    println!("total: {total}");
    db.close()?;
    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> Result<()> {
    main()
}
