//! A cursor's value that is not in its sources: in an owned buffer, or borrowed from a mapped value
//! file.

use cairndb_base::Result;
use cairndb_env::Mapping;
use cairndb_format::value_file::Pointer;

use crate::read::value_ref::{borrow_pointer, decode_pointer};
use crate::read::view::View;

/// A value in `borrowed` if that is set, otherwise in `own`.
#[derive(Debug, Default)]
pub(super) struct EntryValue {
    own: Vec<u8>,
    borrowed: Option<Mapping>,
}

impl EntryValue {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.borrowed {
            Some(borrowed) => borrowed,
            None => &self.own,
        }
    }

    /// Returns the mapping that holds the bytes, if they are borrowed.
    pub(super) fn borrowed(&self) -> Option<&Mapping> {
        self.borrowed.as_ref()
    }

    /// Returns the owned buffer and makes it hold the value from now on.
    #[inline]
    pub(super) fn own(&mut self) -> &mut Vec<u8> {
        self.borrowed = None;
        &mut self.own
    }

    /// Reads or borrows the value of `key` to which `pointer` refers.
    pub(super) fn follow(&mut self, view: &View, key: &[u8], pointer: Pointer) -> Result<()> {
        let (order, values) = (&view.context().order, &view.version.values);
        self.own().clear();
        self.borrowed = borrow_pointer(order, values, key, pointer, &mut self.own)?;
        Ok(())
    }

    /// Reads or borrows the value of `key` to which the encoded pointer in the buffer refers.
    pub(super) fn follow_own(&mut self, view: &View, key: &[u8]) -> Result<()> {
        let pointer = decode_pointer(key, self.own())?;
        self.follow(view, key, pointer)
    }
}
