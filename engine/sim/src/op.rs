//! The operations that a simulated environment counts, logs and can make fail.

use std::path::Path;
use std::sync::Arc;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// Opening a directory, perhaps creating it.
    OpenDir,
    /// Taking the lock.
    Lock,
    /// Listing a directory.
    List,
    /// Querying a file's length.
    SizeOf,
    /// Creating a file for appending.
    Create,
    /// Opening a file for reading.
    OpenRead,
    /// Creating an empty file for a log region.
    CreateLog,
    /// Writing the zeros of a new log region, which are not durable yet.
    FillLog,
    /// Opening a log region to overwrite it.
    OpenLog,
    /// Appending to a file.
    Append,
    /// Writing to a log region.
    WriteLog,
    /// Syncing a file or log region.
    SyncFile,
    /// Reading from a file at an offset.
    ReadAt,
    /// Mapping a file.
    Map,
    /// Renaming a file.
    Rename,
    /// Removing a name.
    Unlink,
    /// Adding a second name for a file.
    Link,
    /// Syncing a directory.
    SyncDir,
    /// Removing a directory.
    RemoveDir,
    /// Renaming a directory.
    RenameDir,
    /// Opening a file of shared words, perhaps creating it.
    OpenShared,
}

impl OpKind {
    /// Every kind.
    pub const ALL: [OpKind; 21] = [
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
        OpKind::RenameDir,
        OpKind::OpenShared,
    ];

    /// Returns whether the operation changes what is visible or durable. A crash before any other
    /// operation equals the crash before the next one that does.
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

    /// Returns whether the operation makes something durable.
    pub const fn is_sync(self) -> bool {
        matches!(self, OpKind::SyncFile | OpKind::SyncDir)
    }

    /// Returns whether the operation passes bytes to a file.
    pub const fn is_write(self) -> bool {
        matches!(self, OpKind::Append | OpKind::WriteLog | OpKind::FillLog)
    }
}

/// One logged operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The operation's number, starting from 0.
    pub index: u64,
    /// The operation's kind.
    pub kind: OpKind,
    /// The operation's directory.
    pub dir: Arc<Path>,
    /// The file; empty for operations on the directory itself.
    pub name: String,
    /// The second name of a rename or link, otherwise empty.
    pub to: String,
    /// The offset of a read or write, otherwise 0.
    pub offset: u64,
    /// The number of bytes, otherwise 0.
    pub len: u64,
    /// Whether the operation was refused, by a fault or a crash or because it was invalid.
    pub failed: bool,
}
