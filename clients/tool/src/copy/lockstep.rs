//! Two scans side by side, in the order of their keys.

use std::cmp::Ordering;

use cairndb_store::{Entries, Entry, Value};

use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::store::Opened;

/// The entries with one key.
#[derive(Debug)]
pub(super) enum Pair {
    Source(Entry),
    Target(Entry),
    Both {
        entry: Entry,
        /// The value in the target.
        found: Value,
    },
}

impl Pair {
    /// Returns the length of the entry. One that both stores hold counts once.
    pub(super) fn bytes(&self) -> u64 {
        let (Pair::Source(entry) | Pair::Target(entry) | Pair::Both { entry, .. }) = self;
        (entry.0.len() + entry.1.len()) as u64
    }
}

/// One of the two scans, and its next entry.
struct Side<'a> {
    entries: Entries<'a>,
    next: Option<Entry>,
    store: &'a Opened,
}

impl<'a> Side<'a> {
    fn begin(entries: Entries<'a>, store: &'a Opened) -> Result<Side<'a>> {
        let mut side = Side {
            entries,
            next: None,
            store,
        };
        side.next = side.read()?;
        Ok(side)
    }

    fn read(&mut self) -> Result<Option<Entry>> {
        let next = self.entries.next().transpose();
        next.map_err(self.store.failure())
    }

    /// Returns the next entry, and reads the one after it.
    fn take(&mut self) -> Result<Option<Entry>> {
        let after = match self.next {
            None => None,
            Some(_) => self.read()?,
        };
        if let (Some((key, _)), Some((after, _))) = (&self.next, &after)
            && key >= after
        {
            let (name, key, after) = (&self.store.name, escaped(key), escaped(after));
            return Err(Failure::damaged(format!(
                "{name} is not in bytewise order: \"{after}\" comes after \"{key}\""
            )));
        }
        Ok(std::mem::replace(&mut self.next, after))
    }
}

/// Two scans over the same range.
pub(super) struct Lockstep<'a> {
    source: Side<'a>,
    target: Side<'a>,
}

impl<'a> Lockstep<'a> {
    /// Begins with the entries of each store.
    pub(super) fn begin(
        source: (Entries<'a>, &'a Opened),
        target: (Entries<'a>, &'a Opened),
    ) -> Result<Lockstep<'a>> {
        Ok(Lockstep {
            source: Side::begin(source.0, source.1)?,
            target: Side::begin(target.0, target.1)?,
        })
    }

    /// Returns the entries with the next key.
    pub(super) fn advance(&mut self) -> Result<Option<Pair>> {
        let order = match (&self.source.next, &self.target.next) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((source, _)), Some((target, _))) => source.cmp(target),
        };
        let pair = match order {
            Ordering::Less => self.source.take()?.map(Pair::Source),
            Ordering::Greater => self.target.take()?.map(Pair::Target),
            Ordering::Equal => {
                let both = self.source.take()?.zip(self.target.take()?);
                both.map(|(entry, (_, found))| Pair::Both { entry, found })
            }
        };
        Ok(pair)
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::MemoryStore;

    use super::*;
    use crate::failure::Code;

    fn store() -> Opened {
        Opened {
            store: Box::new(MemoryStore::new()),
            name: "memory:".to_owned(),
            identity: "memory:".to_owned(),
            keyspaces: Vec::new(),
            directory: None,
        }
    }

    fn scan(entries: &[(&str, &str)]) -> Entries<'static> {
        let value = |text: &str| Value::from(text.as_bytes());
        let entries = entries.iter().map(|(k, v)| Ok((value(k), value(v))));
        Entries::new(entries.collect::<Vec<_>>().into_iter())
    }

    /// Describes the pairs of two scans.
    fn pairs(from: &[(&str, &str)], to: &[(&str, &str)]) -> Result<Vec<String>> {
        let store = store();
        let mut lockstep = Lockstep::begin((scan(from), &store), (scan(to), &store))?;
        let mut found = Vec::new();
        while let Some(pair) = lockstep.advance()? {
            found.push(match pair {
                Pair::Source((key, _)) => format!("source {}", escaped(&key)),
                Pair::Target((key, _)) => format!("target {}", escaped(&key)),
                Pair::Both { entry, found } => {
                    let (key, value) = (escaped(&entry.0), escaped(&entry.1));
                    format!("both {key} {value} {}", escaped(&found))
                }
            });
        }
        Ok(found)
    }

    #[test]
    fn every_key_comes_once() {
        let from = [("", "1"), ("b", "2"), ("d", "3")];
        let to = [("a", "4"), ("b", "5"), ("d", "3"), ("e", "6")];
        let expected = [
            "source ",
            "target a",
            "both b 2 5",
            "both d 3 3",
            "target e",
        ];
        assert_eq!(pairs(&from, &to).unwrap(), expected);
        assert_eq!(pairs(&from, &[]).unwrap().len(), 3);
        assert!(pairs(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn another_order_is_refused() {
        for keys in [[("b", ""), ("a", "")], [("a", ""), ("a", "")]] {
            let refused = pairs(&keys, &[]).unwrap_err();
            assert_eq!(refused.code(), Code::Damaged);
            assert!(refused.message().contains("\"a\""), "{refused:?}");
        }
    }
}
