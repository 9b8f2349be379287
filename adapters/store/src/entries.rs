//! The iterator over the entries of a scan.

use std::fmt;

use cairndb::Value;

use crate::error::Result;

/// An entry: its key and its value.
pub type Entry = (Value, Value);

/// The entries of a scan, in its direction. An error ends the iterator.
///
/// An embedded store reads on demand. A networked one reads pages of about a megabyte, beginning
/// with a small one, so memory does not grow with the length of the scan.
///
/// ```
/// use cairndb_store::{MemoryStore, Read, Scan, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// store.put(b"slate", b"blue")?;
/// for entry in store.scan(&Scan::all())? {
///     let (stone, colour) = entry?;
///     assert_eq!((&*stone, &*colour), (&b"slate"[..], &b"blue"[..]));
/// }
/// # Ok(()) }
/// ```
#[must_use = "iterators are lazy: they read nothing unless consumed"]
pub struct Entries<'a>(Box<dyn Iterator<Item = Result<Entry>> + 'a>);

impl<'a> Entries<'a> {
    /// Returns the entries of `iter`.
    pub fn new(iter: impl Iterator<Item = Result<Entry>> + 'a) -> Entries<'a> {
        Entries(Box::new(iter))
    }
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entries")
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;
    #[inline]
    fn next(&mut self) -> Option<Result<Entry>> {
        self.0.next()
    }
}
