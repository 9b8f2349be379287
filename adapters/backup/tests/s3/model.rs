//! `Model`: what a place may contain after operations that may have failed, object by object.

use std::collections::BTreeMap;

use cairndb_backup::Place;
use cairndb_base::ErrorKind;

use super::{content, download};

/// Seed and length of a content; none is an absent object.
pub(crate) type Content = Option<(u64, usize)>;

/// The contents that each object may have.
#[derive(Debug, Default)]
pub(crate) struct Model {
    objects: BTreeMap<String, Vec<Content>>,
}

impl Model {
    /// Returns what the object may be.
    pub(crate) fn possible(&self, name: &str) -> Vec<Content> {
        self.objects
            .get(name)
            .cloned()
            .unwrap_or_else(|| vec![None])
    }

    /// The object is this.
    pub(crate) fn is(&mut self, name: &str, found: Content) {
        self.objects.insert(name.to_owned(), vec![found]);
    }

    /// The object is this or what it was.
    pub(crate) fn may_be(&mut self, name: &str, other: Content) {
        let mut possible = self.possible(name);
        possible.push(other);
        self.objects.insert(name.to_owned(), possible);
    }

    /// Checks that bytes are one of the contents that the object may have, as a whole, and returns
    /// which.
    pub(crate) fn check(&self, name: &str, found: Option<&[u8]>) -> Content {
        let possible = self.possible(name);
        let same = |one: &Content| match (one, found) {
            (None, None) => true,
            (&Some((seed, len)), Some(bytes)) => len == bytes.len() && content(seed, len) == bytes,
            _ => false,
        };
        let found = found.map(<[u8]>::len);
        *possible
            .iter()
            .find(|one| same(one))
            .unwrap_or_else(|| panic!("{name} has {found:?} bytes that are none of {possible:?}"))
    }

    /// Reads an object on a place that answers, checks it, and returns what it is.
    pub(crate) fn settle(&mut self, place: &dyn Place, name: &str) -> Content {
        let found = match download(place, name, 1 << 20) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => panic!("{error}"),
        };
        let found = self.check(name, found.as_deref());
        self.is(name, found);
        found
    }

    /// Checks names and lengths of a folder, which are all that may be there and no others.
    pub(crate) fn check_list(&self, folder: &str, found: &BTreeMap<String, u64>) {
        let prefix = format!("{folder}/");
        let mut names = found.clone();
        for (name, possible) in &self.objects {
            if let Some(name) = name.strip_prefix(&prefix) {
                let bytes = names.remove(name);
                let same = |one: &Content| one.map(|(_, len)| len as u64) == bytes;
                assert!(
                    possible.iter().any(same),
                    "{name} has {bytes:?}, not {possible:?}"
                );
            }
        }
        assert!(names.is_empty(), "{names:?} were never made");
    }
}
