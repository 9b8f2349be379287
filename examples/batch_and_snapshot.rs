//! Writes that belong together, and reads of one moment: `cargo run --example batch_and_snapshot`.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cairndb::{Db, Options, Snapshot, WriteBatch};

/// What an account holds; a missing account holds nothing.
fn balance(snapshot: &Snapshot, account: &[u8]) -> cairndb::Result<u64> {
    let value = snapshot.get(account)?;
    Ok(value.map_or(0, |bytes| {
        let digits = String::from_utf8_lossy(&bytes);
        digits.parse().expect("balances are written as digits")
    }))
}

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-batch-{}", std::process::id()));
    let db = Db::open(&path)?;
    db.put(b"ada", b"100")?;
    db.put(b"ben", b"20")?;

    // A snapshot sees the database as it is now, for as long as it lives.
    let before = db.snapshot();

    // Both or neither, whatever happens to the process or the power.
    let mut transfer = WriteBatch::new();
    transfer.put(b"ada", b"70");
    transfer.put(b"ben", b"50");
    db.write(&transfer)?;

    let after = db.snapshot();
    for (name, snapshot) in [("before", &before), ("after", &after)] {
        let (ada, ben) = (balance(snapshot, b"ada")?, balance(snapshot, b"ben")?);
        println!("{name}: ada {ada}, ben {ben}");
        assert_eq!(ada + ben, 120, "no moment shows half a transfer");
    }

    drop((before, after));
    db.close()?;
    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
