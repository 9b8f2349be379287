//! The file that an export makes: it has another name until it is complete.
//!
//! For `fruit.csv`, the entries go to `fruit.csv.partial`, and `fruit.csv.cairn-export` holds how
//! far they are known to be durable. Both are gone once `fruit.csv` is there.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::saved::{Saved, beside};
use crate::failure::{Failure, Result};

/// Where an export goes.
#[derive(Debug)]
pub(crate) enum ExportTarget {
    Stdout,
    /// Something that is no regular file, such as a pipe: written in place.
    Device(PathBuf),
    /// A file or directory, made under another name.
    Made(Made),
}

/// The names of a target.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) path: PathBuf,
    pub(crate) partial: PathBuf,
    pub(crate) saved: Saved,
}

impl ExportTarget {
    /// Checks that nothing would be overwritten. `None` and `-` are stdout.
    pub(crate) fn of(path: Option<&Path>) -> Result<ExportTarget> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(ExportTarget::Stdout);
        };
        let is_used = match fs::metadata(path) {
            Err(_) => false,
            Ok(found) if found.is_dir() => {
                let mut entries = fs::read_dir(path).map_err(|error| unusable(path, &error))?;
                entries.next().is_some()
            }
            Ok(found) if found.is_file() => found.len() > 0,
            Ok(_) => return Ok(ExportTarget::Device(path.to_owned())),
        };
        if is_used {
            return Err(Failure::other(format!(
                "{} exists and is not empty; remove it, or choose another name",
                path.display()
            )));
        }
        Ok(ExportTarget::Made(Made {
            path: path.to_owned(),
            partial: beside(path, ".partial"),
            saved: Saved::at(beside(path, ".cairn-export")),
        }))
    }
}

impl Made {
    /// Removes what an interrupted export has left.
    pub(crate) fn restart(&self) -> Result<()> {
        let removed = match fs::metadata(&self.partial) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&self.partial),
            Ok(_) => fs::remove_file(&self.partial),
            Err(_) => Ok(()),
        };
        removed.map_err(|error| unusable(&self.partial, &error))?;
        self.saved.remove()
    }

    /// Fails if there is a file of the unfinished name that no export has left.
    pub(crate) fn check_unclaimed(&self) -> Result<()> {
        if !self.partial.exists() {
            return Ok(());
        }
        Err(Failure::other(format!(
            "{} exists, and {} does not hold how far it is complete; remove it, or begin again \
             with --restart",
            self.partial.display(),
            self.saved.path().display()
        )))
    }

    /// Opens the unfinished file, and cuts it to `len` bytes.
    pub(crate) fn open_partial(&self, len: u64) -> Result<File> {
        let open = || {
            let mut options = OpenOptions::new();
            let options = options.create(true).write(true).truncate(false);
            let mut file = options.open(&self.partial)?;
            file.set_len(len)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        open().map_err(|error| unusable(&self.partial, &error))
    }

    /// Returns the length of the unfinished file; 0 if there is none.
    pub(crate) fn partial_bytes(&self) -> u64 {
        fs::metadata(&self.partial).map_or(0, |found| found.len())
    }

    /// Gives what is complete its name, durably.
    pub(crate) fn finish(&self) -> Result<()> {
        let rename = || {
            fs::rename(&self.partial, &self.path)?;
            let parent = self.partial.parent();
            let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        };
        rename().map_err(|error| unusable(&self.path, &error))?;
        self.saved.remove()
    }
}

/// The failure of an operation on a target.
pub(crate) fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::other(format!("{} cannot be written: {error}", path.display()))
}

/// Returns a path that is the same from every working directory, to be compared.
pub(crate) fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.display().to_string()
}
