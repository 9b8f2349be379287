//! A chunk: entries that were read and wait to become JavaScript values.

use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};
use crate::results::{Collector, Form};

/// Capacity above which the memory of a chunk is freed when it is passed on.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Entries from whose capacity on the memory of a chunk is freed when its iterator is closed.
const KEPT_ENTRIES_CLOSED: usize = 128;
/// The same for the capacity in bytes.
const KEPT_BYTES_CLOSED: usize = 16 << 10;

/// Entries, in the forms that the iterator returns. What becomes strings is apart from what becomes
/// one `Buffer`.
#[derive(Debug)]
pub(crate) struct Chunk {
    key: Form,
    value: Form,
    text: Vec<u8>,
    bytes: Vec<u8>,
    /// Lengths of the key and of the value of each entry; 0 if it is absent.
    lens: Vec<(usize, usize)>,
}

impl Chunk {
    pub(crate) fn new(key: Form, value: Form) -> Chunk {
        Chunk {
            key,
            value,
            text: Vec::new(),
            bytes: Vec::new(),
            lens: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lens.len()
    }

    /// Number of bytes of the keys and values that are returned.
    pub(crate) fn byte_len(&self) -> usize {
        self.text.len() + self.bytes.len()
    }

    /// Appends an entry.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let key_len = self.append(self.key, key);
        let value_len = self.append(self.value, value);
        self.lens.push((key_len, value_len));
    }

    #[inline]
    fn append(&mut self, form: Form, of: &[u8]) -> usize {
        match form {
            Form::Absent => return 0,
            Form::Text => self.text.extend_from_slice(of),
            Form::Bytes => self.bytes.extend_from_slice(of),
        }
        of.len()
    }

    /// Makes the chunk one of the next iterator, with its forms.
    pub(crate) fn reset(&mut self, key: Form, value: Form) {
        self.clear();
        (self.key, self.value) = (key, value);
    }

    /// Drops the entries, and frees memory that a short iterator does not need.
    pub(crate) fn shrink(&mut self) {
        self.clear();
        self.text.shrink_to(KEPT_BYTES_CLOSED);
        self.bytes.shrink_to(KEPT_BYTES_CLOSED);
        self.lens.shrink_to(KEPT_ENTRIES_CLOSED);
    }

    /// Drops the entries.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.bytes.clear();
        self.lens.clear();
    }

    /// Passes the entries to the function `collect`, which appends them to `sink`, and drops them.
    /// If `singly` is set, keys or values are passed, otherwise both of each entry.
    pub(crate) fn pass<'s>(
        &mut self,
        env: Env<'s>,
        singly: bool,
        to: [Value<'s>; 2],
    ) -> Outcome<()> {
        let mut buffer = None;
        if self.key == Form::Bytes || self.value == Form::Bytes {
            buffer = Some(env.buffer_of(std::mem::take(&mut self.bytes))?);
        }
        let mut collector = Collector::new(env, to, buffer, self.lens.len() * 2)?;
        let mut text = self.text.as_slice();
        for (key_len, value_len) in &self.lens {
            for (form, len) in [(self.key, *key_len), (self.value, *value_len)] {
                match form {
                    Form::Absent if singly => {}
                    Form::Absent => collector.absent(),
                    Form::Bytes => collector.bytes(len)?,
                    Form::Text => {
                        let (piece, rest) = text.split_at_checked(len).unwrap_or((text, &[]));
                        text = rest;
                        collector.text(piece)?;
                    }
                }
            }
            collector.end_entry()?;
        }
        collector.flush()?;
        self.clear();
        if self.text.capacity() > KEPT_BYTES_MAX {
            self.text = Vec::new();
        }
        Ok(())
    }
}
