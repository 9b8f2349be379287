//! Ranges of keys, and the way of a cursor over one.

use std::ffi::OsString;
use std::ops::Bound;

use cairndb::Error;
use cairndb::leveldb::Order;
use cairndb_store::prefix_end;
use serde::{Deserialize, Serialize};

use crate::arguments::RangeArguments;
use crate::coding::Coding;
use crate::failure::{Failure, Result};
use crate::transfer::saved::base64;

/// The keys from `from`, inclusive, to `to`, exclusive.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Range {
    #[serde(default, with = "base64")]
    from: Option<Vec<u8>>,
    #[serde(default, with = "base64")]
    to: Option<Vec<u8>>,
    /// Whether the range was given as a prefix, which is a range in bytewise order only.
    #[serde(skip)]
    is_prefix: bool,
}

impl Range {
    /// Reads the range of a command line.
    pub(crate) fn read(arguments: &RangeArguments, coding: Coding) -> Result<Range> {
        if let Some(prefix) = &arguments.prefix {
            let prefix = coding.decode("prefix", prefix)?;
            return Ok(Range {
                to: prefix_end(&prefix),
                from: Some(prefix),
                is_prefix: true,
            });
        }
        let decode = |name, key: &Option<OsString>| match key {
            Some(key) => coding.decode(name, key).map(Some),
            None => Ok(None),
        };
        Ok(Range {
            from: decode("key of --from", &arguments.from)?,
            to: decode("key of --to", &arguments.to)?,
            is_prefix: false,
        })
    }

    /// Returns whether every key is in the range.
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Returns the bounds, for a call of the database.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let (from, to) = (self.from.as_deref(), self.to.as_deref());
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        (from, to.map_or(Bound::Unbounded, Bound::Excluded))
    }

    /// Returns the bounds of the part after `key`.
    pub(crate) fn bounds_after<'a>(&'a self, key: &'a [u8]) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        (Bound::Excluded(key), self.bounds().1)
    }

    /// Returns the part of the range from `key`, or the whole.
    pub(crate) fn beginning_at(&self, key: Option<&Vec<u8>>) -> Range {
        Range {
            from: key.or(self.from.as_ref()).cloned(),
            ..self.clone()
        }
    }

    /// Refuses a prefix under an order in which the keys that begin with it may be apart.
    pub(crate) fn check(&self, order: &Order) -> Result<()> {
        if self.is_prefix && !order.is_bytewise() {
            let name = order.name().escape_debug();
            return Err(Failure::usage(format!(
                "--prefix needs bytewise order, but the comparator of the database is \"{name}\"; \
                 use --from and --to"
            )));
        }
        Ok(())
    }
}

/// A cursor of either store.
pub(crate) trait Cursor {
    /// Goes to the first entry of a range in a direction.
    fn begin(&mut self, range: &Range, is_backward: bool) -> cairndb::Result<()>;
    fn entry(&self) -> Option<(&[u8], &[u8])>;
    fn advance(&mut self, is_backward: bool) -> cairndb::Result<()>;
}

macro_rules! cursor {
    ($cursor:ty) => {
        impl Cursor for $cursor {
            fn begin(&mut self, range: &Range, is_backward: bool) -> cairndb::Result<()> {
                match (is_backward, &range.from, &range.to) {
                    (false, Some(from), _) => self.seek(from),
                    (false, None, _) => self.seek_to_first(),
                    (true, _, None) => self.seek_to_last(),
                    (true, _, Some(to)) => {
                        self.seek(to)?;
                        if self.valid() {
                            self.prev()
                        } else {
                            self.seek_to_last()
                        }
                    }
                }
            }

            fn entry(&self) -> Option<(&[u8], &[u8])> {
                self.valid().then(|| (self.key(), self.value()))
            }

            fn advance(&mut self, is_backward: bool) -> cairndb::Result<()> {
                if is_backward {
                    self.prev()
                } else {
                    self.next()
                }
            }
        }
    };
}

cursor!(cairndb::Cursor);
cursor!(cairndb_leveldb::Cursor);

/// Visits the entries of a range in a direction until `visit` returns false.
pub(crate) fn walk(
    mut cursor: impl Cursor,
    (range, order): (&Range, &Order),
    is_backward: bool,
    failure: impl Fn(Error) -> Failure,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    cursor.begin(range, is_backward).map_err(&failure)?;
    while let Some((key, value)) = cursor.entry() {
        let is_inside = match (is_backward, &range.from, &range.to) {
            (false, _, Some(to)) => order.compare(key, to).is_lt(),
            (true, Some(from), _) => order.compare(key, from).is_ge(),
            _ => true,
        };
        if !is_inside || !visit(key, value)? {
            break;
        }
        cursor.advance(is_backward).map_err(&failure)?;
    }
    Ok(())
}
