//! The report as text.

use std::fmt;

use crate::report::{Doubt, HarmlessDamage, KeySpan, Loss, RepairReport, Unnamed};

/// Maximum number of bytes of a key that the text shows.
const KEY_BYTES_SHOWN: usize = 40;

impl fmt::Display for KeySpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.first, &self.last) {
            (None, None) => f.write_str("all keys"),
            (Some(first), Some(last)) if first == last => write!(f, "key {}", Shown(first)),
            (Some(first), Some(last)) => write!(f, "keys {} to {}", Shown(first), Shown(last)),
            (Some(first), None) => write!(f, "keys from {}", Shown(first)),
            (None, Some(last)) => write!(f, "keys up to {}", Shown(last)),
        }?;
        let (first, last) = (self.keyspaces.first(), self.keyspaces.last());
        match (self.keyspaces.len(), first.zip(last)) {
            (_, None) => Ok(()),
            (1, Some((name, _))) => write!(f, " in keyspace {name:?}"),
            (count, Some((first, last))) => {
                write!(f, " in {count} keyspaces from {first:?} to {last:?}")
            }
        }
    }
}

/// A key, escaped, and shortened if it is long.
struct Shown<'k>(&'k [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(KEY_BYTES_SHOWN)];
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(f, "... ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.file, self.offset)?;
        if self.bytes > 0 {
            write!(f, ", {} bytes", self.bytes)?;
        }
        write!(f, ": {}; {}", self.keys, self.reason)?;
        if self.older {
            f.write_str("; older versions of these keys, and deleted keys, may be back")?;
        }
        Ok(())
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = &self.kept;
        if self.dry_run {
            writeln!(f, "Dry run: nothing was written.")?;
        }
        let manifest = self.manifest.as_deref().unwrap_or("none was readable");
        writeln!(f, "Manifest: {manifest}")?;
        writeln!(
            f,
            "Kept: {} keys, {} bytes, {} large values",
            kept.keys, kept.bytes, kept.large_values
        )?;
        writeln!(
            f,
            "Read: {} tables with {} entries, {} log records with {} entries",
            kept.tables, kept.table_entries, kept.log_records, kept.log_entries
        )?;
        if self.is_complete() {
            writeln!(f, "Lost: nothing.")?;
        }
        put_list(f, "Lost", &self.lost)?;
        put_list(f, "Not determined", &self.doubts)?;
        put_list(f, "Files that the manifest does not name", &self.unnamed)?;
        put_list(f, "Damage that lost nothing", &self.harmless)
    }
}

/// Writes a title with the number of items, and a line for each; nothing without items.
fn put_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, title: &str, items: &[T]) -> fmt::Result {
    if !items.is_empty() {
        writeln!(f, "{title} ({}):", items.len())?;
    }
    items.iter().try_for_each(|item| writeln!(f, "  {item}"))
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.keys, self.reason)
    }
}

impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.included {
            "included"
        } else {
            "set apart"
        };
        write!(
            f,
            "{}: {} bytes, {} entries, {}; {what}",
            self.file, self.bytes, self.entries, self.keys
        )
    }
}

impl fmt::Display for HarmlessDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at offset {}: {}",
            self.file, self.offset, self.reason
        )
    }
}
