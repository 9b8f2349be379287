//! Block builder: entries in ascending order to the bytes of a block.

use cairndb_base::coding::put_varint;

/// Builds one block after the other.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    /// Entries since the last restart point.
    since_restart: usize,
    /// Entries from one restart point to the next.
    interval: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    pub(crate) fn new(interval: usize) -> BlockBuilder {
        assert!(interval > 0, "a run has an entry");
        BlockBuilder {
            bytes: Vec::new(),
            restarts: vec![0],
            since_restart: 0,
            interval,
            last_key: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of the finished block.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.restarts.len() * 4 + 4
    }

    /// The key of the last entry.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Appends an entry; the caller keeps the order.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.since_restart == self.interval {
            let at = u32::try_from(self.bytes.len()).expect("a block is shorter than 4 GiB");
            self.restarts.push(at);
            self.since_restart = 0;
        } else {
            let pairs = self.last_key.iter().zip(key);
            shared = pairs.take_while(|(before, now)| before == now).count();
        }
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, (key.len() - shared) as u64);
        put_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.since_restart += 1;
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        debug_assert_eq!(self.last_key, key);
    }

    /// Returns the block and begins another.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        for restart in &self.restarts {
            bytes.extend_from_slice(&restart.to_le_bytes());
        }
        let count = u32::try_from(self.restarts.len()).expect("fewer restart points than bytes");
        bytes.extend_from_slice(&count.to_le_bytes());
        self.restarts.truncate(1);
        self.since_restart = 0;
        self.last_key.clear();
        bytes
    }
}
