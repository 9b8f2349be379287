//! `CURRENT`: the file that names the valid manifest.

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::Dir;

use crate::name::{self, CURRENT, FileKind};

/// Maximum size of `CURRENT`: `MANIFEST-`, twenty digits and a newline.
const BYTES_MAX: usize = name::MANIFEST_PREFIX.len() + 20 + 1;

/// Returns the manifest that `CURRENT` names, or `None` if there is no `CURRENT`.
///
/// # Errors
/// `Corruption` if `CURRENT` contains anything but `MANIFEST-`, six to twenty digits and a newline;
/// `Io`.
pub fn read_current(dir: &dyn Dir) -> Result<Option<FileNumber>> {
    let file = match dir.open_read(CURRENT) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = vec![0; BYTES_MAX];
    let len = usize::try_from(file.size())
        .ok()
        .filter(|len| *len <= BYTES_MAX);
    bytes.truncate(len.ok_or_else(|| malformed(format_args!("{} bytes", file.size())))?);
    file.read_at(0, &mut bytes)?;
    parse(&bytes)
        .map(Some)
        .ok_or_else(|| malformed(format_args!("\"{}\"", bytes.escape_ascii())))
}

/// Returns the manifest that these contents of `CURRENT` name.
pub(crate) fn parse(bytes: &[u8]) -> Option<FileNumber> {
    let name = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    match FileKind::parse(name)? {
        FileKind::Manifest(number) => Some(number),
        _ => None,
    }
}

fn malformed(found: std::fmt::Arguments<'_>) -> Error {
    Error::corruption("CURRENT does not name a manifest")
        .file(CURRENT)
        .offset(0)
        .expected("MANIFEST-, six to twenty digits and a newline")
        .found(found)
}

/// Makes `CURRENT` name manifest `number`, atomically and durably: temporary file, sync, directory
/// sync, rename, directory sync. The manifest must have been synced; its name becomes durable here,
/// too.
///
/// # Errors
/// `Io` or `NoSpace`. Before the rename the old `CURRENT` stays valid. If the last step fails, a
/// crash may leave either, so neither manifest may be removed.
pub fn install_current(dir: &dyn Dir, number: FileNumber) -> Result<()> {
    prepare_current(dir, number)?;
    // The manifest's name must become durable before the rename: the disk may reorder two names.
    dir.sync()?;
    dir.rename(&name::temp(number), CURRENT)?;
    dir.sync()
}

/// Does the first part of [`install_current`], for callers that need to know which step failed:
/// writes and syncs the temporary file that will become `CURRENT`.
///
/// # Errors
/// `Io`, also if the temporary file's name is taken, or `NoSpace`; `CURRENT` is unchanged.
pub fn prepare_current(dir: &dyn Dir, number: FileNumber) -> Result<()> {
    let mut file = dir.create(&name::temp(number))?;
    file.append(format!("{}\n", name::manifest(number)).as_bytes())?;
    file.sync()
}
