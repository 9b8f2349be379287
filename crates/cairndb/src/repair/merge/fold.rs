//! Decides what each key holds: reads its versions, newest first, up to the one that decides.

use cairndb_base::{Error, ErrorKind, Kind, Order, Result};

use crate::repair::findings::Findings;
use crate::repair::merge::Merge;
use crate::repair::report::{KeySpan, Loss};
use crate::repair::target::{Sink, Versions};
use crate::repair::values::SourceValues;

/// How far the versions of a key have been read.
#[derive(Debug)]
enum State {
    /// No version but operands yet.
    Open,
    /// A value or a tombstone has been read: older versions do not count.
    Decided,
    /// A version cannot be read: the key is lost.
    Lost(Error),
}

/// Reads all keys of `merge` and writes them to `sink`.
pub(in crate::repair) struct Fold<'a> {
    pub(in crate::repair) order: Order,
    /// The large values; LevelDB has none.
    pub(in crate::repair) values: Option<SourceValues>,
    pub(in crate::repair) findings: &'a mut Findings,
    /// Whether the order of log and tables is not known.
    pub(in crate::repair) log_is_guessed: bool,
}

impl Fold<'_> {
    /// # Errors
    /// `FormatTooNew`; the errors of reading runs and of writing.
    pub(in crate::repair) fn run(&mut self, merge: &mut Merge, sink: &mut Sink<'_>) -> Result<()> {
        let mut versions = Versions::default();
        while let Some(source) = merge.next() {
            versions.key.clear();
            versions.key.extend_from_slice(source.key());
            versions.operands.clear();
            versions.value = None;
            match self.read_key(merge, &mut versions)? {
                State::Lost(error) => self.lose(&versions.key, &error),
                State::Decided if versions.value.is_none() && versions.operands.is_empty() => {}
                _ => sink.add(&versions, self.findings)?,
            }
        }
        Ok(())
    }

    /// Reads all versions of a key.
    fn read_key(&mut self, merge: &mut Merge, versions: &mut Versions) -> Result<State> {
        let mut state = State::Open;
        let mut last = None;
        let (mut first_age, mut guessed, mut doubtful) = (None, false, false);
        while let Some(source) = merge.next() {
            if self.order.compare(source.key(), &versions.key).is_ne() {
                break;
            }
            let place = (source.age(), source.seq());
            let is_guess = source.is_guessed() || (self.log_is_guessed && place.0 == 0);
            doubtful |= first_age.is_some_and(|age| age != place.0 || place.1 == 0)
                && (guessed || is_guess);
            guessed |= is_guess;
            first_age.get_or_insert(place.0);
            // The same entry twice, in two records of the log or two copies of a table.
            let again = last.replace(place) == Some(place);
            if matches!(state, State::Open) && !again {
                let mut value = Vec::new();
                let kind = source.kind();
                let read = match kind {
                    Kind::Delete => Ok(()),
                    _ => source.value_into(&mut value),
                };
                let read = read.and_then(|()| match kind {
                    Kind::Pointer => {
                        let pointer = std::mem::take(&mut value);
                        let values = self.values.as_mut();
                        let values = values.ok_or_else(|| Error::corruption("no large values"));
                        values?.read(&versions.key, &pointer, &mut value)
                    }
                    _ => Ok(()),
                });
                state = match (read, kind) {
                    (Err(error), _) if error.kind() == ErrorKind::FormatTooNew => {
                        return Err(error);
                    }
                    (Err(error), _) => State::Lost(error),
                    (Ok(()), Kind::Merge) => {
                        versions.operands.push(value);
                        State::Open
                    }
                    (Ok(()), Kind::Delete) => State::Decided,
                    (Ok(()), Kind::Put | Kind::Pointer) => {
                        versions.value = Some(value);
                        State::Decided
                    }
                };
            }
            merge.advance(self.findings)?;
        }
        if doubtful {
            let reason = "several files hold versions of these keys, and their order is not known";
            self.findings.doubt_order(&versions.key, reason);
        } else {
            self.findings.settle_key();
        }
        Ok(state)
    }

    fn lose(&mut self, key: &[u8], error: &Error) {
        self.findings.lose_key(Loss {
            file: error.file_name().unwrap_or_default().to_owned(),
            offset: error.file_offset().unwrap_or(0),
            bytes: 0,
            keys: KeySpan::one(key),
            older: false,
            reason: error.message().to_owned(),
        });
    }
}
