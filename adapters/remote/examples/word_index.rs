//! An index of the words in some files, with a counter for each word, in any store.
//!
//! ```text
//! word_index URL add FILE...     index files; one that was interrupted continues
//! word_index URL find WORD       print how often a word occurs, and in which files
//! word_index URL top COUNT       print the most frequent words
//! ```
//!
//! The program is the same over a database in files, in memory, over etcd, PostgreSQL or TiKV.
//! Three things make that work: it keeps within the limits that the store states, it reads many
//! keys with one call, and each part of a file writes a mark in the transaction that counts it. So
//! a part whose outcome is unknown is tried again, and counted once.

use std::collections::BTreeMap;
use std::error::Error;

use cairndb_store::{ErrorKind, Scan, Store, StoreExt};

/// Words in one transaction, if the store accepts as many.
const PART_WORDS: usize = 500;
/// How often a part is tried whose outcome is unknown.
const ATTEMPTS_MAX: u32 = 10;

fn counter_key(word: &str) -> Vec<u8> {
    format!("count/{word}").into_bytes()
}

fn place_key(word: &str, file: &str) -> Vec<u8> {
    format!("word/{word}\0{file}").into_bytes()
}

fn number(value: Option<&[u8]>) -> Result<u64, cairndb_store::Error> {
    match value.map(<[u8; 8]>::try_from) {
        None => Ok(0),
        Some(Ok(bytes)) => Ok(u64::from_le_bytes(bytes)),
        Some(Err(_)) => Err(cairndb_store::Error::new(
            ErrorKind::Corruption,
            "a counter is not 8 bytes long",
        )),
    }
}

/// Indexes the words of a text under the name `file`. A file that was indexed already counts once.
pub(crate) fn add(store: &dyn Store, file: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let limits = store.engine().limits;
    // A word takes two writes and one read, the mark one of each.
    let most = PART_WORDS
        .min((limits.batch_ops - 1) / 2)
        .min(limits.transaction_reads - 1);
    let mut words = BTreeMap::<String, u64>::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() {
            *words.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    let words: Vec<(String, u64)> = words.into_iter().collect();
    for (part, words) in words.chunks(most).enumerate() {
        let mark = format!("done/{file}\0{part:08}").into_bytes();
        let mut attempts = 0;
        loop {
            match add_part(store, file, &mark, words) {
                // The mark says whether it was applied.
                Err(error) if error.kind() == ErrorKind::OutcomeUnknown => attempts += 1,
                result => {
                    result?;
                    break;
                }
            }
            if attempts == ATTEMPTS_MAX {
                return Err(format!("{file}: the outcome of part {part} stays unknown").into());
            }
        }
    }
    Ok(())
}

fn add_part(
    store: &dyn Store,
    file: &str,
    mark: &[u8],
    words: &[(String, u64)],
) -> cairndb_store::Result<()> {
    let mut keys = vec![mark.to_vec()];
    keys.extend(words.iter().map(|(word, _)| counter_key(word)));
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    store.transact(|transaction| {
        let found = transaction.multi_get(&keys)?;
        if found[0].is_some() {
            return Ok(());
        }
        for ((word, count), (key, old)) in words.iter().zip(keys.iter().zip(&found).skip(1)) {
            let total = number(old.as_deref())? + count;
            transaction.put(key, &total.to_le_bytes())?;
            transaction.put(&place_key(word, file), &count.to_le_bytes())?;
        }
        transaction.put(mark, b"")
    })
}

/// How often a word occurs, and in which files how often.
type FoundWords = (u64, Vec<(String, u64)>);

/// Returns how often a word occurs, and in which files how often.
pub(crate) fn find(store: &dyn Store, word: &str) -> Result<FoundWords, Box<dyn Error>> {
    let word = word.to_lowercase();
    // One moment for both reads.
    let snapshot = store.snapshot()?;
    let total = number(snapshot.get(&counter_key(&word))?.as_deref())?;
    let prefix = place_key(&word, "");
    let mut places = Vec::new();
    for entry in snapshot.scan(&Scan::prefix(&prefix))? {
        let (key, count) = entry?;
        let file = String::from_utf8_lossy(&key[prefix.len()..]).into_owned();
        places.push((file, number(Some(&count))?));
    }
    Ok((total, places))
}

/// Returns the most frequent words.
pub(crate) fn top(store: &dyn Store, count: usize) -> Result<Vec<(u64, String)>, Box<dyn Error>> {
    let prefix = counter_key("");
    let mut found = Vec::new();
    for entry in store.scan(&Scan::prefix(&prefix))? {
        let (key, total) = entry?;
        let word = String::from_utf8_lossy(&key[prefix.len()..]).into_owned();
        found.push((number(Some(&total))?, word));
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.truncate(count);
    Ok(found)
}

#[expect(clippy::print_stdout, reason = "a program that prints what it finds")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [url, command, rest @ ..] = arguments.as_slice() else {
        return Err("usage: word_index URL add|find|top ARGUMENT...".into());
    };
    let store = cairndb_remote::open(url)?;
    match (*command, rest) {
        ("add", files) => {
            for file in files {
                add(&*store, file, &std::fs::read_to_string(file)?)?;
            }
        }
        ("find", [word]) => {
            let (total, places) = find(&*store, word)?;
            println!("{word}: {total}");
            for (file, count) in places {
                println!("  {file}: {count}");
            }
        }
        ("top", [count]) => {
            for (total, word) in top(&*store, count.parse()?)? {
                println!("{total} {word}");
            }
        }
        _ => return Err("usage: word_index URL add|find|top ARGUMENT...".into()),
    }
    store.close()?;
    Ok(())
}
