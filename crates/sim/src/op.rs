//! The operations that a simulated environment counts, logs and can make fail.

use std::path::Path;
use std::sync::Arc;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// Opening, perhaps creating, a directory.
    OpenDir,
    /// Taking the lock.
    Lock,
    /// Listing a directory.
    List,
    /// Asking for a length.
    SizeOf,
    /// Making a file to append to.
    Create,
    /// Opening a file to read.
    OpenRead,
    /// Making the name of a log region, empty.
    CreateLog,
    /// Writing the zeros of a new log region, not yet durable.
    FillLog,
    /// Opening a log region to write it again.
    OpenLog,
    /// Appending.
    Append,
    /// Writing to a log region.
    WriteLog,
    /// Syncing a file or log region.
    SyncFile,
    /// Reading at an offset.
    ReadAt,
    /// Mapping a file.
    Map,
    /// Renaming.
    Rename,
    /// Removing a name.
    Unlink,
    /// Adding a second name.
    Link,
    /// Syncing a directory.
    SyncDir,
    /// Removing a directory.
    RemoveDir,
}

impl OpKind {
    /// Every kind.
    pub const ALL: [OpKind; 19] = [
        OpKind::OpenDir,
        OpKind::Lock,
        OpKind::List,
        OpKind::SizeOf,
        OpKind::Create,
        OpKind::OpenRead,
        OpKind::CreateLog,
        OpKind::FillLog,
        OpKind::OpenLog,
        OpKind::Append,
        OpKind::WriteLog,
        OpKind::SyncFile,
        OpKind::ReadAt,
        OpKind::Map,
        OpKind::Rename,
        OpKind::Unlink,
        OpKind::Link,
        OpKind::SyncDir,
        OpKind::RemoveDir,
    ];

    /// Whether it changes what is visible or durable. A crash before any other operation equals the
    /// crash before the next one that does.
    pub const fn is_mutating(self) -> bool {
        !matches!(
            self,
            OpKind::List
                | OpKind::SizeOf
                | OpKind::OpenRead
                | OpKind::OpenLog
                | OpKind::ReadAt
                | OpKind::Map
        )
    }

    /// Whether it makes something durable.
    pub const fn is_sync(self) -> bool {
        matches!(self, OpKind::SyncFile | OpKind::SyncDir)
    }

    /// Whether it hands bytes to a file.
    pub const fn is_write(self) -> bool {
        matches!(self, OpKind::Append | OpKind::WriteLog | OpKind::FillLog)
    }
}

/// One logged operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Its number, from 0.
    pub index: u64,
    /// What it does.
    pub kind: OpKind,
    /// The directory it is in.
    pub dir: Arc<Path>,
    /// The file, empty for operations on the directory itself.
    pub name: String,
    /// The second name of a rename or link, else empty.
    pub to: String,
    /// Where it reads or writes, else 0.
    pub offset: u64,
    /// How many bytes, else 0.
    pub len: u64,
    /// Whether it was refused, by a fault, a crash, or because it made no sense.
    pub failed: bool,
}
