//! The parts of a source that are databases of their own, such as `RocksDB`'s column families:
//! which of them are read, and the prefix that the keys of each get.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::coding::Coding;
use crate::escape::typed;
use crate::failure::{Failure, Result};

/// The family of RocksDB that is the default keyspace.
const DEFAULT: &[u8] = b"default";

/// The families that were chosen; none if there was no choice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Families {
    chosen: Vec<Family>,
}

/// A family and the prefix of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) name: Vec<u8>,
    pub(crate) prefix: Vec<u8>,
    /// Whether the prefix was given. Without one, a family of RocksDB is a keyspace.
    pub(crate) has_prefix: bool,
}

impl Family {
    /// The prefix that a family has unless the user picks one.
    pub(crate) fn named(name: &[u8]) -> Family {
        Family {
            name: name.to_vec(),
            prefix: [name, b"/"].concat(),
            has_prefix: false,
        }
    }

    /// Returns whether its entries go to the default keyspace.
    pub(crate) fn is_default_keyspace(&self) -> bool {
        self.has_prefix || self.name == DEFAULT
    }
}

impl Families {
    /// Reads arguments of the form `NAME` or `NAME=PREFIX`.
    pub(crate) fn read(arguments: &[OsString]) -> Result<Families> {
        let mut chosen: Vec<Family> = Vec::new();
        for argument in arguments {
            let text = argument.as_bytes();
            let family = match text.iter().position(|byte| *byte == b'=') {
                None => Family::named(text),
                Some(at) => {
                    let (name, prefix) = text.split_at(at);
                    let prefix = std::ffi::OsStr::from_bytes(prefix.get(1..).unwrap_or(&[]));
                    Family {
                        name: name.to_vec(),
                        prefix: Coding::Text.decode("prefix of --family", prefix)?,
                        has_prefix: true,
                    }
                }
            };
            if chosen.iter().any(|other| other.name == family.name) {
                let name = typed(&family.name);
                let message = format!("--family names {name} twice");
                return Err(Failure::usage(message));
            }
            chosen.push(family);
        }
        Ok(Families { chosen })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// The families that were chosen, in the order of the command line.
    pub(crate) fn chosen(&self) -> &[Family] {
        &self.chosen
    }

    /// Fails if a family was chosen that is not among those that a source has.
    pub(crate) fn check(&self, source: &str, noun: &str, names: &[Vec<u8>]) -> Result<()> {
        let missing = self
            .chosen
            .iter()
            .find(|family| !names.contains(&family.name));
        let Some(missing) = missing else {
            return Ok(());
        };
        let known = names.iter().map(|name| match &**name {
            [] => "one without a name".to_owned(),
            name => typed(name),
        });
        let known: Vec<String> = known.collect();
        Err(Failure::usage(format!(
            "{source} has no {noun} `{}`; it has {}",
            typed(&missing.name),
            known.join(", ")
        )))
    }

    /// Returns a family if it was chosen.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Family> {
        self.chosen.iter().find(|family| family.name == name)
    }
}
