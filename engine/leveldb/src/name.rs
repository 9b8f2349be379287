//! The names of the files in a LevelDB directory.
//!
//! Writers pad numbers to six digits; readers take any number of digits that fits 64 bits, as
//! LevelDB does.

use std::fmt;

/// The file that names the manifest in use.
pub(crate) const CURRENT: &str = "CURRENT";
/// The file that LevelDB locks while a process has the database open.
pub(crate) const LOCK: &str = "LOCK";

/// What a name in the directory means.
///
/// ```
/// use cairndb_leveldb::FileName;
/// assert_eq!(FileName::parse("000007.ldb"), Some(FileName::Table(7)));
/// assert_eq!(FileName::parse("000007.sst"), Some(FileName::OldTable(7)));
/// assert_eq!(FileName::parse("MANIFEST-000002"), Some(FileName::Manifest(2)));
/// assert_eq!(FileName::parse("notes.txt"), None);
/// assert_eq!(FileName::Log(12).to_string(), "000012.log");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileName {
    /// A log: writes that are not in tables yet.
    Log(u64),
    /// A table.
    Table(u64),
    /// A table under the ending that versions before 1.14 wrote.
    OldTable(u64),
    /// A manifest.
    Manifest(u64),
    /// A file that was to be renamed.
    Temporary(u64),
    /// `CURRENT`.
    Current,
    /// `LOCK`.
    Lock,
    /// `LOG` or `LOG.old`: messages for people, which no reader needs.
    Messages,
}

impl FileName {
    /// What the name means; `None` if LevelDB gives no file such a name.
    pub fn parse(name: &str) -> Option<FileName> {
        match name {
            CURRENT => return Some(FileName::Current),
            LOCK => return Some(FileName::Lock),
            "LOG" | "LOG.old" => return Some(FileName::Messages),
            _ => {}
        }
        if let Some(digits) = name.strip_prefix("MANIFEST-") {
            return number(digits).map(FileName::Manifest);
        }
        let (digits, ending) = name.split_once('.')?;
        let number = number(digits)?;
        match ending {
            "log" => Some(FileName::Log(number)),
            "ldb" => Some(FileName::Table(number)),
            "sst" => Some(FileName::OldTable(number)),
            "dbtmp" => Some(FileName::Temporary(number)),
            _ => None,
        }
    }
}

/// The number of some decimal digits and nothing else: `parse` alone would allow a sign.
fn number(digits: &str) -> Option<u64> {
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileName::Log(number) => write!(f, "{number:06}.log"),
            FileName::Table(number) => write!(f, "{number:06}.ldb"),
            FileName::OldTable(number) => write!(f, "{number:06}.sst"),
            FileName::Manifest(number) => write!(f, "MANIFEST-{number:06}"),
            FileName::Temporary(number) => write!(f, "{number:06}.dbtmp"),
            FileName::Current => f.write_str(CURRENT),
            FileName::Lock => f.write_str(LOCK),
            FileName::Messages => f.write_str("LOG"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were_written() {
        let names = [
            FileName::Log(1),
            FileName::Table(999_999),
            FileName::OldTable(1_000_000),
            FileName::Manifest(u64::MAX),
            FileName::Temporary(0),
            FileName::Current,
            FileName::Lock,
            FileName::Messages,
        ];
        for name in names {
            assert_eq!(FileName::parse(&name.to_string()), Some(name));
        }
        assert_eq!(FileName::parse("7.log"), Some(FileName::Log(7)));
    }

    #[test]
    fn other_names_mean_nothing() {
        let others = [
            "",
            ".log",
            "+7.log",
            "7",
            "7.txt",
            "7.log.old",
            "MANIFEST-",
            "MANIFEST-x",
            "18446744073709551616.log",
            "current",
            "-1.ldb",
            "foo.ldb",
            "LOG.older",
        ];
        for other in others {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }
}
