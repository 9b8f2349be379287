//! Block handles, and the footer that every table ends with.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::put_varint;
use cairndb_base::{Error, Result};

use crate::input::Input;

/// The length of the footer.
pub(crate) const FOOTER_BYTES: usize = 48;
/// Kind and checksum after the contents of a block.
pub(crate) const TRAILER_BYTES: usize = 5;

/// The last eight bytes of a table.
const MAGIC: [u8; 8] = [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb];
/// The last eight bytes of a `RocksDB` table, whose footer is another one.
const ROCKSDB_MAGIC: [u8; 8] = [0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88];

/// Where a block lies: its offset, and its length without the trailer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Handle {
    pub(crate) fn decode(input: &mut Input<'_>) -> Result<Handle> {
        let offset = input.varint("the offset of a block")?;
        let len = input.varint("the length of a block")?;
        Ok(Handle { offset, len })
    }

    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.len);
    }
}

/// What the footer locates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) metaindex: Handle,
    pub(crate) index: Handle,
}

impl Footer {
    pub(crate) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Result<Footer> {
        let (handles, magic) = bytes.split_last_chunk::<8>().unwrap_or((&[], &[0; 8]));
        if *magic == ROCKSDB_MAGIC {
            return Err(Error::corruption(
                "the table was written by RocksDB, not by LevelDB",
            ));
        }
        if *magic != MAGIC {
            return Err(Error::corruption("the file does not end as a table does")
                .expected(MAGIC.escape_ascii())
                .found(magic.escape_ascii()));
        }
        let mut input = Input::new(handles);
        let metaindex = Handle::decode(&mut input)?;
        let index = Handle::decode(&mut input)?;
        Ok(Footer { metaindex, index })
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.metaindex.encode(&mut bytes);
        self.index.encode(&mut bytes);
        bytes.resize(FOOTER_BYTES.saturating_sub(MAGIC.len()), 0);
        bytes.extend_from_slice(&MAGIC);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footers_come_back() {
        let largest = Handle {
            offset: u64::MAX,
            len: u64::MAX,
        };
        let footer = Footer {
            metaindex: largest,
            index: largest,
        };
        let bytes: [u8; FOOTER_BYTES] = footer.encode().try_into().unwrap();
        assert_eq!(Footer::decode(&bytes).unwrap(), footer);
        let mut wrong = bytes;
        wrong[47] ^= 1;
        assert!(Footer::decode(&wrong).is_err());
        wrong = [0xff; FOOTER_BYTES];
        wrong[40..].copy_from_slice(&MAGIC);
        assert!(Footer::decode(&wrong).is_err());
        wrong[40..].copy_from_slice(&ROCKSDB_MAGIC);
        let error = Footer::decode(&wrong).unwrap_err();
        assert!(error.to_string().contains("RocksDB"), "{error}");
    }
}
