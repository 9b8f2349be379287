//! What the writer of the process tests writes, such that a reader can check every answer.
//!
//! The keys are divided into groups. A write replaces a whole group in one batch: each member gets
//! the number of the write, in the default keyspace and in another one, and a marker states the
//! number and how many members there are. In shared memory the writer notes the number before the
//! write and after its acknowledgement: a read that begins and ends in between must find one of
//! these numbers, or one between them, and exactly the members of that write.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb::env::random::Random;
use cairndb::env::{Env, RealEnv, SharedWords};
use cairndb::{Db, Durability, Keyspace, KeyspaceOptions, WriteBatch, WriteOptions};

/// Number of groups.
pub(crate) const GROUPS: usize = 48;
/// Maximum number of members of a group.
const MEMBERS_MAX: u64 = 24;
/// The keyspace in which each group has its members, too.
pub(crate) const SPACE: &str = "members";

/// The notes of the writer.
pub(crate) struct Notes(SharedWords);

impl Notes {
    /// Opens the notes in a directory that is not the database's.
    pub(crate) fn open(dir: &Path) -> Notes {
        let dir = RealEnv::new().open_dir(dir, false).unwrap();
        Notes(dir.open_shared("notes", 4096, true).unwrap())
    }

    fn begun(&self, group: usize) -> &AtomicU64 {
        &self.0[8 * group]
    }

    fn acknowledged(&self, group: usize) -> &AtomicU64 {
        &self.0[8 * group + 1]
    }

    /// A word for the whole test.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.0[8 * GROUPS + at]
    }

    pub(crate) fn first(&self, group: usize) -> u64 {
        self.acknowledged(group).load(Ordering::SeqCst)
    }

    pub(crate) fn last(&self, group: usize) -> u64 {
        self.begun(group).load(Ordering::SeqCst)
    }
}

pub(crate) fn marker(group: usize) -> Vec<u8> {
    format!("group{group:03}/").into_bytes()
}

pub(crate) fn member(group: usize, member: u64) -> Vec<u8> {
    format!("group{group:03}/{member:04}").into_bytes()
}

/// Returns the end of the keys of a group.
pub(crate) fn end(group: usize) -> Vec<u8> {
    format!("group{group:03}0").into_bytes()
}

/// Returns how many members a write has.
pub(crate) fn members(number: u64) -> u64 {
    match number % 13 {
        0 => 0,
        _ => 1 + number.wrapping_mul(0x9E37_79B9) % MEMBERS_MAX,
    }
}

/// Returns the value of a member.
pub(crate) fn value(group: usize, number: u64, member: u64) -> Vec<u8> {
    let len = match (number + member) % 97 {
        0 => 9_000,
        1..8 => 1_000,
        other => 16 + usize::try_from(other).unwrap(),
    };
    let text = format!("{group} {number} {member} ");
    text.bytes().cycle().take(len).collect()
}

/// Writes until `until` returns true.
pub(crate) fn write(db: &Db, notes: &Notes, seed: u64, until: impl Fn() -> bool) {
    let mut random = Random::new(seed);
    let space = db.keyspace(SPACE);
    let space =
        space.unwrap_or_else(|_| db.create_keyspace(SPACE, &KeyspaceOptions::new()).unwrap());
    while !until() {
        let group = random.index(GROUPS);
        // After a kill, the last write may have happened or not.
        let number = notes.last(group) + 1;
        notes.begun(group).store(number, Ordering::SeqCst);
        let batch = batch(&space, group, number);
        let durability = match random.index(400) {
            0 => Durability::Sync,
            _ => Durability::Os,
        };
        let options = WriteOptions::new().durability(durability);
        db.write_with(&batch, &options).unwrap();
        notes.acknowledged(group).store(number, Ordering::SeqCst);
        match random.index(60_000) {
            0..3 => db.compact_range(..).unwrap(),
            3..20 => db.compact_range(marker(group)..end(group)).unwrap(),
            20..60 => db.flush().unwrap(),
            60..200 => {
                // Keyspaces come and go meanwhile.
                let name = format!("other{}", random.index(3));
                if db.drop_keyspace(&name).is_err() {
                    let options = KeyspaceOptions::new();
                    let other = db.create_keyspace(&name, &options).unwrap();
                    other.put(b"key", &number.to_le_bytes()).unwrap();
                }
            }
            200..260 => {
                // Seen only later, or never.
                let options = WriteOptions::new().durability(Durability::None);
                db.put_with(b"unlogged", &number.to_le_bytes(), &options)
                    .unwrap();
            }
            _ => {}
        }
    }
}

fn batch(space: &Keyspace, group: usize, number: u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let count = members(number);
    if number.is_multiple_of(3) {
        batch.delete_range(marker(group)..end(group));
        batch.delete_range_in(space, marker(group)..end(group));
    } else {
        // The last write may have been one before, if a process was killed.
        for n in 0..MEMBERS_MAX {
            batch.delete(&member(group, n));
            batch.delete_in(space, &member(group, n));
        }
    }
    batch.put(&marker(group), &number.to_le_bytes());
    for n in 0..count {
        let value = value(group, number, n);
        batch.put(&member(group, n), &value);
        batch.put_in(space, &member(group, n), &value);
    }
    batch
}
