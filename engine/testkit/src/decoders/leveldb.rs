//! Arbitrary bytes as LevelDB's files, read by salvage: as they are, and with mended checksums.

use cairndb_base::Order;
use cairndb_env::Dir;
use cairndb_leveldb::{
    LogReader, LogStep, ManifestSalvage, TableSalvage, TableStep, VersionEdit, WriteBatch,
};

use super::one_file;
use crate::damage::mend_log;

/// Reads `bytes` as a log, a manifest and a table that are damaged. Steps ascend and end, and a
/// salvaging reader finds at least the records that LevelDB's finds.
///
/// # Panics
/// If a property is broken.
pub fn leveldb_salvage(bytes: &[u8]) {
    let mut mended = bytes.to_vec();
    mend_log(&mut mended);
    for bytes in [bytes, &mended] {
        log(bytes);
        let (_env, dir) = one_file("MANIFEST-000007", bytes);
        if let Ok(manifest) = ManifestSalvage::read(&*dir, 7) {
            let named = manifest.tables.keys();
            let mut both = named.filter(|number| manifest.removed.contains(number));
            assert!(both.next().is_none(), "a table is in use or removed");
        }
        table(bytes);
    }
}

fn records(dir: &dyn Dir, salvaging: bool) -> Vec<u64> {
    let file = dir.open_read("000003.log").expect("in memory");
    let size = file.size();
    let mut reader = if salvaging {
        LogReader::salvaging(file, "000003.log")
    } else {
        LogReader::new(file, "000003.log")
    };
    let mut found: Vec<u64> = Vec::new();
    loop {
        match reader.advance().expect("in memory") {
            LogStep::Record { offset } => {
                assert!(
                    found.last().is_none_or(|last| *last < offset),
                    "steps ascend"
                );
                found.push(offset);
                let _ = VersionEdit::decode(reader.payload());
                if let Ok(batch) = WriteBatch::decode(reader.payload()) {
                    let read = batch.iter().take_while(Result::is_ok).count();
                    assert!(
                        read as u64 <= u64::from(batch.count()),
                        "the count of a batch"
                    );
                }
            }
            LogStep::Damage { offset, .. } => assert!(offset <= size, "damage within the file"),
            LogStep::End => return found,
        }
    }
}

fn log(bytes: &[u8]) {
    let (_env, dir) = one_file("000003.log", bytes);
    let plain = records(&*dir, false);
    let salvaged = records(&*dir, true);
    assert!(
        salvaged.len() >= plain.len(),
        "salvage finds more: {salvaged:?} {plain:?}"
    );
}

fn table(bytes: &[u8]) {
    let (_env, dir) = one_file("000005.ldb", bytes);
    let file = dir.open_read("000005.ldb").expect("in memory");
    let Ok(mut salvage) = TableSalvage::new(file, "000005.ldb", &Order::Bytewise) else {
        return;
    };
    let mut steps = 0usize;
    while let Ok(Some(step)) = salvage.advance() {
        steps += 1;
        assert!(steps <= bytes.len() + 1, "salvage ends");
        if let TableStep::Block(mut block) = step {
            let mut last: Option<(Vec<u8>, u64)> = None;
            while block.valid() {
                let entry = (block.key().to_vec(), block.seq());
                let ascends = |last: &(Vec<u8>, u64)| {
                    last.0 < entry.0 || last.0 == entry.0 && last.1 > entry.1
                };
                assert!(
                    last.as_ref().is_none_or(ascends),
                    "entries of a block ascend"
                );
                last = Some(entry);
                block.next();
            }
        }
    }
}
