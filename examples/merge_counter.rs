//! Counters that are updated without a read: `cargo run --example merge_counter`.
#![allow(clippy::print_stdout, reason = "examples print")]

use std::sync::Arc;

use cairndb::{Add, MergeOperator, Options};

/// Keeps the longest string. A merge operator needs a name, which is stored, and a merge function.
#[derive(Debug)]
struct Longest;

impl MergeOperator for Longest {
    fn name(&self) -> &'static str {
        "example.Longest"
    }

    fn merge(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> cairndb::Result<Vec<u8>> {
        let texts = base.into_iter().chain(operands.iter().copied());
        Ok(texts
            .max_by_key(|text| text.len())
            .unwrap_or_default()
            .to_vec())
    }
}

fn main() -> cairndb::Result<()> {
    let path = std::env::temp_dir().join(format!("cairndb-merge-{}", std::process::id()));

    // `merge` stores an operand without a read. Operands are folded when the key is read or
    // compacted.
    let db = Options::new()
        .create_if_missing(true)
        .merge_operator(Arc::new(Add))
        .open(&path)?;
    for page in ["home", "about", "home", "home"] {
        db.merge(page.as_bytes(), &1u64.to_le_bytes())?;
    }
    for entry in db.iter() {
        let (page, count) = entry?;
        let count = u64::from_le_bytes(count[..].try_into().expect("a counter has eight bytes"));
        println!("{}: {count}", String::from_utf8_lossy(&page));
    }
    assert_eq!(db.get(b"home")?.as_deref(), Some(&3u64.to_le_bytes()[..]));
    db.close()?;

    // A database keeps the merge operator that it was first used with.
    let other = Options::new().merge_operator(Arc::new(Longest)).open(&path);
    assert!(other.is_err());

    cairndb::destroy(&path, &Options::new())
}

#[test]
fn runs() -> cairndb::Result<()> {
    main()
}
