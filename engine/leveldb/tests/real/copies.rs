//! Copies of a directory that LevelDB has open.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cairndb_env::{Env as _, RealEnv};
use cairndb_leveldb::{FileName, LogReader, LogStep, WriteBatch};

use crate::noise::Noise;

type Files = BTreeMap<String, Vec<u8>>;

/// Names and contents, without what LevelDB writes for people. A file that vanishes meanwhile is
/// left out.
pub(crate) fn state(path: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("LOG")
            && let Ok(bytes) = fs::read(entry.path())
        {
            files.insert(name, bytes);
        }
    }
    files
}

/// The state that decides what a reader sees: `CURRENT`, the manifests, and the names.
fn outline(files: &Files) -> Files {
    let decides = |name: &str| name == "CURRENT" || name.starts_with("MANIFEST");
    let outlined = files.iter().map(|(name, bytes)| {
        (
            name.clone(),
            if decides(name) {
                bytes.clone()
            } else {
                Vec::new()
            },
        )
    });
    outlined.collect()
}

/// Copies a directory as of one moment: tries again while a compaction changes it.
pub(crate) fn copy(from: &Path, to: &Path) {
    let files = loop {
        let (files, after) = (state(from), state(from));
        if outline(&files) == outline(&after) {
            break files;
        }
        std::thread::yield_now();
    };
    for (name, bytes) in files {
        fs::write(to.join(name), bytes).unwrap();
    }
}

/// Cuts the log with the largest number somewhere. Returns the sequence number before which nothing
/// is lost; `None` if there was nothing to lose.
pub(crate) fn cut_newest_log(path: &Path, noise: &mut Noise) -> Option<u64> {
    let files = state(path);
    let (name, bytes) = files
        .iter()
        .rfind(|(name, _)| matches!(FileName::parse(name), Some(FileName::Log(_))))?;
    let (first, _) = bounds(path, name)?;
    let len = noise.below(bytes.len() + 1);
    fs::write(path.join(name), &bytes[..len]).unwrap();
    Some(bounds(path, name).map_or(first, |(_, end)| end))
}

/// The first sequence number in a log and the one after its last.
fn bounds(path: &Path, name: &str) -> Option<(u64, u64)> {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let mut reader = LogReader::new(dir.open_read(name).unwrap(), name);
    let mut bounds = None;
    while let LogStep::Record { .. } = reader.advance().unwrap() {
        let batch = WriteBatch::decode(reader.payload()).unwrap();
        let first = bounds.map_or(batch.seq(), |(first, _)| first);
        bounds = Some((first, batch.seq() + u64::from(batch.count())));
    }
    bounds
}
