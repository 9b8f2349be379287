//! Buffers of a thread that calls use one after the other, so that a get or a put allocates
//! nothing.

use std::cell::Cell;

use cairndb::WriteBatch;

/// Capacity above which a buffer is freed after use.
const KEPT_BYTES_MAX: usize = 256 << 10;
/// Capacity that a buffer for a string has at first, so that one call copies most strings.
const FIRST_BYTES: usize = 4 << 10;

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::new(Scratch::default());
}

/// The buffers. Their contents are those of the last use.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) text: Vec<u8>,
    pub(crate) batch: WriteBatch,
}

fn keep(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}

/// Runs `body` with the thread's buffers. A nested call gets fresh ones.
#[inline]
pub(crate) fn with_scratch<T>(body: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.take();
    if scratch.key.capacity() == 0 {
        scratch.key.reserve(FIRST_BYTES);
        scratch.value.reserve(FIRST_BYTES);
    }
    let result = body(&mut scratch);
    keep(&mut scratch.key);
    keep(&mut scratch.value);
    keep(&mut scratch.text);
    if scratch.batch.byte_len() > KEPT_BYTES_MAX {
        scratch.batch = WriteBatch::new();
    }
    SCRATCH.set(scratch);
    result
}
