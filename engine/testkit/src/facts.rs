//! Reads the files that a manifest names, for the simulation's protocol checker and the search for
//! leaked files.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::{Access, Mapping, ReadFile};
use cairndb_format::manifest::ManifestReader;
use cairndb_format::name::{self, FileKind};
use cairndb_sim::ManifestFacts;

/// Returns the tables, value files and live logs that the manifest `name` with contents `bytes`
/// names. Returns `None` if the bytes are not a manifest yet.
pub fn manifest_facts(name: &str, bytes: &[u8]) -> Option<ManifestFacts> {
    let Some(FileKind::Manifest(number)) = FileKind::parse(name) else {
        return None;
    };
    let file = Arc::new(Bytes(bytes.to_vec()));
    let mut reader = ManifestReader::new(file, number).ok()?;
    let mut tables = BTreeMap::new();
    let mut values = BTreeMap::new();
    let mut logs = BTreeMap::new();
    while let Some(edit) = reader.advance().ok()? {
        for table in edit.added_tables {
            tables.insert(table.file, table.bytes);
        }
        for file in edit.removed_tables {
            tables.remove(&file);
        }
        for file in edit.added_values {
            values.insert(file, 0);
        }
        for file in edit.removed_values {
            values.remove(&file);
        }
        for segment in edit.added_segments {
            logs.insert(segment.segment, segment.file);
        }
        for segment in edit.retired_segments {
            logs.remove(&segment);
        }
    }
    let tables = tables
        .iter()
        .map(|(file, bytes)| (name::table(FileNumber(*file)), *bytes));
    let values = values
        .iter()
        .map(|(file, bytes)| (name::value(FileNumber(*file)), *bytes));
    let logs = logs.values().map(|file| name::log(FileNumber(*file)));
    Some(ManifestFacts {
        files: tables.chain(values).collect(),
        logs: logs.collect(),
    })
}

/// Bytes in memory that can be read like a file.
#[derive(Debug)]
struct Bytes(Vec<u8>);

impl ReadFile for Bytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.0.get(from..).and_then(|rest| rest.get(..out.len()));
        match bytes {
            Some(bytes) => out.copy_from_slice(bytes),
            None => return Err(Error::corruption("a read past the end of the bytes")),
        }
        Ok(())
    }

    fn map(&self, _len: u64, _access: Access) -> Result<Option<Mapping>> {
        Ok(None)
    }

    fn advise(&self, _offset: u64, _len: u64, _wanted: bool) {}
}
