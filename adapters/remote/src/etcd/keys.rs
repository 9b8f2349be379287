//! Keys of the store within the key space of the cluster: all start with one prefix.

use cairndb_store::{Error, Result, Window, prefix_end};

/// Longest prefix, so that the operations of a batch fit in a request beside their keys.
const PREFIX_BYTES_MAX: usize = 256;

/// The prefix, which ends in `/`, and the first key after all that start with it.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    bytes: Vec<u8>,
    end: Vec<u8>,
}

impl Prefix {
    /// Returns the prefix of a URL's path.
    pub(super) fn of_path(path: &str) -> Result<Prefix> {
        let path = path.trim_end_matches('/');
        if path.is_empty() || path.len() >= PREFIX_BYTES_MAX {
            return Err(Error::invalid(
                "the URL needs a prefix of 1 to 255 bytes: etcd://host/prefix",
            ));
        }
        let bytes = format!("{path}/").into_bytes();
        let end = prefix_end(&bytes).unwrap_or_default();
        Ok(Prefix { bytes, end })
    }

    /// Returns the number of bytes that the prefix adds to each key.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns a key of the store as the cluster knows it.
    pub(super) fn full(&self, key: &[u8]) -> Vec<u8> {
        [&self.bytes, key].concat()
    }

    /// Returns a key of the cluster as the store knows it.
    pub(super) fn strip<'a>(&self, full: &'a [u8]) -> Result<&'a [u8]> {
        full.strip_prefix(self.bytes.as_slice())
            .ok_or_else(|| Error::invalid("the engine returned a key without the prefix"))
    }

    /// Returns the first key of a window and the first one after it.
    pub(super) fn range(&self, window: &Window) -> (Vec<u8>, Vec<u8>) {
        let end = match &window.end {
            Some(end) => self.full(end),
            None => self.end.clone(),
        };
        (self.full(&window.start), end)
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::{Scan, Window};

    use super::Prefix;

    #[test]
    fn keys_stay_within_their_prefix() {
        let prefix = Prefix::of_path("stones").expect("a valid prefix");
        assert_eq!(prefix.full(b""), b"stones/");
        assert_eq!(prefix.strip(b"stones/a").ok(), Some(&b"a"[..]));
        assert!(prefix.strip(b"stone").is_err());
        let whole = prefix.range(&Window::of(&Scan::all()));
        assert_eq!(whole, (b"stones/".to_vec(), b"stones0".to_vec()));
        let part = prefix.range(&Window::of(&Scan::range("a".."b")));
        assert_eq!(part, (b"stones/a".to_vec(), b"stones/b".to_vec()));
    }

    #[test]
    fn a_prefix_is_required() {
        for path in ["", "/", &"x".repeat(300)] {
            assert!(Prefix::of_path(path).is_err(), "{path}");
        }
        assert!(Prefix::of_path("a/b/").is_ok());
    }
}
