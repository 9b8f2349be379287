//! What the formats share: the interface of those that write, and the limits of an entry.

use cairndb_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

use crate::transfer::contents::Contents;
use crate::transfer::source::KeyspaceSpec;

/// Appends entries to a buffer.
pub(crate) trait Encoder {
    /// Appends what precedes the first entry. `room` is an estimate of what another store needs;
    /// without keyspaces, [`Encoder::keyspace`] is not called.
    fn begin(&mut self, _room: u64, _has_keyspaces: bool, _out: &mut Vec<u8>) {}

    /// Begins a keyspace.
    fn keyspace(&mut self, _spec: &KeyspaceSpec, _out: &mut Vec<u8>) {}

    fn entry(&mut self, key: &[u8], value: &[u8], out: &mut Vec<u8>);

    /// Ends a block, after which an interrupted export can continue.
    fn cut(&mut self, _out: &mut Vec<u8>) {}

    /// Appends what follows the last entry.
    fn end(&mut self, _contents: &Contents, _out: &mut Vec<u8>) {}
}

/// Fails with the reason if an entry is none that the database can hold.
pub(crate) fn check_lengths(key: &[u8], value: &[u8]) -> Result<(), String> {
    for (name, bytes, most) in [
        ("key", key, KEY_BYTES_MAX),
        ("value", value, VALUE_BYTES_MAX),
    ] {
        if bytes.len() > most {
            return Err(format!("the {name} is longer than {most} bytes"));
        }
    }
    Ok(())
}
