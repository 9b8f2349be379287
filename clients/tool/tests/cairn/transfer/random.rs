//! Random databases.

use std::path::Path;

use cairndb_env::testing::setting::setting;

use crate::{Entries, home, write};

/// Runs `check` on random databases, each in a directory that holds it as `from`.
pub(crate) fn on_random(
    name: &str,
    kind: fn(&mut Random) -> Entries,
    mut check: impl FnMut(&Path, &mut Random, Entries),
) {
    let seed = setting("CAIRN_SEED").unwrap_or(1);
    for seed in seed..seed + setting("CAIRN_TRANSFERS").unwrap_or(12) {
        let mut random = Random::new(seed);
        let entries = kind(&mut random);
        println!("{name}: CAIRN_SEED={seed}: {} entries", entries.len());
        let at = home();
        write(&at.join("from"), &entries);
        check(&at, &mut random, entries);
    }
}

/// Random numbers from a seed: xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Bytes of one of three kinds: any, printable, and those that formats treat specially.
    pub(crate) fn bytes(&mut self, len: u64) -> Vec<u8> {
        const SPECIAL: &[u8] = b"\\\",\n\r\t \0=#x4{}\xff\xc3\x28\x7f";
        let kind = self.below(3);
        (0..len)
            .map(|_| {
                let random = self.next().to_le_bytes()[4];
                match kind {
                    0 => random,
                    1 => b' ' + random % 95,
                    _ => SPECIAL[usize::from(random) % SPECIAL.len()],
                }
            })
            .collect()
    }

    /// A database of up to a few hundred entries: empty keys and values, every byte value, and at
    /// times a value of 4 MB. One in ten is empty.
    pub(crate) fn entries(&mut self) -> Entries {
        let mut entries = Entries::new();
        let count = [300, 1][usize::from(self.below(10) == 0)];
        let count = self.below(count);
        for _ in 0..count {
            let key_len = match self.below(20) {
                0 => 0,
                1 => self.below(600),
                _ => self.below(24),
            };
            let key = self.bytes(key_len);
            let value_len = match self.below(10) {
                0 => 0,
                1 => self.below(20_000),
                _ => self.below(200),
            };
            entries.insert(key, self.bytes(value_len));
        }
        if count > 0 && self.below(8) == 0 {
            entries.insert(self.bytes(9), self.bytes(4_000_000));
        }
        if count > 0 && self.below(2) == 0 {
            let all: Vec<u8> = (0..=255).collect();
            entries.insert(all.clone(), all);
        }
        entries
    }

    /// What LMDB can hold.
    pub(crate) fn lmdb_entries(&mut self) -> Entries {
        let mut entries = self.entries();
        entries.retain(|key, _| (1..=511).contains(&key.len()));
        entries
    }
}
