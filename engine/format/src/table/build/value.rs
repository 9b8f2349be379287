//! Puts single values into the form in which the table stores them.

use std::sync::Arc;

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, FileNumber, Kind, Result};
use cairndb_kernel::codec::{Dictionary, Encoder};

use super::shared::SharedDictionary;
use crate::table::page::values::raw_of;
use crate::table::read::source::name_of;
use crate::table::{Compression, TableOptions, ValueIn};

/// Storage of single values, and their encoder.
pub(super) struct ValueEncoder {
    file: FileNumber,
    compression: Compression,
    encoder: Encoder,
    /// Set when values are encoded against a dictionary.
    shared: Option<SharedDictionary>,
    /// Set when values are stored raw for now, but would be smaller if encoded together.
    deferred: bool,
}

impl ValueEncoder {
    pub(super) fn new(options: &TableOptions) -> ValueEncoder {
        ValueEncoder {
            file: options.file,
            compression: options.compression,
            encoder: Encoder::new(),
            shared: None,
            deferred: false,
        }
    }

    /// Returns the encoder of values without a dictionary.
    pub(super) fn alone(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// Returns whether each value is encoded on its own.
    pub(super) fn are_alone(&self) -> bool {
        self.shared.is_none() && !self.deferred
    }

    /// Encodes values against a dictionary from now on. `trained` states whether it was made from
    /// the table's own values.
    pub(super) fn use_dictionary(&mut self, dictionary: Arc<Dictionary>, trained: bool) {
        self.shared = Some(SharedDictionary::new(dictionary, trained));
    }

    /// Returns the dictionary in use, if any.
    pub(super) fn shared(&self) -> Option<&SharedDictionary> {
        self.shared.as_ref()
    }

    /// Stores values raw from now on, to be encoded by a later compaction.
    pub(super) fn defer(&mut self) {
        self.deferred = true;
        self.compression = Compression::None;
    }

    /// Returns whether values are stored raw for now.
    pub(super) fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// Returns the number of heap bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.shared
            .as_ref()
            .map_or(0, SharedDictionary::memory_bytes)
    }

    /// Appends a value to `values` in its stored form. Returns its raw length.
    #[inline]
    pub(super) fn store(
        &mut self,
        kind: Kind,
        value: ValueIn<'_>,
        values: &mut Vec<u8>,
    ) -> Result<usize> {
        match value {
            ValueIn::Raw(bytes) => {
                if bytes.len() > VALUE_BYTES_MAX {
                    return Err(refuse(self.file, "value is too long"));
                }
                let encode = self.compression != Compression::None
                    && kind != Kind::Pointer
                    && !bytes.is_empty();
                let encoded = encode
                    && match &self.shared {
                        Some(shared) => self.encoder.encode_with(&shared.matcher, bytes, values),
                        None => self.encoder.encode(bytes, values),
                    };
                if !encoded {
                    values.extend_from_slice(bytes);
                }
                Ok(bytes.len())
            }
            ValueIn::Stored { .. } if self.shared.is_some() && kind != Kind::Pointer => {
                self.store_again(kind, value, values)
            }
            ValueIn::Shared {
                bytes,
                raw_len,
                dictionary,
            } => {
                // A value that did not shrink is stored raw; its length shows that.
                let copied = bytes.len() < raw_len as usize
                    && self
                        .shared
                        .as_mut()
                        .is_some_and(|shared| shared.is(dictionary));
                if !copied {
                    return self.store_again(kind, value, values);
                }
                values.extend_from_slice(bytes);
                Ok(raw_len as usize)
            }
            ValueIn::Stored { bytes, raw_len } => {
                let raw_len = raw_len as usize;
                if bytes.len() > raw_len || raw_len > VALUE_BYTES_MAX {
                    let message = "stored value is longer than its raw length";
                    return Err(refuse(self.file, message));
                }
                values.extend_from_slice(bytes);
                Ok(raw_len)
            }
        }
    }

    /// Like `store`, but for a value that another table stores in a different way.
    fn store_again(
        &mut self,
        kind: Kind,
        value: ValueIn<'_>,
        values: &mut Vec<u8>,
    ) -> Result<usize> {
        let mut decoded = Vec::new();
        let raw = raw_of(value, &mut decoded)?;
        self.store(kind, ValueIn::Raw(raw), values)
    }
}

/// Returns the error for an entry that table `file` rejects.
#[cold]
pub(super) fn refuse(file: FileNumber, message: &'static str) -> Error {
    Error::invalid(message).file(name_of(file))
}
