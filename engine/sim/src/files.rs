//! Simulated files: appended, read, mapped, and log regions.
//!
//! Each operation is one call on the state under its lock (see `SimState::begin`), followed by a
//! change of the disk. A handle pins its inode, so that a removed file stays readable while it is
//! open.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::implement::{Mirror, front_of};
use cairndb_env::random::Random;
use cairndb_env::sync::Mutex;
use cairndb_env::{Access, FileSync, LogRegion, MappedBytes, Mapping, ReadFile, WritableFile};

use crate::crash::InFlight;
use crate::disk::{DirId, InodeId, Refusal};
use crate::fault::Effect;
use crate::op::OpKind;
use crate::protocol::Event;
use crate::state::{Call, SimState};

/// Maximum number of pieces of a write in progress.
const PIECES_MAX: usize = 8;

/// The state that all handles of an environment share.
pub(crate) type SharedState = Arc<Mutex<SimState>>;

/// An open file of any kind.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) shared: SharedState,
    pub(crate) process: u64,
    pub(crate) dir: DirId,
    pub(crate) path: Arc<Path>,
    pub(crate) name: String,
    pub(crate) inode: InodeId,
    pub(crate) _pin: Arc<()>,
}

#[cold]
pub(crate) fn missing() -> Error {
    Error::new(ErrorKind::NotFound, "the file does not exist")
}

#[cold]
pub(crate) fn refusal(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Missing => missing(),
        Refusal::Exists => {
            let cause = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
            Error::io("create the name", cause)
        }
    }
}

#[cold]
pub(crate) fn no_space() -> Error {
    let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
    Error::io("write the file", cause)
}

impl Handle {
    /// Adds this file to the error.
    #[cold]
    fn named(&self, error: Error) -> Error {
        error.file(&*self.name).directory(&self.path)
    }

    fn call(&self, kind: OpKind, offset: u64, len: usize) -> Call<'_> {
        Call {
            process: self.process,
            offset,
            len,
            ..Call::new(kind, &self.path, &self.name)
        }
    }

    /// Writes at an offset, as far as the disk has room and no fault hits.
    fn write(&self, kind: OpKind, offset: u64, parts: &[&[u8]]) -> Result<()> {
        let mut state = self.shared.lock();
        let bytes = parts.concat();
        let pieces = match kind {
            OpKind::Append => pages(offset, bytes.len()),
            _ => cuts(parts, &mut state.op_random()),
        };
        let call = self.call(kind, offset, bytes.len());
        let in_flight = || {
            let piece = |&(start, end): &(usize, usize)| {
                (offset + start as u64, bytes[start..end].to_vec())
            };
            Some(InFlight {
                inode: self.inode,
                pieces: pieces.iter().map(piece).collect(),
                in_order: kind == OpKind::Append,
            })
        };
        state.check(match kind {
            OpKind::WriteLog => Event::WriteLog(self.dir, self.inode, offset, bytes.len() as u64),
            _ => Event::Append(self.inode),
        });
        let effect = match state.begin(&call, in_flight) {
            Ok(effect) => effect,
            Err(error) => return Err(self.write_broke(&mut state, error)),
        };
        let (mut whole, mut error) = (bytes.len(), None);
        if let Some(Effect::WritesPart(short, cause)) = effect {
            whole = short.of(bytes.len());
            error = Some(self.named(cause.error()));
        }
        let len = state.disk.inode(self.inode).visible.len();
        let new = (offset + whole as u64).saturating_sub(len);
        let room = state.room();
        if new > room {
            let missing = usize::try_from(new - room).expect("less than was written");
            whole -= missing.min(whole);
            error = Some(self.named(no_space()).offset(offset));
        }
        for (start, end) in pieces {
            let end = end.min(whole);
            if start < end {
                state
                    .disk
                    .write(self.inode, offset + start as u64, &bytes[start..end]);
            }
        }
        match error {
            Some(error) => Err(self.write_broke(&mut state, error)),
            None => Ok(()),
        }
    }

    /// Extends a new log with its zeros, as far as the disk has room and no fault hits.
    pub(crate) fn fill(&self, state: &mut SimState, len: u64) -> Result<()> {
        let bytes = usize::try_from(len).map_err(|_| self.named(no_space()))?;
        let (mut whole, mut error) = (len, None);
        if let Some(Effect::WritesPart(short, cause)) =
            state.begin(&self.call(OpKind::FillLog, 0, bytes), || None)?
        {
            whole = short.of(bytes) as u64;
            error = Some(self.named(cause.error()));
        }
        if whole > state.room() {
            whole = state.room();
            error = Some(self.named(no_space()));
        }
        state.disk.grow(self.inode, whole);
        error.map_or(Ok(()), |error| Err(state.refuse(error)))
    }

    /// Records that nothing more may be written to the file, and why.
    fn write_broke(&self, state: &mut SimState, error: Error) -> Error {
        state.checker.write_failed(self.inode);
        state.refuse(error)
    }

    /// Records that the file can no longer be trusted, and why.
    fn sync_broke(&self, state: &mut SimState, error: Error) -> Error {
        state.checker.sync_failed(self.inode);
        state.refuse(error)
    }
}

impl FileSync for Handle {
    fn sync(&self) -> Result<()> {
        let mut state = self.shared.lock();
        state.check(Event::SyncFile(self.dir, self.inode));
        let effect = match state.begin(&self.call(OpKind::SyncFile, 0, 0), || None) {
            Ok(effect) => effect,
            Err(error) => return Err(self.sync_broke(&mut state, error)),
        };
        let failed = || {
            let cause = std::io::Error::other("injected: bytes could not be written back");
            self.named(Error::io("sync the file", cause))
        };
        if std::mem::take(&mut state.disk.inode_mut(self.inode).late_error) {
            return Err(self.sync_broke(&mut state, failed()));
        }
        match effect {
            None
            | Some(
                Effect::Fails(_)
                | Effect::DoneButFails(_)
                | Effect::WritesPart(..)
                | Effect::ReadsShort,
            ) => {
                state.disk.sync(self.inode);
                Ok(())
            }
            Some(Effect::SyncLies) => Ok(()),
            Some(Effect::SyncReportsLate) => {
                state.disk.lose_sync(self.inode, false);
                state.disk.inode_mut(self.inode).late_error = true;
                Ok(())
            }
            Some(Effect::SyncKeepsCache) => {
                state.disk.lose_sync(self.inode, false);
                Err(self.sync_broke(&mut state, failed()))
            }
            Some(Effect::SyncDropsCache) => {
                state.disk.lose_sync(self.inode, true);
                Err(self.sync_broke(&mut state, failed()))
            }
        }
    }
}

/// Returns the steps in which an append progresses, at page boundaries and at most a few.
fn pages(offset: u64, len: usize) -> Vec<(usize, usize)> {
    let step = len.div_ceil(PIECES_MAX).next_multiple_of(4096);
    let into_page = usize::try_from(offset % 4096).expect("below a page");
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < len {
        let end = (start + into_page + step) / 4096 * 4096 - into_page;
        let end = end.max(start + 1).min(len);
        pieces.push((start, end));
        start = end;
    }
    pieces
}

/// Returns the pieces of a copy to memory, cut between the parts and once within some of them.
fn cuts(parts: &[&[u8]], random: &mut Random) -> Vec<(usize, usize)> {
    let mut ends = Vec::new();
    let mut at = 0;
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if part.len() > 8 && random.below(2) == 0 {
            ends.push(at + 1 + random.index(part.len() - 1));
        }
        at += part.len();
        ends.push(at);
    }
    // Too many parts: some cuts are dropped, but the end stays.
    while ends.len() > PIECES_MAX {
        ends.remove(random.index(ends.len() - 1));
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends.iter().copied()).collect()
}

#[derive(Debug)]
pub(crate) struct SimWriter {
    pub(crate) handle: Handle,
    pub(crate) size: u64,
}

impl WritableFile for SimWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.append_parts(&[bytes])
    }

    fn append_parts(&mut self, parts: &[&[u8]]) -> Result<()> {
        self.handle.write(OpKind::Append, self.size, parts)?;
        self.size += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        Ok(())
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn sync(&mut self) -> Result<()> {
        FileSync::sync(&self.handle)
    }

    fn syncer(&self) -> Arc<dyn FileSync> {
        Arc::new(self.handle.clone())
    }
}

#[derive(Debug)]
pub(crate) struct SimReader {
    pub(crate) handle: Handle,
    pub(crate) size: u64,
}

impl ReadFile for SimReader {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let handle = &self.handle;
        let mut state = handle.shared.lock();
        let effect = state.begin(&handle.call(OpKind::ReadAt, offset, out.len()), || None)?;
        let content = &state.disk.inode(handle.inode).visible;
        if effect != Some(Effect::ReadsShort) && content.read(offset, out) {
            return Ok(());
        }
        let error = handle
            .named(Error::corruption(
                "the file ends before the requested bytes",
            ))
            .offset(offset)
            .expected(format_args!("{} bytes", out.len()))
            .found(format_args!("a file of {} bytes", content.len()));
        Err(state.refuse(error))
    }

    fn map(&self, len: u64, _access: Access) -> Result<Option<Mapping>> {
        let handle = &self.handle;
        let mut state = handle.shared.lock();
        state.begin(&handle.call(OpKind::Map, 0, 0), || None)?;
        if !state.settings.mapping {
            return Ok(None);
        }
        let mut bytes = state.disk.inode(handle.inode).visible.to_vec();
        let front = front_of(len, bytes.len() as u64).map_err(|error| handle.named(error))?;
        bytes.truncate(front);
        Ok(Some(Mapping::new(Arc::new(SimBytes(bytes)))))
    }

    fn advise(&self, _offset: u64, _len: u64, _wanted: bool) {}
}

#[derive(Debug)]
struct SimBytes(Vec<u8>);

impl MappedBytes for SimBytes {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct SimLog {
    handle: Handle,
    len: u64,
    mirror: Option<Mirror>,
    _alone: Arc<()>,
}

impl SimLog {
    #[expect(clippy::new_ret_no_self, reason = "directories return a trait object")]
    pub(crate) fn new(
        state: &mut SimState,
        handle: Handle,
        len: u64,
    ) -> Result<Arc<dyn LogRegion>> {
        let region = state.regions.entry(handle.inode).or_default();
        let alone = region.take().map_err(|error| handle.named(error))?;
        Ok(Arc::new(SimLog {
            handle,
            len,
            mirror: Mirror::new(len),
            _alone: alone,
        }))
    }
}

impl LogRegion for SimLog {
    fn size(&self) -> u64 {
        self.len
    }

    fn write(&self, offset: u64, parts: &[&[u8]], _sync_next: bool) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let end = offset.checked_add(bytes as u64);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "a log write extends past the end of its region"
        );
        self.handle.write(OpKind::WriteLog, offset, parts)?;
        if let Some(mirror) = &self.mirror {
            mirror.write(offset, parts);
        }
        Ok(())
    }

    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let mirror = self.mirror.as_ref();
        mirror.map(|mirror| mirror.bytes(offset, len))
    }

    fn reuse(&mut self) {
        self.mirror.iter_mut().for_each(Mirror::reuse);
    }

    fn sync(&self) -> Result<()> {
        FileSync::sync(&self.handle)
    }

    fn warm(&self) {}
}
