//! The figures that conditions compare.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use cairndb::Comparator;
use cairndb_testkit::oracle::PATH;

use crate::machine::Machine;
use crate::writes::{key_of, range_of};

/// Bytewise order that counts its calls. Because it is a custom comparator, it is also called where
/// bytewise order would compare heads.
#[derive(Debug, Default)]
pub(crate) struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &'static str {
        "testkit.counting"
    }

    fn equality_is_identity(&self) -> bool {
        true
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Memory::Relaxed);
        a.cmp(b)
    }
}

/// Converts a count, which is exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "no test counts so far")]
fn exact(count: u64) -> f64 {
    count as f64
}

impl Machine {
    /// Returns the figure `name`; `main.rs` lists them.
    pub(crate) fn figure(&self, name: &str) -> Result<f64, String> {
        if let Some(figure) = self.figures.get(name) {
            return Ok(*figure);
        }
        if let Some(ending) = name.strip_prefix("files.") {
            return Ok(exact(self.files(ending).count() as u64));
        }
        if let Some(range) = name.strip_prefix("size.") {
            let db = self.db()?;
            let size = match range_of(range) {
                Some(range) => {
                    let (from, to) = (range.start.to_string(), range.end.to_string());
                    db.approximate_size(key_of(&from)..key_of(&to))
                }
                None => db.approximate_size(..),
            };
            return size.map(exact).map_err(|error| error.to_string());
        }
        match name {
            "disk" => Ok(self.bytes("")),
            "values" => Ok(self.bytes("val")),
            "live" => Ok(exact(
                self.contents.values().map(|it| it.len() as u64).sum(),
            )),
            "files" => Ok(exact(self.files("").count() as u64)),
            "keys" => Ok(exact(self.contents.len() as u64)),
            "steps" => Ok(exact(self.steps)),
            "failures" => Ok(exact(self.failures)),
            "clean" => Ok(exact(self.db()?.open_report().clean.into())),
            "comparisons" => Ok(exact(self.order.0.swap(0, Memory::Relaxed))),
            _ => self.property(name),
        }
    }

    /// Returns the database's files whose names end with `.ending`, with their lengths. Those that
    /// an opening after a crash could not identify stay and are not the database's.
    pub(crate) fn files(&self, ending: &str) -> impl Iterator<Item = (PathBuf, u64)> {
        let skipped = self.db().map_or(&[][..], |db| &db.open_report().skipped);
        let own = move |path: &Path| {
            path.parent() == Some(PATH.as_ref())
                && !skipped.iter().any(|file| path.ends_with(&file.file))
        };
        let files = self.env.files().into_iter();
        files.filter(move |(path, _)| {
            let found = path.extension().unwrap_or_default();
            own(path) && (ending.is_empty() || found == ending)
        })
    }

    fn bytes(&self, ending: &str) -> f64 {
        exact(self.files(ending).map(|(_, length)| length).sum())
    }

    /// Returns the field `name` of `cairndb.stats`, or `PROPERTY.NAME` of another property.
    fn property(&self, name: &str) -> Result<f64, String> {
        let (property, path) = name.split_once('.').unwrap_or(("stats", name));
        let text = self.db()?.property(&format!("cairndb.{property}"));
        let mut rest = text.as_deref();
        for part in path.split('.') {
            let mark = format!("\"{part}\":");
            rest = rest.and_then(|rest| rest.split_once(&mark)).map(|it| it.1);
        }
        let digits = rest.and_then(|rest| rest.split([',', '}']).next());
        let figure = digits.and_then(|digits| digits.trim().parse().ok());
        figure.ok_or_else(|| format!("no figure {name}"))
    }
}
