//! `Directory`: a place on a file system, reached through an environment.
//!
//! An object is written under another name, synced, and renamed, or linked where it must not
//! replace one. What a crash leaves under other names is never read, and may be removed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::Mutex;
use cairndb_env::{Dir, Env, Linked, ReadFile, WritableFile};

use crate::place::{Download, Object, Place, Upload, split};

/// Beginning of the names of unfinished objects.
const UNFINISHED: &str = "tmp-";

/// A directory as a place.
pub struct Directory {
    env: Arc<dyn Env>,
    path: PathBuf,
    url: String,
    create: bool,
    /// The folders that were opened.
    folders: Mutex<Vec<(String, Arc<dyn Dir>)>>,
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Directory {
    /// Opens a directory; creates it if `create` is set.
    ///
    /// # Errors
    /// `NotFound` if it is missing, or its parent is; `Io`.
    pub fn open(env: Arc<dyn Env>, path: &Path, create: bool) -> Result<Directory> {
        let _ = env.open_dir(path, create)?;
        Ok(Directory {
            env,
            url: path.display().to_string(),
            path: path.to_owned(),
            create,
            folders: Mutex::default(),
        })
    }

    fn folder(&self, name: &str) -> Result<Arc<dyn Dir>> {
        let mut folders = self.folders.lock();
        if let Some((_, dir)) = folders.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(dir));
        }
        let dir = self.env.open_dir(&self.path.join(name), self.create)?;
        folders.push((name.to_owned(), Arc::clone(&dir)));
        Ok(dir)
    }

    fn begin(&self, object: &str) -> Result<Unfinished> {
        let (folder, name) = split(object);
        let dir = self.folder(folder)?;
        loop {
            let unfinished = format!("{UNFINISHED}{:016x}", self.env.random_u64());
            if dir.size_of(&unfinished)?.is_none() {
                return Ok(Unfinished {
                    file: dir.create(&unfinished)?,
                    dir,
                    temporary: unfinished,
                    name: name.to_owned(),
                    done: false,
                });
            }
        }
    }

    /// Returns a function that makes an error name an object of this place.
    fn about<'a>(&'a self, name: &'a str) -> impl Fn(Error) -> Error + 'a {
        move |error| error.file(name).directory(&self.path)
    }
}

struct Unfinished {
    dir: Arc<dyn Dir>,
    file: Box<dyn WritableFile>,
    temporary: String,
    name: String,
    done: bool,
}

impl Upload for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.file.sync()?;
        self.dir.rename(&self.temporary, &self.name)?;
        self.done = true;
        self.dir.sync()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.done {
            // Nobody reads it otherwise.
            let _ = self.dir.unlink(&self.temporary);
        }
    }
}

struct Reader {
    file: Arc<dyn ReadFile>,
    at: u64,
}

impl Download for Reader {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let left = self.file.size() - self.at;
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        self.file.read_at(self.at, &mut out[..len])?;
        self.at += len as u64;
        Ok(len)
    }
}

impl Place for Directory {
    fn url(&self) -> &str {
        &self.url
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let create = || {
            let mut file = self.begin(name)?;
            file.write(bytes)?;
            file.file.sync()?;
            match file.dir.link(&file.temporary, &*file.dir, &file.name) {
                Ok(Linked::Shared) => file.dir.sync().map(|()| true),
                Ok(_) => {
                    // A copy is not made in one step.
                    file.dir.unlink(&file.name)?;
                    let message = "the file system has no hard links, which order the records of \
                                   a backup; choose a directory on another one";
                    Err(Error::new(ErrorKind::NotSupported, message))
                }
                // It may be that of an attempt that could not sync the directory.
                Err(_) if file.dir.size_of(&file.name)?.is_some() => {
                    file.dir.sync().map(|()| false)
                }
                Err(error) => Err(error),
            }
        };
        create().map_err(self.about(name))
    }

    fn upload(&self, name: &str) -> Result<Box<dyn Upload + '_>> {
        let begun = self.begin(name).map_err(self.about(name))?;
        Ok(Box::new(begun))
    }

    fn download(&self, object: &str) -> Result<Box<dyn Download + '_>> {
        let (folder, name) = split(object);
        let file = self.folder(folder).and_then(|dir| dir.open_read(name));
        let file = file.map_err(self.about(object))?;
        Ok(Box::new(Reader { file, at: 0 }))
    }

    fn list(&self, folder: &str, after: &str) -> Result<Vec<Object>> {
        let dir = match self.folder(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            dir => dir?,
        };
        let mut names = dir.list()?;
        names.retain(|name| name.as_str() > after && !name.starts_with(UNFINISHED));
        names.sort_unstable();
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            // It may have been removed in the meantime, or be no file: reading it says why.
            if let Some(bytes) = dir.size_of(&name).unwrap_or(Some(0)) {
                found.push(Object { name, bytes });
            }
        }
        Ok(found)
    }

    fn remove(&self, object: &str) -> Result<()> {
        let (folder, name) = split(object);
        match self.folder(folder).and_then(|dir| dir.unlink(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(self.about(object)),
        }
    }
}
