//! Names of the files in a database directory.
//!
//! A name consists of a number and a suffix and nothing else, so no string read from disk ever
//! becomes a path. Parsing accepts exactly the names that printing produces.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;

use cairndb_base::FileNumber;

/// The lock file.
pub const LOCK: &str = "LOCK";
/// The file that names the manifest.
pub const CURRENT: &str = "CURRENT";
/// The file of memory that a writer shares with followers.
pub const SHARED: &str = "SHARED";
/// Prefix of a manifest's name.
pub const MANIFEST_PREFIX: &str = "MANIFEST-";

/// The kind of a file, from its name.
///
/// ```
/// use cairndb_base::FileNumber;
/// use cairndb_format::name::FileKind;
/// assert_eq!(FileKind::parse("000007.tbl"), Some(FileKind::Table(FileNumber(7))));
/// assert_eq!(FileKind::Log(FileNumber(1_234_567)).to_string(), "1234567.log");
/// assert_eq!(FileKind::parse("7.tbl"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `LOCK`.
    Lock,
    /// `CURRENT`.
    Current,
    /// `SHARED`.
    Shared,
    /// `MANIFEST-NNNNNN`.
    Manifest(FileNumber),
    /// `NNNNNN.log`, a log segment.
    Log(FileNumber),
    /// `NNNNNN.tbl`, a table.
    Table(FileNumber),
    /// `NNNNNN.val`, a value file.
    Value(FileNumber),
    /// `NNNNNN.tmp`, never needed after a crash.
    Temp(FileNumber),
}

impl FileKind {
    /// Returns the kind of file with this name, or `None` for a name that this format does not use.
    pub fn parse(name: &str) -> Option<FileKind> {
        match name {
            LOCK => return Some(FileKind::Lock),
            CURRENT => return Some(FileKind::Current),
            SHARED => return Some(FileKind::Shared),
            _ => {}
        }
        if let Some(digits) = name.strip_prefix(MANIFEST_PREFIX) {
            return parse_number(digits).map(FileKind::Manifest);
        }
        let (digits, suffix) = name.split_once('.')?;
        let make = match suffix {
            "log" => FileKind::Log,
            "tbl" => FileKind::Table,
            "val" => FileKind::Value,
            "tmp" => FileKind::Temp,
            _ => return None,
        };
        parse_number(digits).map(make)
    }

    /// Returns the noun that messages use for such a file.
    pub fn noun(self) -> &'static str {
        match self {
            FileKind::Lock => "lock file",
            FileKind::Current => "CURRENT file",
            FileKind::Shared => "file of shared memory",
            FileKind::Manifest(_) => "manifest",
            FileKind::Log(_) => "log segment",
            FileKind::Table(_) => "table",
            FileKind::Value(_) => "value file",
            FileKind::Temp(_) => "temporary file of this format",
        }
    }

    /// Returns the number in the name, if it has one.
    pub fn number(self) -> Option<FileNumber> {
        match self {
            FileKind::Lock | FileKind::Current | FileKind::Shared => None,
            FileKind::Manifest(number)
            | FileKind::Log(number)
            | FileKind::Table(number)
            | FileKind::Value(number)
            | FileKind::Temp(number) => Some(number),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileKind::Lock => f.write_str(LOCK),
            FileKind::Current => f.write_str(CURRENT),
            FileKind::Shared => f.write_str(SHARED),
            FileKind::Manifest(number) => write!(f, "{MANIFEST_PREFIX}{number}"),
            FileKind::Log(number) => write!(f, "{number}.log"),
            FileKind::Table(number) => write!(f, "{number}.tbl"),
            FileKind::Value(number) => write!(f, "{number}.val"),
            FileKind::Temp(number) => write!(f, "{number}.tmp"),
        }
    }
}

/// Minimum number of digits in a name; smaller numbers are padded with zeros.
const DIGITS_MIN: usize = 6;
/// Number of digits of the largest `u64`.
const DIGITS_MAX: usize = 20;

/// Parses six to twenty digits as printing produces them: padded to six, without further leading
/// zeros.
fn parse_number(digits: &str) -> Option<FileNumber> {
    let canonical = match digits.len() {
        DIGITS_MIN => true,
        len => len > DIGITS_MIN && len <= DIGITS_MAX && !digits.starts_with('0'),
    };
    if !canonical || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(FileNumber)
}

/// Returns the name of a manifest.
pub fn manifest(number: FileNumber) -> String {
    FileKind::Manifest(number).to_string()
}

/// Returns the name of a log segment's file.
pub fn log(number: FileNumber) -> String {
    FileKind::Log(number).to_string()
}

/// Returns the name of a table.
pub fn table(number: FileNumber) -> String {
    FileKind::Table(number).to_string()
}

/// Returns the name of a value file.
pub fn value(number: FileNumber) -> String {
    FileKind::Value(number).to_string()
}

/// Returns the name of a temporary file.
pub fn temp(number: FileNumber) -> String {
    FileKind::Temp(number).to_string()
}

#[cfg(test)]
mod tests;
