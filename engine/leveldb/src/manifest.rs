//! The manifest: version edits, whose sum is the set of tables in use, and `CURRENT`, which names
//! the manifest in use.
//!
//! A manifest is a log whose records are version edits. An edit is a sequence of tagged fields; of
//! fields that occur once in a database the last one counts.

mod edit;
mod version;

pub(crate) use edit::LEVELS;
pub use edit::{NewTable, VersionEdit};
pub(crate) use version::{Version, missing, read_version};

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Dir;

use crate::name::{CURRENT, FileName};

/// `MANIFEST-`, twenty digits, a newline.
const CURRENT_BYTES_MAX: usize = 9 + 20 + 1;

/// The number of the manifest that `CURRENT` names.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # let env = MemEnv::new(Background::Stepped);
/// # let dir = env.open_dir(Path::new("db"), true)?;
/// dir.create("CURRENT")?.append(b"MANIFEST-000002\n")?;
/// assert_eq!(cairndb_leveldb::read_current(&*dir)?, 2);
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
///
/// # Errors
/// `NotFound` if the directory has no `CURRENT`; `Corruption` if it names no manifest; `Io`.
pub fn read_current(dir: &dyn Dir) -> Result<u64> {
    let file = dir.open_read(CURRENT).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(
            ErrorKind::NotFound,
            "the directory holds no LevelDB database",
        )
        .file(CURRENT),
        _ => error,
    })?;
    let len = usize::try_from(file.size()).unwrap_or(usize::MAX);
    if len > CURRENT_BYTES_MAX {
        return Err(malformed(format_args!("{len} bytes")));
    }
    let mut bytes = vec![0; len];
    file.read_at(0, &mut bytes)?;
    let line = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.strip_suffix('\n'));
    match line.and_then(FileName::parse) {
        Some(FileName::Manifest(number)) => Ok(number),
        _ => Err(malformed(format_args!("\"{}\"", bytes.escape_ascii()))),
    }
}

fn malformed(found: std::fmt::Arguments<'_>) -> Error {
    Error::corruption("CURRENT does not name a manifest")
        .file(CURRENT)
        .offset(0)
        .expected("MANIFEST-, digits and a newline")
        .found(found)
}

/// Makes `CURRENT` name a manifest, atomically and durably. The manifest must have been synced.
pub(crate) fn install_current(dir: &Arc<dyn Dir>, number: u64) -> Result<()> {
    let temporary = FileName::Temporary(number).to_string();
    let mut file = dir.create(&temporary)?;
    file.append(format!("{}\n", FileName::Manifest(number)).as_bytes())?;
    file.sync()?;
    dir.sync()?;
    dir.rename(&temporary, CURRENT)?;
    dir.sync()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cairndb_env::{Background, Env, MemEnv};

    use super::*;

    fn read(text: &[u8]) -> Result<u64> {
        let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
        dir.create(CURRENT)?.append(text)?;
        read_current(&*dir)
    }

    #[test]
    fn current_names_a_manifest() {
        assert_eq!(read(b"MANIFEST-000007\n").unwrap(), 7);
        assert_eq!(read(b"MANIFEST-7\n").unwrap(), 7);
        assert_eq!(read(b"MANIFEST-18446744073709551615\n").unwrap(), u64::MAX);
        let wrong: [&[u8]; 7] = [
            b"",
            b"MANIFEST-000007",
            b"MANIFEST-\n",
            b"000007.ldb\n",
            b"../MANIFEST-1\n",
            b"MANIFEST-1\n\n",
            b"MANIFEST-00000000000000000000000000000000001\n",
        ];
        for text in wrong {
            let error = read(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert_eq!(error.file_name(), Some(CURRENT));
        }
    }

    #[test]
    fn current_is_installed_over_an_older_one() {
        let dir = MemEnv::new(Background::Stepped)
            .open_dir(Path::new("db"), true)
            .unwrap();
        assert_eq!(read_current(&*dir).unwrap_err().kind(), ErrorKind::NotFound);
        for number in [3, 12] {
            install_current(&dir, number).unwrap();
            assert_eq!(read_current(&*dir).unwrap(), number);
        }
        assert_eq!(dir.list().unwrap(), [CURRENT]);
    }
}
