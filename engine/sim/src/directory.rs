//! Simulated directories and locks.

use std::any::Any;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::implement::{Hold, SharedHeap};
use cairndb_env::{
    Dir, DirLock, FileId, FileSync, Linked, LockState, LogRegion, ReadFile, SharedWords, Space,
    WritableFile,
};

use crate::disk::{DirId, InodeId, Refusal};
use crate::fault::Effect;
use crate::files::{Handle, SharedState, SimLog, SimReader, SimWriter, missing, refusal};
use crate::op::OpKind;
use crate::protocol::Event;
use crate::state::{Call, SimState};

/// See [`Env::open_dir`](cairndb_env::Env::open_dir). The root exists; any other parent must exist.
pub(crate) fn open_dir(
    shared: &SharedState,
    process: u64,
    path: &Path,
    create: bool,
) -> Result<Arc<dyn Dir>> {
    let path = normal(path);
    let mut state = shared.lock();
    let name = path.to_string_lossy();
    let call = Call {
        process,
        ..Call::new(OpKind::OpenDir, &path, &name)
    };
    state.begin(&call, || None)?;
    let dir = match state.disk.find_dir(&path) {
        Some(dir) => dir,
        None if !create => {
            let error = Error::new(ErrorKind::NotFound, "the directory does not exist");
            return Err(state.refuse(error.path(&path)));
        }
        None => state.disk.add_dir(&path),
    };
    state.checker.dir_opened(dir);
    drop(state);
    let shared = shared.clone();
    Ok(Arc::new(SimDir {
        shared,
        process,
        path,
        dir,
    }))
}

#[derive(Debug)]
struct SimDir {
    shared: SharedState,
    process: u64,
    path: Arc<Path>,
    dir: DirId,
}

impl SimDir {
    fn call<'a>(&'a self, kind: OpKind, name: &'a str) -> Call<'a> {
        Call {
            process: self.process,
            ..Call::new(kind, &self.path, name)
        }
    }

    fn handle(&self, state: &SimState, name: &str, inode: InodeId) -> Handle {
        Handle {
            shared: self.shared.clone(),
            process: self.process,
            dir: self.dir,
            path: self.path.clone(),
            name: name.to_owned(),
            inode,
            _pin: state.disk.inode(inode).pin.clone(),
        }
    }

    fn hold(
        &self,
        state: &mut SimState,
        inode: InodeId,
        name: &str,
        hold: Hold,
    ) -> Result<SimLock> {
        if !state.locks.take(inode, hold) {
            let message = "this process already has the database open; share or close that handle";
            let error = Error::new(ErrorKind::Locked, message);
            return Err(state.refuse(self.named(name, error)));
        }
        state.note_lock(self.process, inode);
        Ok(SimLock {
            shared: self.shared.clone(),
            process: self.process,
            inode,
        })
    }

    #[cold]
    fn foreign(&self, name: &str) -> Error {
        self.named(name, Error::invalid("a link must stay in one environment"))
    }

    fn find(&self, state: &mut SimState, name: &str) -> Result<InodeId> {
        let found = state.disk.lookup(self.dir, name);
        found.ok_or_else(|| state.refuse(self.named(name, missing())))
    }

    /// Adds this file of the directory to the error.
    #[cold]
    fn named(&self, name: &str, error: Error) -> Error {
        error.file(name).directory(&self.path)
    }
}

impl Dir for SimDir {
    fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::Lock, name), || None)?;
        let inode = match state.disk.lookup(self.dir, name) {
            Some(inode) => inode,
            None => match state.disk.create(self.dir, name) {
                Ok(inode) => inode,
                Err(why) => return Err(state.refuse(self.named(name, refusal(why)))),
            },
        };
        Ok(Box::new(self.hold(
            &mut state,
            inode,
            name,
            Hold::Exclusive,
        )?))
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::Lock, name), || None)?;
        match state.disk.lookup(self.dir, name) {
            Some(inode) => Ok(Some(Box::new(self.hold(
                &mut state,
                inode,
                name,
                Hold::Shared,
            )?))),
            None => Ok(None),
        }
    }

    fn lock_state(&self, name: &str) -> Result<LockState> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::Lock, name), || None)?;
        let inode = state.disk.lookup(self.dir, name);
        Ok(match inode.and_then(|inode| state.locks.hold(&inode)) {
            None => LockState::Free,
            Some(Hold::Shared) => LockState::Shared,
            Some(Hold::Exclusive) => LockState::Exclusive,
        })
    }

    fn open_shared(&self, name: &str, words: usize, create: bool) -> Result<SharedWords> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::OpenShared, name), || None)?;
        let inode = match state.disk.lookup(self.dir, name) {
            Some(inode) => inode,
            None if !create => return Err(state.refuse(self.named(name, missing()))),
            None => match state.disk.create(self.dir, name) {
                Ok(inode) => inode,
                Err(why) => return Err(state.refuse(self.named(name, refusal(why)))),
            },
        };
        // The words are no contents of the disk: a crash of the machine leaves none.
        let file = state.shared.entry(inode);
        let file = file.or_insert_with(|| SharedHeap::new(words));
        Ok(file.open(self.process))
    }

    fn list(&self) -> Result<Vec<String>> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::List, ""), || None)?;
        Ok(state.disk.dirs[self.dir].visible.keys().cloned().collect())
    }

    fn size_of(&self, name: &str) -> Result<Option<u64>> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::SizeOf, name), || None)?;
        let inode = state.disk.lookup(self.dir, name);
        Ok(inode.map(|inode| state.disk.inode(inode).visible.len()))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let mut state = self.shared.lock();
        state.check(Event::Create(self.dir, name));
        state.begin(&self.call(OpKind::Create, name), || None)?;
        match state.disk.create(self.dir, name) {
            Ok(inode) => {
                state.checker.file_made(self.dir, name);
                let handle = self.handle(&state, name, inode);
                Ok(Box::new(SimWriter { handle, size: 0 }))
            }
            Err(why) => Err(state.refuse(self.named(name, refusal(why)))),
        }
    }

    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::OpenRead, name), || None)?;
        let inode = self.find(&mut state, name)?;
        let handle = self.handle(&state, name, inode);
        let size = state.disk.inode(inode).visible.len();
        Ok(Arc::new(SimReader { handle, size }))
    }

    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>> {
        let mut state = self.shared.lock();
        state.check(Event::Create(self.dir, name));
        state.begin(&self.call(OpKind::CreateLog, name), || None)?;
        let inode = match state.disk.create(self.dir, name) {
            Ok(inode) => inode,
            Err(why) => return Err(state.refuse(self.named(name, refusal(why)))),
        };
        state.checker.file_made(self.dir, name);
        let handle = self.handle(&state, name, inode);
        if let Err(error) = handle.fill(&mut state, len) {
            if state.crash.is_none() {
                // Any error is ignored, as in the real environment.
                let _ = state.disk.unlink(self.dir, name);
            }
            return Err(error);
        }
        SimLog::new(&mut state, handle, len)
    }

    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::OpenLog, name), || None)?;
        let inode = self.find(&mut state, name)?;
        let handle = self.handle(&state, name, inode);
        let len = state.disk.inode(inode).visible.len();
        SimLog::new(&mut state, handle, len)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.shared.lock();
        let call = Call {
            to,
            ..self.call(OpKind::Rename, from)
        };
        state.check(Event::Rename(self.dir, from, to));
        let effect = state.begin(&call, || None)?;
        let result = state.disk.rename(self.dir, from, to);
        let result = result
            .map(drop)
            .map_err(|why| self.named(from, refusal(why)));
        let result = match effect {
            Some(Effect::DoneButFails(cause)) => result.and(Err(call.named(cause.error()))),
            _ => result,
        };
        result.map_err(|error| state.refuse(error))
    }

    fn unlink(&self, name: &str) -> Result<()> {
        let mut state = self.shared.lock();
        state.check(Event::Unlink(self.dir, name));
        state.begin(&self.call(OpKind::Unlink, name), || None)?;
        let result = state.disk.unlink(self.dir, name);
        let shared = result
            .as_ref()
            .ok()
            .and_then(|inode| state.shared.get(inode));
        if let Some(shared) = shared {
            shared.unlink();
        }
        result
            .map(drop)
            .map_err(|why| state.refuse(self.named(name, refusal(why))))
    }

    fn file_id(&self, name: &str) -> Result<Option<FileId>> {
        let mut state = self.shared.lock();
        let inode = self.find(&mut state, name)?;
        Ok(Some(FileId(0, inode)))
    }

    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<Linked> {
        let Some(to) = to.as_any().downcast_ref::<SimDir>() else {
            return Err(self.foreign(name));
        };
        if !Arc::ptr_eq(&self.shared, &to.shared) {
            return Err(self.foreign(name));
        }
        let mut state = self.shared.lock();
        let call = Call {
            to: to_name,
            to_dir: Some(&to.path),
            ..self.call(OpKind::Link, name)
        };
        state.begin(&call, || None)?;
        let result = state.disk.link((self.dir, name), (to.dir, to_name));
        result.map(|_| Linked::Shared).map_err(|why| {
            let error = match why {
                Refusal::Missing => self.named(name, refusal(why)),
                Refusal::Exists => call.named(refusal(why)),
            };
            state.refuse(error)
        })
    }

    fn sync_file(&self, name: &str) -> Result<()> {
        let handle = {
            let mut state = self.shared.lock();
            let inode = self.find(&mut state, name)?;
            self.handle(&state, name, inode)
        };
        FileSync::sync(&handle)
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.shared.lock();
        state.check(Event::SyncDir(self.dir));
        match state.begin(&self.call(OpKind::SyncDir, ""), || None) {
            Ok(Some(Effect::SyncLies)) => {}
            Ok(_) => state.disk.sync_dir(self.dir),
            Err(error) => {
                state.checker.dir_failed(self.dir);
                return Err(error);
            }
        }
        Ok(())
    }

    fn prefers_mapping(&self) -> bool {
        self.shared.lock().settings.mapping
    }

    fn space(&self) -> Result<Option<Space>> {
        let state = self.shared.lock();
        Ok(state.capacity.map(|total| Space {
            free: state.room(),
            total,
        }))
    }

    fn remove(&self) -> Result<()> {
        let mut state = self.shared.lock();
        state.begin(&self.call(OpKind::RemoveDir, ""), || None)?;
        if state.disk.dirs[self.dir].visible.is_empty() {
            state.disk.remove_dir(self.dir);
            return Ok(());
        }
        let cause = std::io::Error::from(std::io::ErrorKind::DirectoryNotEmpty);
        let error = Error::io("remove the directory", cause);
        Err(state.refuse(error.path(&self.path)))
    }

    fn rename_to(&self, to: &Path) -> Result<()> {
        let to = normal(to);
        let mut state = self.shared.lock();
        let call = Call {
            process: self.process,
            ..Call::new(OpKind::RenameDir, &to, "")
        };
        state.begin(&call, || None)?;
        let replaced = state.disk.find_dir(&to);
        if replaced.is_some_and(|dir| !state.disk.dirs[dir].visible.is_empty()) {
            let cause = std::io::Error::from(std::io::ErrorKind::DirectoryNotEmpty);
            let error = Error::io("rename the directory", cause);
            return Err(state.refuse(error.path(&to)));
        }
        state.disk.rename_dir(self.dir, &to);
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns a path as the simulation stores it, without `.`.
fn normal(path: &Path) -> Arc<Path> {
    let is_dot = |part: &Component<'_>| *part == Component::CurDir;
    let path: PathBuf = path.components().filter(|part| !is_dot(part)).collect();
    path.into()
}

#[derive(Debug)]
struct SimLock {
    shared: SharedState,
    process: u64,
    inode: InodeId,
}

impl DirLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.release_lock(self.process, self.inode);
    }
}
