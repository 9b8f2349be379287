//! Changes to files without the engine's knowledge, for corruption tests. They are not operations:
//! they are not counted or logged, meet no faults, and are durable at once.

use std::path::{Path, PathBuf};

use crate::content::Content;
use crate::disk::{DirId, Disk};
use crate::machine::SimEnv;

impl SimEnv {
    /// Returns all files with their lengths, in order.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let disk = &self.state.lock().disk;
        let mut files = Vec::new();
        for dir in disk.dirs.iter().filter(|dir| !dir.removed) {
            for (name, &inode) in &dir.visible {
                files.push((dir.path.join(name), disk.inode(inode).visible.len()));
            }
        }
        files.sort();
        files
    }

    /// Returns the visible bytes of a file.
    pub fn read_file(&self, path: &Path) -> Option<Vec<u8>> {
        let disk = &self.state.lock().disk;
        let (dir, name) = locate(disk, path)?;
        let inode = disk.lookup(dir, name)?;
        Some(disk.inode(inode).visible.to_vec())
    }

    /// Replaces or creates a file.
    ///
    /// # Panics
    /// If its directory does not exist.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) {
        let disk = &mut self.state.lock().disk;
        let (dir, name) = locate(disk, path).expect("the directory exists");
        disk.tamper(dir, name, |content| *content = Content::of(bytes));
    }

    /// Flips the bits of `xor` in one byte of a file; returns `false` if there is no such byte.
    pub fn corrupt(&self, path: &Path, offset: u64, xor: u8) -> bool {
        self.change(path, |content| {
            let mut byte = [0];
            let exists = content.read(offset, &mut byte);
            if exists {
                content.write(offset, &[byte[0] ^ xor]);
            }
            exists
        })
    }

    /// Truncates a file or extends it with zeros; returns `false` if it does not exist.
    pub fn truncate(&self, path: &Path, len: u64) -> bool {
        self.change(path, |content| {
            content.set_len(len);
            true
        })
    }

    /// Removes a file; returns `false` if it does not exist.
    pub fn delete(&self, path: &Path) -> bool {
        let disk = &mut self.state.lock().disk;
        locate(disk, path)
            .map(|(dir, name)| (dir, name.to_owned()))
            .is_some_and(|(dir, name)| disk.vanish(dir, &name))
    }

    fn change(&self, path: &Path, change: impl FnOnce(&mut Content) -> bool) -> bool {
        let disk = &mut self.state.lock().disk;
        let Some((dir, name)) = locate(disk, path) else {
            return false;
        };
        if disk.lookup(dir, name).is_none() {
            return false;
        }
        let mut changed = false;
        disk.tamper(dir, name, |content| changed = change(content));
        changed
    }
}

fn locate<'a>(disk: &Disk, path: &'a Path) -> Option<(DirId, &'a str)> {
    let name = path.file_name()?.to_str()?;
    Some((disk.find_dir(path.parent()?)?, name))
}
