//! What an interrupted transfer has saved beside its target, so that the same command continues.
//!
//! The file is replaced as a whole and synced. It is one JSON object.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::failure::{Failure, Result};

/// Bytes that are Base64 in the JSON object.
pub(crate) mod base64 {
    use super::{BASE64, Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = bytes.as_ref().map(|bytes| BASE64.encode(bytes));
        text.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let bytes = text.map(|text| BASE64.decode(text.as_bytes()));
        bytes.transpose().map_err(serde::de::Error::custom)
    }
}

/// Version of the JSON object: a file of another one is refused.
const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
struct Versioned<T> {
    version: u32,
    state: T,
}

/// Returns `path` with `suffix` after its last component.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    // `.` and `a/..` have no last component before they are resolved; a trailing slash is none.
    let resolved = match path.file_name() {
        Some(_) => path.to_owned(),
        None => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    };
    let mut name = resolved.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    resolved.with_file_name(name)
}

/// A file of saved state.
#[derive(Debug)]
pub(crate) struct Saved {
    path: PathBuf,
}

impl Saved {
    /// Names the file at `path`, which need not exist.
    pub(crate) fn at(path: PathBuf) -> Saved {
        Saved { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the state; `None` if there is none.
    pub(crate) fn load<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let name = self.path.display();
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::other(format!("{name} cannot be read: {error}"))),
        };
        match serde_json::from_slice::<Versioned<T>>(&text) {
            Ok(found) if found.version == VERSION => Ok(Some(found.state)),
            Ok(_) => Err(Failure::other(format!(
                "{name} was saved by another version of cairn; finish with that version, or begin \
                 again with --restart"
            ))),
            Err(error) => Err(Failure::other(format!(
                "{name} does not hold the position of an interrupted command: {error}; begin again \
                 with --restart"
            ))),
        }
    }

    /// Replaces the state, durably.
    pub(crate) fn save<T: Serialize>(&self, state: &T) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| {
            let name = self.path.display();
            Failure::other(format!("the position cannot be saved in {name}: {error}"))
        };
        let versioned = Versioned {
            version: VERSION,
            state,
        };
        let text = serde_json::to_vec(&versioned).map_err(|error| failed(&error))?;
        let new = beside(&self.path, ".new");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        write().map_err(|error| failed(&error))
    }

    /// Removes the state, if there is any.
    pub(crate) fn remove(&self) -> Result<()> {
        for path in [&beside(&self.path, ".new"), &self.path] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let name = path.display();
                    return Err(Failure::other(format!("{name} cannot be removed: {error}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_beside_the_target() {
        let named = |path: &str| beside(path.as_ref(), ".x");
        assert_eq!(named("a/b"), Path::new("a/b.x"));
        assert_eq!(named("a/b/"), Path::new("a/b.x"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(named(".").parent(), here.parent());
    }

    #[test]
    fn damage_and_other_versions_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let saved = Saved::at(parent.path().join("state"));
        assert_eq!(saved.load::<u32>().unwrap(), None);
        saved.save(&7u32).unwrap();
        assert_eq!(saved.load::<u32>().unwrap(), Some(7));
        for text in [
            "",
            "{}",
            "{\"version\":1,\"state\":\"seven\"}",
            "{\"version\":2,\"state\":7}",
        ] {
            fs::write(saved.path(), text).unwrap();
            assert!(saved.load::<u32>().is_err(), "{text}");
        }
        saved.remove().unwrap();
        saved.remove().unwrap();
        assert!(!saved.path().exists());
    }
}
