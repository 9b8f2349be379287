//! Faults: which operation fails, how, and for how long.

use std::io;

use cairndb_base::Error;

use crate::op::{Op, OpKind};

/// The error that an operation reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The medium failed (`EIO`).
    Io,
    /// The disk is full (`ENOSPC`).
    Full,
    /// The user's quota is exhausted (`EDQUOT`).
    Quota,
    /// No descriptors are left (`EMFILE`).
    Descriptors,
    /// Permission is denied (`EACCES`).
    Permission,
    /// The file system turned read-only (`EROFS`).
    ReadOnly,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 6] = [
        Cause::Io,
        Cause::Full,
        Cause::Quota,
        Cause::Descriptors,
        Cause::Permission,
        Cause::ReadOnly,
    ];

    /// Returns the error as the real environment would; the caller adds its subject.
    pub(crate) fn error(self) -> Error {
        let cause = match self {
            Cause::Io => io::Error::other("injected: the device failed"),
            Cause::Full => io::ErrorKind::StorageFull.into(),
            Cause::Quota => io::ErrorKind::QuotaExceeded.into(),
            Cause::Descriptors => io::Error::other("injected: too many open files"),
            Cause::Permission => io::ErrorKind::PermissionDenied.into(),
            Cause::ReadOnly => io::ErrorKind::ReadOnlyFilesystem.into(),
        };
        Error::io("do the operation", cause)
    }
}

/// The part of a write that is done before it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Short {
    /// One byte.
    OneByte,
    /// Half of it.
    Half,
    /// All but the last byte.
    AllButOne,
}

impl Short {
    /// Returns how many of `len` bytes are transferred.
    pub(crate) const fn of(self, len: usize) -> usize {
        match self {
            Short::OneByte => {
                if len < 1 {
                    len
                } else {
                    1
                }
            }
            Short::Half => len / 2,
            Short::AllButOne => len.saturating_sub(1),
        }
    }
}

/// The effect of a fault on an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The operation fails without any effect. A sync leaves everything pending.
    Fails(Cause),
    /// A rename fails after it was done, as on a network file system whose reply is lost.
    DoneButFails(Cause),
    /// A write is partly done, then fails.
    WritesPart(Short, Cause),
    /// A read finds the file shorter than it is.
    ReadsShort,
    /// A file sync fails; the visible bytes stay and count as clean: no later sync writes them.
    SyncKeepsCache,
    /// A file sync fails; the visible bytes revert to what the disk holds.
    SyncDropsCache,
    /// A file sync loses the bytes as above, keeps them visible, and reports success: the next sync
    /// of the file reports the error.
    SyncReportsLate,
    /// A sync reports success and does nothing.
    SyncLies,
}

impl Effect {
    /// Returns whether an operation of this kind can have this effect.
    pub const fn applies_to(self, kind: OpKind) -> bool {
        match self {
            Effect::Fails(_) => true,
            Effect::DoneButFails(_) => matches!(kind, OpKind::Rename),
            Effect::WritesPart(..) => kind.is_write(),
            Effect::ReadsShort => matches!(kind, OpKind::ReadAt),
            Effect::SyncKeepsCache | Effect::SyncDropsCache | Effect::SyncReportsLate => {
                matches!(kind, OpKind::SyncFile)
            }
            Effect::SyncLies => kind.is_sync(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum When {
    Index(u64),
    Kind {
        kind: Option<OpKind>,
        name: String,
        skip: u64,
    },
}

/// A fault: an effect, and the operations that it hits, once or until healed.
///
/// ```
/// use cairndb_sim::{Cause, Effect, Fault, OpKind};
/// let fault = Fault::on(OpKind::SyncFile, ".tbl", Effect::SyncDropsCache).after(2).sticky();
/// assert_eq!(fault.effect(), Effect::SyncDropsCache);
/// let fault = Fault::at(17, Effect::Fails(Cause::Full));
/// # assert_eq!(fault.effect(), Effect::Fails(Cause::Full));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    when: When,
    effect: Effect,
    sticky: bool,
    /// The kind of the first operation hit, which a sticky fault by index then keeps hitting.
    kind_hit: Option<OpKind>,
    spent: bool,
}

impl Fault {
    /// Returns a fault that hits the operation with this index, if the effect applies to it. If
    /// sticky, it also hits every later operation of the same kind.
    pub fn at(index: u64, effect: Effect) -> Fault {
        Fault::new(When::Index(index), effect)
    }

    /// Returns a fault that hits the first operation of this kind on a file whose name contains
    /// `name`.
    pub fn on(kind: OpKind, name: &str, effect: Effect) -> Fault {
        let when = When::Kind {
            kind: Some(kind),
            name: name.to_owned(),
            skip: 0,
        };
        Fault::new(when, effect)
    }

    /// Returns a fault that hits the first operation of any kind to which the effect applies, on a
    /// file whose name contains `name`.
    pub fn on_any(name: &str, effect: Effect) -> Fault {
        let when = When::Kind {
            kind: None,
            name: name.to_owned(),
            skip: 0,
        };
        Fault::new(when, effect)
    }

    /// Spares the first `count` operations that it would hit.
    #[must_use]
    pub fn after(mut self, count: u64) -> Fault {
        if let When::Kind { skip, .. } = &mut self.when {
            *skip = count;
        }
        self
    }

    /// Keeps the fault active until [`crate::SimEnv::heal`].
    #[must_use]
    pub fn sticky(mut self) -> Fault {
        self.sticky = true;
        self
    }

    /// Returns the fault's effect.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    fn new(when: When, effect: Effect) -> Fault {
        Fault {
            when,
            effect,
            sticky: false,
            kind_hit: None,
            spent: false,
        }
    }

    /// Returns the effect on `op`, if the fault hits it.
    pub(crate) fn strike(&mut self, op: &Op) -> Option<Effect> {
        if self.spent || !self.effect.applies_to(op.kind) {
            return None;
        }
        let hit = match &mut self.when {
            When::Index(index) => *index == op.index || self.kind_hit == Some(op.kind),
            When::Kind { kind, name, skip } => {
                let matches = kind.is_none_or(|kind| kind == op.kind) && op.name.contains(&**name);
                if matches && *skip > 0 {
                    *skip -= 1;
                    return None;
                }
                matches
            }
        };
        if !hit {
            return None;
        }
        self.kind_hit = Some(op.kind);
        self.spent = !self.sticky;
        Some(self.effect)
    }
}
