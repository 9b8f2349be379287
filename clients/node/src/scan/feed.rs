//! Items that the store yields one by one, read many at a time on the thread pool.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cairndb::{Error, ErrorKind, Result};

/// Items after which a read ends.
const ITEMS_MAX: usize = 1000;
/// Bytes of keys and values after which a read ends.
const BYTES_MAX: usize = 64 << 10;

/// Where items are read.
pub(super) trait Source {
    type Item;

    /// Whether there is nothing more once there is nothing.
    const ENDS: bool;

    /// Returns the next item.
    fn next_item(&mut self) -> Result<Option<Self::Item>>;

    /// Returns the number of bytes of the keys and values of an item.
    fn len(item: &Self::Item) -> usize;
}

/// What was read, and where to read more.
#[derive(Debug)]
pub(super) struct Feed<S: Source> {
    /// `None` at the end, or after a close.
    pub(super) source: Option<S>,
    pub(super) read: Vec<S::Item>,
    pub(super) bytes: usize,
    /// The error that ended it, for the read after the items before it.
    error: Option<Error>,
}

impl<S: Source> Feed<S> {
    pub(super) fn new(source: S) -> Feed<S> {
        Feed {
            source: Some(source),
            read: Vec::new(),
            bytes: 0,
            error: None,
        }
    }

    /// Reads items.
    ///
    /// # Errors
    /// `Interrupted`; the error that has ended it, if there is no item before that.
    pub(super) fn fetch(&mut self) -> Result<()> {
        while self.read.len() < ITEMS_MAX && self.bytes < BYTES_MAX {
            let Some(source) = &mut self.source else {
                break;
            };
            match source.next_item() {
                Ok(Some(item)) => {
                    self.bytes += S::len(&item);
                    self.read.push(item);
                }
                Ok(None) => {
                    if S::ENDS {
                        self.source = None;
                    }
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    self.source = None;
                }
            }
        }
        if self.read.is_empty() {
            return self.error.take().map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Returns whether nothing is left to read.
    pub(super) fn has_ended(&self) -> bool {
        self.source.is_none() && self.error.is_none()
    }
}

pub(super) fn lock<T>(feed: &Mutex<T>) -> MutexGuard<'_, T> {
    feed.lock().unwrap_or_else(PoisonError::into_inner)
}
