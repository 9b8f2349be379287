//! Reads back what was written, before anything depends on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Digest, Error, FileNumber, Kind, Result, watch};
use cairndb_env::ReadFile;
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_format::table::{PageAccess, Table};
use cairndb_format::value_file::{Pointer, read_value};

use crate::Target;
use crate::write::Contents;

/// Checks that the new files give the entries that were written to them, in the same order.
///
/// # Errors
/// `Corruption` if they do not; errors of reading.
pub(crate) fn verify(
    target: &Target,
    contents: &Contents,
    mut report: impl FnMut(&Digest),
) -> Result<()> {
    let mut digest = Digest::default();
    let mut values = ValueFiles {
        target,
        open: BTreeMap::new(),
    };
    for record in &contents.files.tables {
        add_table(&mut values, record, &mut digest)?;
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

/// Value files that are open for reading.
struct ValueFiles<'a> {
    target: &'a Target,
    open: BTreeMap<u64, Arc<dyn ReadFile>>,
}

impl ValueFiles<'_> {
    /// Replaces the contents of `out` with the value to which an encoded pointer of `key` refers.
    fn read(&mut self, key: &[u8], encoded: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let pointer = Pointer::decode(encoded)?;
        let FileNumber(number) = pointer.file;
        // Keys are read in the order in which their values were written: older files are done.
        if !self.open.contains_key(&number) {
            let file = self.target.dir.open_read(&name::value(pointer.file))?;
            self.open = BTreeMap::from([(number, file)]);
        }
        let hash = self.target.settings.output.order.hash(key);
        read_value(&*self.open[&number], pointer.file, &pointer, hash, out)
    }
}

/// Adds the entries of one table, which is opened for this alone. It is read by descriptor: in a
/// mapping, an I/O error would kill the process.
fn add_table(values: &mut ValueFiles<'_>, record: &TableRecord, digest: &mut Digest) -> Result<()> {
    let (target, number) = (values.target, FileNumber(record.file));
    let named = name::table(number);
    let file = target.dir.open_read(&named)?;
    let order = &target.settings.output.order;
    let table = Table::open(file, number, order, PageAccess::Uncached, record.checksum)?;
    let table = Arc::new(table);
    let before = digest.entries;
    let mut value = Vec::new();
    let mut cursor = table.cursor();
    cursor.first()?;
    while cursor.valid() {
        cursor.load_value()?;
        let bytes = digest.bytes;
        if cursor.kind() == Kind::Pointer {
            values.read(cursor.key(), cursor.loaded(), &mut value)?;
            digest.add(cursor.key(), &value);
        } else {
            digest.add(cursor.key(), cursor.loaded());
        }
        watch::advance(digest.bytes - bytes)?;
        cursor.next()?;
    }
    if digest.entries - before != record.entries {
        let message = "a table that was just written has another number of entries";
        return Err(Error::corruption(message)
            .file(named)
            .offset(0)
            .expected(record.entries)
            .found(digest.entries - before));
    }
    Ok(())
}
