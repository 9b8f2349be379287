//! Puts single values into the form in which the table stores them.

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Kind, Result};

use super::TableBuilder;
use crate::table::page::values::raw_of;
use crate::table::{Compression, ValueIn};

impl TableBuilder {
    /// Appends the value to the page's values in its stored form. Returns its raw length.
    #[inline]
    pub(super) fn store_value(&mut self, kind: Kind, value: ValueIn<'_>) -> Result<usize> {
        let values = &mut self.page.values;
        match value {
            ValueIn::Raw(bytes) => {
                if bytes.len() > VALUE_BYTES_MAX {
                    return Err(self.refuse("value is too long"));
                }
                let encode = self.options.compression != Compression::None
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
                self.store_again(kind, value)
            }
            ValueIn::Shared {
                bytes,
                raw_len,
                dictionary,
            } => {
                // A value that did not shrink is stored raw; its length says so.
                let copied = bytes.len() < raw_len as usize
                    && self
                        .shared
                        .as_mut()
                        .is_some_and(|shared| shared.is(dictionary));
                if !copied {
                    return self.store_again(kind, value);
                }
                values.extend_from_slice(bytes);
                Ok(raw_len as usize)
            }
            ValueIn::Stored { bytes, raw_len } => {
                let raw_len = raw_len as usize;
                if bytes.len() > raw_len || raw_len > VALUE_BYTES_MAX {
                    return Err(self.refuse("stored value is longer than its raw length"));
                }
                values.extend_from_slice(bytes);
                Ok(raw_len)
            }
        }
    }

    /// As `store_value`, for a value that another table stores in a different way.
    fn store_again(&mut self, kind: Kind, value: ValueIn<'_>) -> Result<usize> {
        let mut decoded = Vec::new();
        let raw = raw_of(value, &mut decoded)?;
        self.store_value(kind, ValueIn::Raw(raw))
    }
}
