//! Whether a file is one of this format's: a name proves nothing, since any program may have
//! created `20261127.log`.

use cairndb_base::{ErrorKind, Result};
use cairndb_env::Dir;
use cairndb_format::evidence::{Evidence, evidence};
use cairndb_format::name::FileKind;

/// Ownership of a file whose name follows this format.
#[derive(Debug)]
pub enum Ownership {
    /// Its contents are of this format.
    Ours,
    /// Its contents are not of this format, or it is not a regular file; with the reason as a
    /// phrase. `Silent` if a crash of ours may have left it: it is empty or starts with zeros.
    Other(Evidence, String),
    /// It no longer exists.
    Gone,
}

/// Examines the file `name`, which must be a name of this format.
///
/// # Errors
/// Errors of looking up, opening and reading the file.
pub fn ownership(dir: &dyn Dir, name: &str) -> Result<Ownership> {
    match dir.size_of(name) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(Ownership::Gone),
        // An error without a system error means that it is not a regular file. Such files are not
        // opened, because opening a pipe would wake the process at its other end.
        Err(error) if error.io_kind().is_none() => {
            return Ok(Ownership::Other(
                Evidence::Foreign,
                error.message().to_owned(),
            ));
        }
        Err(error) => return Err(error),
    }
    let found = match evidence(dir, name) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ownership::Gone),
        Err(error) => return Err(error),
    };
    Ok(match found {
        Evidence::Ours => Ownership::Ours,
        Evidence::Silent => {
            let reason = "empty, or begins with zeros: it cannot be identified as this database's";
            Ownership::Other(found, reason.to_owned())
        }
        Evidence::Foreign => {
            let kind = FileKind::parse(name).map_or("file of this format", FileKind::noun);
            Ownership::Other(found, format!("its contents are not those of a {kind}"))
        }
    })
}
