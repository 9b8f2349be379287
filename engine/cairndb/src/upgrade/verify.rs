//! Reads back what was written, before anything depends on it.

use cairndb_base::{Digest, Error, FileNumber, Kind, Result, watch};
use cairndb_format::name;

use crate::read::value_ref::read_pointer_unmapped;
use crate::state::version::{TableHandle, Version};
use crate::upgrade::UpgradeTarget;
use crate::upgrade::write::Contents;

/// Checks that the new files give the entries that were written to them, in the same order.
///
/// # Errors
/// `Corruption` if they do not; errors of reading.
pub(crate) fn verify(
    target: &UpgradeTarget,
    contents: &Contents,
    mut report: impl FnMut(&Digest),
) -> Result<()> {
    let version = &contents.version;
    version.check(&target.context.order)?;
    let mut digest = Digest::default();
    for handle in version.tables() {
        add_table(target, version, handle, &mut digest)?;
        report(&digest);
    }
    if digest == contents.digest {
        return Ok(());
    }
    let message = "the converted entries differ from LevelDB's when they are read back; nothing \
        was changed; check the machine's memory and disk, and run the conversion again";
    Err(Error::corruption(message)
        .path(target.dir.path())
        .expected(format_args!("{:?}", contents.digest))
        .found(format_args!("{digest:?}")))
}

/// Adds the entries of one table, which is opened for this alone.
fn add_table(
    target: &UpgradeTarget,
    version: &Version,
    handle: &TableHandle,
    digest: &mut Digest,
) -> Result<()> {
    let table = target.opener.open(&handle.record)?;
    let before = digest.entries;
    let mut value = Vec::new();
    let mut cursor = table.cursor();
    cursor.first()?;
    while cursor.valid() {
        cursor.load_value()?;
        let bytes = digest.bytes;
        if cursor.kind() == Kind::Pointer {
            let (order, values) = (&target.context.order, &version.values);
            read_pointer_unmapped(order, values, cursor.key(), cursor.loaded(), &mut value)?;
            digest.add(cursor.key(), &value);
        } else {
            digest.add(cursor.key(), cursor.loaded());
        }
        watch::advance(digest.bytes - bytes)?;
        cursor.next()?;
    }
    if digest.entries - before != handle.record.entries {
        let message = "a table that was just written has another number of entries";
        return Err(Error::corruption(message)
            .file(name::table(FileNumber(handle.record.file)))
            .offset(0)
            .expected(handle.record.entries)
            .found(digest.entries - before));
    }
    Ok(())
}
