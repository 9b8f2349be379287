//! User-supplied records: a file with `key<TAB>value` on each line.
//!
//! The keys are sorted; a key's index is its position. The value is everything after the first tab,
//! byte for byte. Rows with large values cut them from the concatenation of all values.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::set::{POOL_BYTES, ValueSet};
use crate::fault::Fault;
use crate::workload::definition::LARGE_VALUE_BYTES;
use crate::workload::key::{KeyList, show};

/// The shape of a file, for the header and for the limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileShape {
    /// Number of lines.
    pub records: u64,
    /// Mean key size in bytes, rounded.
    pub key_bytes: usize,
    /// Mean value size in bytes, rounded.
    pub value_bytes: usize,
}

/// Reads a whole file and returns its shape.
///
/// # Errors
/// If the file cannot be read or a line is malformed; the error contains the line number and the
/// problem.
pub fn examine(path: &Path) -> Result<FileShape, Fault> {
    let text = read(path)?;
    let lines = lines(path, &text)?;
    let mean = |bytes: usize| (bytes + lines.len() / 2) / lines.len();
    Ok(FileShape {
        records: lines.len() as u64,
        key_bytes: mean(lines.iter().map(|line| line.key.len()).sum()),
        value_bytes: mean(lines.iter().map(|line| line.value.len()).sum()),
    })
}

/// Returns the values of a file, large values made from them, and its keys.
pub(super) fn load(path: &Path) -> Result<(ValueSet, ValueSet, KeyList), Fault> {
    let text = read(path)?;
    let lines = lines(path, &text)?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut ends = Vec::with_capacity(lines.len());
    for line in &lines {
        bytes.extend_from_slice(line.value);
        ends.push(bytes.len());
    }
    let large = ValueSet::equal(long(&bytes), LARGE_VALUE_BYTES);
    let keys = KeyList::new(lines.iter().map(|line| line.key));
    Ok((ValueSet::listed(bytes.into(), ends), large, keys))
}

/// Returns the values repeated until large ones can be cut from them; spaces if all values are
/// empty.
fn long(bytes: &[u8]) -> Arc<[u8]> {
    let piece: &[u8] = if bytes.is_empty() { b" " } else { bytes };
    piece
        .iter()
        .copied()
        .cycle()
        .take(bytes.len().max(POOL_BYTES))
        .collect()
}

#[derive(Debug)]
struct Line<'t> {
    number: usize,
    key: &'t [u8],
    value: &'t [u8],
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path).map_err(|error| Fault::io(format!("--data={}", path.display()), &error))
}

/// Returns the lines of a file, sorted by key.
fn lines<'t>(path: &Path, text: &'t [u8]) -> Result<Vec<Line<'t>>, Fault> {
    let refuse = |number: usize, what: &str| {
        Fault::new(format!("--data={}: line {number}: {what}", path.display()))
    };
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Err(refuse(
            1,
            "the file is empty; lines of key<TAB>value are needed",
        ));
    }
    let mut lines = Vec::new();
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let number = at + 1;
        let Some(tab) = line.iter().position(|&byte| byte == b'\t') else {
            return Err(refuse(number, "no tab between key and value"));
        };
        let (key, value) = (&line[..tab], &line[tab + 1..]);
        if key.is_empty() {
            return Err(refuse(number, "an empty key"));
        }
        lines.push(Line { number, key, value });
    }
    lines.sort_by(|one, other| one.key.cmp(other.key));
    if let Some(pair) = lines.windows(2).find(|pair| pair[0].key == pair[1].key) {
        let what = format!(
            "key {} is already on line {}",
            show(pair[1].key),
            pair[0].number
        );
        return Err(refuse(pair[1].number, &what));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("records.tsv");
        fs::write(&path, text).expect("written");
        (home, path)
    }

    #[test]
    fn keys_are_sorted_and_values_are_what_stands_after_the_first_tab() {
        let (_home, path) = written(b"pear\tgreen\tsoft\napple\t\nfig\tblue\r\n");
        let shape = examine(&path).expect("well formed");
        assert_eq!(
            (shape.records, shape.key_bytes, shape.value_bytes),
            (3, 4, 5)
        );
        let (set, large, keys) = load(&path).expect("well formed");
        let all: Vec<(Vec<u8>, &[u8])> = (0..3)
            .map(|at| (keys.key(at as u64).to_vec(), set.value(at)))
            .collect();
        assert_eq!(all[0], (b"apple".to_vec(), &b""[..]));
        assert_eq!(all[1], (b"fig".to_vec(), &b"blue\r"[..]));
        assert_eq!(all[2], (b"pear".to_vec(), &b"green\tsoft"[..]));
        assert_eq!(large.value(9).len(), LARGE_VALUE_BYTES);
    }

    #[test]
    fn a_malformed_line_is_refused_with_its_number() {
        for (text, wanted) in [
            (&b"a\t1\nb 2\n"[..], "line 2: no tab between key and value"),
            (b"a\t1\n\tx\n", "line 2: an empty key"),
            (b"a\t1\nb\t2\na\t3\n", "line 3: key a is already on line 1"),
            (b"a\t1\n\nb\t2\n", "line 2: no tab"),
            (b"", "line 1: the file is empty"),
        ] {
            let (_home, path) = written(text);
            let reported = examine(&path).expect_err("malformed").to_string();
            assert!(
                reported.contains(wanted) && reported.contains("records.tsv"),
                "{reported}"
            );
        }
        let absent = examine(Path::new("no/such/file")).expect_err("absent");
        assert!(
            absent.to_string().starts_with("--data=no/such/file: "),
            "{absent}"
        );
    }
}
