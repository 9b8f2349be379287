//! The value that a cursor shows apart from its sources: in a buffer of its own, or lent where its file is mapped.

use cairndb_base::{Order, Result};
use cairndb_env::Mapping;
use cairndb_format::value_file::Pointer;

use crate::read::pointed::lend_pointer;
use crate::state::version::Values;

/// A value in `own`, or in `lent` if that is there.
#[derive(Debug, Default)]
pub(super) struct ShownValue {
    own: Vec<u8>,
    lent: Option<Mapping>,
}

impl ShownValue {
    /// Nothing, with a buffer for what may come.
    pub(super) fn with_buffer(own: Vec<u8>) -> ShownValue {
        ShownValue { own, lent: None }
    }

    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.own
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.lent {
            Some(lent) => lent,
            None => &self.own,
        }
    }

    /// What keeps the bytes, if they are lent.
    pub(super) fn lent(&self) -> Option<&Mapping> {
        self.lent.as_ref()
    }

    /// The buffer, which is what is shown from now on.
    #[inline]
    pub(super) fn own(&mut self) -> &mut Vec<u8> {
        self.lent = None;
        &mut self.own
    }

    /// The value of `key` behind a pointer.
    pub(super) fn follow(
        &mut self,
        order: &Order,
        values: &Values,
        key: &[u8],
        pointer: Pointer,
    ) -> Result<()> {
        self.own().clear();
        self.lent = lend_pointer(order, values, key, pointer, &mut self.own)?;
        Ok(())
    }

    /// The value of `key` behind the encoded pointer that is in the buffer.
    pub(super) fn follow_own(&mut self, order: &Order, values: &Values, key: &[u8]) -> Result<()> {
        let pointer = Pointer::decode(self.own())?;
        self.follow(order, values, key, pointer)
    }
}
