//! The simulated disk: what is visible, what is durable, and what is pending.
//!
//! Pure state, without faults or handles. Every inode and directory has two versions: the visible
//! one, which reads see, and the durable one, which every crash keeps. Units and name operations
//! between the two stay pending, in one order over the whole disk, until a sync. Copies share
//! everything they can, because a crash point is kept as a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::content::{Content, mix};
use crate::unit::{self, Pending, Unit};

/// Number of an inode, never used twice.
pub(crate) type InodeId = u64;
/// Index of a directory, never used twice.
pub(crate) type DirId = usize;

/// Number of removed files whose contents are kept to reappear as stale bytes.
const GRAVES_MAX: usize = 8;
/// Number of unreachable inodes tolerated before a collection.
const GARBAGE_MIN: usize = 64;

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct Inode {
    /// A name that the file had, for messages and to find stale bytes of its kind.
    pub(crate) name: String,
    pub(crate) visible: Content,
    pub(crate) durable: Content,
    pub(crate) pending: Vec<Pending>,
    /// Whether a failed sync left visible bytes that count as clean: from now on only units reach
    /// the disk.
    pub(crate) diverged: bool,
    /// Whether the next sync reports the error of an earlier one.
    pub(crate) late_error: bool,
    /// Shared with every open handle.
    pub(crate) pin: Arc<()>,
}

/// One change of one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameOp {
    /// A created or linked name.
    Add { name: String, inode: InodeId },
    /// A removed name.
    Remove { name: String, inode: InodeId },
    /// A rename: both names change together or not at all.
    Rename {
        from: String,
        to: String,
        inode: InodeId,
    },
}

impl NameOp {
    fn inode(&self) -> InodeId {
        match self {
            NameOp::Add { inode, .. }
            | NameOp::Remove { inode, .. }
            | NameOp::Rename { inode, .. } => *inode,
        }
    }

    /// Applies the operation to `names`, whatever was done before.
    pub(crate) fn apply(&self, names: &mut BTreeMap<String, InodeId>) {
        match self {
            NameOp::Add { name, inode } => {
                names.insert(name.clone(), *inode);
            }
            NameOp::Remove { name, inode } => {
                if names.get(name) == Some(inode) {
                    names.remove(name);
                }
            }
            NameOp::Rename { from, to, inode } => {
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
                names.insert(to.clone(), *inode);
            }
        }
    }
}

/// A name operation that no directory sync has covered yet.
#[derive(Clone, Debug)]
pub(crate) struct PendingName {
    pub(crate) seq: u64,
    pub(crate) dir: DirId,
    pub(crate) op: NameOp,
    /// Whether a later sync has made it durable, on an ordered journal.
    pub(crate) journaled: bool,
}

/// One directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) visible: BTreeMap<String, InodeId>,
    pub(crate) durable: BTreeMap<String, InodeId>,
    pub(crate) removed: bool,
}

/// The reason why a name operation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Missing,
    Exists,
}

/// Everything on the simulated disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    pub(crate) inodes: BTreeMap<InodeId, Arc<Inode>>,
    pub(crate) dirs: Vec<Arc<Directory>>,
    pub(crate) names: Arc<Vec<PendingName>>,
    /// Names and contents of removed files, newest last.
    pub(crate) graves: Arc<Vec<(String, Content)>>,
    next_seq: u64,
    next_inode: InodeId,
}

impl Disk {
    // Directories ------------------------------------------------------------------------------

    pub(crate) fn find_dir(&self, path: &Path) -> Option<DirId> {
        let found = |dir: &Arc<Directory>| !dir.removed && dir.path == path;
        self.dirs.iter().position(found)
    }

    /// Adds a directory, durable at once (see [`Env::open_dir`](cairndb_env::Env::open_dir)).
    pub(crate) fn add_dir(&mut self, path: &Path) -> DirId {
        self.dirs.push(Arc::new(Directory {
            path: path.to_owned(),
            ..Directory::default()
        }));
        self.dirs.len() - 1
    }

    pub(crate) fn remove_dir(&mut self, dir: DirId) {
        self.names_mut().retain(|name| name.dir != dir);
        *Arc::make_mut(&mut self.dirs[dir]) = Directory {
            path: self.dirs[dir].path.clone(),
            removed: true,
            ..Directory::default()
        };
    }

    /// Renames a directory in place of another, if there is one; durable at once.
    pub(crate) fn rename_dir(&mut self, dir: DirId, to: &Path) {
        if let Some(replaced) = self.find_dir(to) {
            self.remove_dir(replaced);
        }
        to.clone_into(&mut Arc::make_mut(&mut self.dirs[dir]).path);
    }

    pub(crate) fn lookup(&self, dir: DirId, name: &str) -> Option<InodeId> {
        self.dirs[dir].visible.get(name).copied()
    }

    /// Adds a new empty file.
    pub(crate) fn create(&mut self, dir: DirId, name: &str) -> Result<InodeId, Refusal> {
        if self.lookup(dir, name).is_some() {
            return Err(Refusal::Exists);
        }
        self.next_inode += 1;
        let inode = self.next_inode;
        self.put_inode(inode, name, Content::default());
        self.change_names(
            dir,
            NameOp::Add {
                name: name.to_owned(),
                inode,
            },
        );
        Ok(inode)
    }

    /// Adds a second name for a file.
    pub(crate) fn link(
        &mut self,
        (dir, name): (DirId, &str),
        (to, to_name): (DirId, &str),
    ) -> Result<InodeId, Refusal> {
        let inode = self.lookup(dir, name).ok_or(Refusal::Missing)?;
        if self.lookup(to, to_name).is_some() {
            return Err(Refusal::Exists);
        }
        self.change_names(
            to,
            NameOp::Add {
                name: to_name.to_owned(),
                inode,
            },
        );
        Ok(inode)
    }

    pub(crate) fn unlink(&mut self, dir: DirId, name: &str) -> Result<InodeId, Refusal> {
        let inode = self.lookup(dir, name).ok_or(Refusal::Missing)?;
        self.change_names(
            dir,
            NameOp::Remove {
                name: name.to_owned(),
                inode,
            },
        );
        self.bury(inode);
        Ok(inode)
    }

    pub(crate) fn rename(&mut self, dir: DirId, from: &str, to: &str) -> Result<InodeId, Refusal> {
        let inode = self.lookup(dir, from).ok_or(Refusal::Missing)?;
        if from != to {
            self.change_names(
                dir,
                NameOp::Rename {
                    from: from.to_owned(),
                    to: to.to_owned(),
                    inode,
                },
            );
            to.clone_into(&mut self.inode_mut(inode).name);
        }
        Ok(inode)
    }

    /// Makes every name of a directory durable. On an ordered journal this includes all earlier
    /// name operations of the disk.
    pub(crate) fn sync_dir(&mut self, dir: DirId) {
        let ours = self.names.iter().rev().find(|name| name.dir == dir);
        if let Some(last) = ours.map(|name| name.seq) {
            let names = self.names_mut();
            names.retain(|name| name.dir != dir);
            for name in names.iter_mut().filter(|name| name.seq < last) {
                name.journaled = true;
            }
        }
        let directory = Arc::make_mut(&mut self.dirs[dir]);
        directory.durable = directory.visible.clone();
        self.collect_garbage();
    }

    fn change_names(&mut self, dir: DirId, op: NameOp) {
        op.apply(&mut Arc::make_mut(&mut self.dirs[dir]).visible);
        let seq = self.take_seq();
        self.names_mut().push(PendingName {
            seq,
            dir,
            op,
            journaled: false,
        });
    }

    // Files ------------------------------------------------------------------------------------

    pub(crate) fn inode(&self, id: InodeId) -> &Inode {
        &self.inodes[&id]
    }

    pub(crate) fn inode_mut(&mut self, id: InodeId) -> &mut Inode {
        let inode = self.inodes.get_mut(&id).expect("a handle pins its inode");
        Arc::make_mut(inode)
    }

    fn put_inode(&mut self, id: InodeId, name: &str, content: Content) {
        let inode = Inode {
            name: name.to_owned(),
            visible: content.clone(),
            durable: content,
            pending: Vec::new(),
            diverged: false,
            late_error: false,
            pin: Arc::new(()),
        };
        self.inodes.insert(id, Arc::new(inode));
    }

    /// Writes at an offset, extending the file as needed; the difference stays pending.
    pub(crate) fn write(&mut self, id: InodeId, offset: u64, bytes: &[u8]) {
        self.change(id, |visible, keep| {
            unit::write(visible, offset, bytes, keep);
        });
    }

    fn change(&mut self, id: InodeId, change: impl FnOnce(&mut Content, &mut dyn FnMut(Unit))) {
        let mut seq = self.next_seq;
        let inode = self.inode_mut(id);
        let pending = &mut inode.pending;
        change(&mut inode.visible, &mut |unit| {
            pending.push(Pending { seq, unit });
            seq += 1;
        });
        self.next_seq = seq;
    }

    /// Extends a file with zeros that are visible but, like its size, not durable.
    pub(crate) fn grow(&mut self, id: InodeId, len: u64) {
        self.change(id, |visible, keep| unit::grow(visible, len, keep));
    }

    /// Makes a file's bytes durable. On an ordered journal this includes its name.
    pub(crate) fn sync(&mut self, id: InodeId) {
        let inode = self.inode_mut(id);
        if inode.diverged {
            let units = inode.pending.iter().map(|pending| &pending.unit);
            unit::apply(&mut inode.durable, units, |_| None);
        } else {
            inode.durable = inode.visible.clone();
        }
        inode.pending.clear();
        let own = self.names.iter().rev().find(|name| name.op.inode() == id);
        if let Some(last) = own.map(|name| name.seq) {
            for name in self.names_mut().iter_mut().filter(|name| name.seq <= last) {
                name.journaled = true;
            }
        }
    }

    /// Applies a failed sync: pending changes count as clean and never reach the disk. The visible
    /// bytes stay, or revert to what the disk holds.
    pub(crate) fn lose_sync(&mut self, id: InodeId, visible_falls_back: bool) {
        let inode = self.inode_mut(id);
        inode.pending.clear();
        if visible_falls_back {
            inode.visible = inode.durable.clone();
            inode.diverged = false;
        } else {
            inode.diverged = true;
        }
    }

    /// Returns the total size of all files that have a visible name.
    pub(crate) fn used_bytes(&self) -> u64 {
        let dirs = self.dirs.iter();
        let linked: BTreeSet<_> = dirs.flat_map(|dir| dir.visible.values().copied()).collect();
        let sizes = linked.iter().map(|&inode| self.inode(inode).visible.len());
        sizes.sum()
    }

    // Damage and inspection --------------------------------------------------------------------

    /// Changes a file outside the simulation, both visibly and durably, creating it if missing.
    pub(crate) fn tamper(&mut self, dir: DirId, name: &str, change: impl FnOnce(&mut Content)) {
        let found = self.lookup(dir, name);
        let id = found.unwrap_or_else(|| {
            self.next_inode += 1;
            let id = self.next_inode;
            self.put_inode(id, name, Content::default());
            let directory = Arc::make_mut(&mut self.dirs[dir]);
            directory.visible.insert(name.to_owned(), id);
            directory.durable.insert(name.to_owned(), id);
            id
        });
        let inode = self.inode_mut(id);
        change(&mut inode.visible);
        inode.durable = inode.visible.clone();
        inode.pending.clear();
    }

    /// Removes a name outside the simulation.
    pub(crate) fn vanish(&mut self, dir: DirId, name: &str) -> bool {
        let Some(inode) = self.lookup(dir, name) else {
            return false;
        };
        self.names_mut()
            .retain(|pending| pending.dir != dir || pending.op.inode() != inode);
        let directory = Arc::make_mut(&mut self.dirs[dir]);
        directory.visible.remove(name);
        directory.durable.remove(name);
        true
    }

    // Upkeep -----------------------------------------------------------------------------------

    fn names_mut(&mut self) -> &mut Vec<PendingName> {
        Arc::make_mut(&mut self.names)
    }

    fn take_seq(&mut self) -> u64 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// Keeps the bytes of a file that loses a name, to reappear in freed blocks.
    fn bury(&mut self, id: InodeId) {
        let grave = (self.inode(id).name.clone(), self.inode(id).visible.clone());
        let graves = Arc::make_mut(&mut self.graves);
        if graves.len() == GRAVES_MAX {
            graves.remove(0);
        }
        graves.push(grave);
    }

    /// Drops inodes that have neither a durable or visible name nor a handle.
    fn collect_garbage(&mut self) {
        let named: usize = self.dirs.iter().map(|dir| dir.visible.len()).sum();
        if self.inodes.len() < 2 * named + GARBAGE_MIN {
            return;
        }
        let dirs = self.dirs.iter();
        let mut reachable: BTreeSet<InodeId> = dirs
            .flat_map(|dir| dir.visible.values().chain(dir.durable.values()))
            .copied()
            .collect();
        reachable.extend(self.names.iter().map(|name| name.op.inode()));
        self.inodes
            .retain(|id, inode| reachable.contains(id) || Arc::strong_count(&inode.pin) > 1);
    }
}

/// The remains of a crash: the parts of a disk in which visible and durable are equal.
#[derive(Debug)]
pub(crate) struct Remains {
    /// Each directory's path and entries, in the order of the original directories.
    pub(crate) dirs: Vec<(PathBuf, BTreeMap<String, InodeId>)>,
    pub(crate) contents: BTreeMap<InodeId, Content>,
}

impl Disk {
    /// Returns the disk that a crash of this one leaves.
    pub(crate) fn settle(&self, remains: Remains) -> Disk {
        let mut disk = Disk {
            graves: self.graves.clone(),
            next_inode: self.next_inode,
            ..Disk::default()
        };
        for (id, content) in remains.contents {
            disk.put_inode(id, &self.inode(id).name, content);
        }
        for (path, names) in remains.dirs {
            disk.dirs.push(Arc::new(Directory {
                path,
                durable: names.clone(),
                visible: names,
                removed: false,
            }));
        }
        disk
    }

    /// Returns a hash of all paths, names and contents, including durable ones that differ.
    pub(crate) fn hash(&self) -> u64 {
        let mut state = 0;
        for dir in self.dirs.iter().filter(|dir| !dir.removed) {
            state = mix(state, xxh3_64(dir.path.as_os_str().as_encoded_bytes()));
            for (name, &id) in &dir.visible {
                let inode = self.inode(id);
                state = mix(state, xxh3_64(name.as_bytes()));
                state = mix(state, inode.visible.hash());
                if inode.diverged || !inode.pending.is_empty() {
                    state = mix(state, inode.durable.hash() ^ 1);
                }
            }
            if dir.visible != dir.durable {
                for (name, &id) in &dir.durable {
                    state = mix(state, xxh3_64(name.as_bytes()) ^ 1);
                    state = mix(state, self.inode(id).durable.hash());
                }
            }
        }
        state
    }
}
