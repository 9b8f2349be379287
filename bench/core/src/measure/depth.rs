//! Random reads of a file next to the database, past the page cache: what the device can do.
//!
//! As many reads are under way as there are threads. The file is as long as the entries together,
//! so that the device's own cache holds as much of one as of the other.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::measure::meter::Meter;
use crate::workload::plan::Plan;
use crate::workload::random::Random;

/// Bytes of a read.
const PAGE: usize = 4096;
/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// The file, which is removed when this is dropped.
#[derive(Debug)]
pub struct Depth {
    path: PathBuf,
    file: File,
    pages: u32,
}

impl Depth {
    /// Writes the file.
    ///
    /// # Errors
    /// Errors of the file system, for example if it has no reads past the page cache.
    pub fn prepare(plan: &Plan) -> Result<Self, Fault> {
        let entry = (plan.key_bytes() + plan.value_size) as u64;
        let pieces = (plan.num * entry).div_ceil(PIECE as u64).max(1);
        let path = plan.db.with_extension("depth");
        let fault = |error: std::io::Error| Fault::io(path.display(), &error);
        let file = write(&path, pieces).map_err(fault)?;
        let pages = pieces * (PIECE / PAGE) as u64;
        Ok(Self {
            file,
            path,
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
        })
    }

    /// Reads until the meter has enough. Returns the text for the result line.
    pub(crate) fn run(&self, thread: u32, meter: &mut Meter) -> String {
        let mut random = Random::new(thread + 1);
        let mut buffer = vec![0; 2 * PAGE];
        // Such reads go to whole pages of memory.
        let skipped = buffer.as_ptr().align_offset(PAGE);
        let mut failed = None;
        meter.start();
        while meter.wants() && failed.is_none() {
            let at = u64::from(random.uniform(self.pages)) * PAGE as u64;
            let page = &mut buffer[skipped..skipped + PAGE];
            failed = self.file.read_exact_at(page, at).err();
            meter.op();
        }
        meter.stop();
        failed.map_or_else(
            || "(4K per op, past the page cache)".to_owned(),
            |error| format!("(failed: {error})"),
        )
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        // The directory is made anew for the next run.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn write(path: &Path, pieces: u64) -> std::io::Result<File> {
    let mut file = File::create(path)?;
    // Different everywhere: a device may store equal blocks once.
    let mut piece = vec![0; PIECE];
    for number in 0..pieces {
        for (at, page) in (0u64..).zip(piece.chunks_exact_mut(PAGE)) {
            page[..8].copy_from_slice(&(number << 8 | at).to_le_bytes());
        }
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    let direct = rustix::fs::OFlags::DIRECT.bits();
    let flags = i32::try_from(direct).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
