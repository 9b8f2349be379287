//! The flags: RocksDB's, of the 5.x program with its defaults, and those its newer versions added.
//!
//! The classic profile is the 5.x program, the modern one that of 7.8. `--profile=modern`, or any
//! flag that only newer versions have, selects the modern profile.

mod help;
mod table;

use bench_core::flags::Given;

pub(crate) use help::help;
pub(crate) use table::{FAMILY, NAMES};

/// Which program's defaults hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// RocksDB 5.x.
    Classic,
    /// RocksDB 7.8.
    Modern,
}

impl Profile {
    /// The profile a command line asks for.
    pub(crate) fn of(given: &Given) -> Self {
        match given.given("profile") {
            Some("classic") => Self::Classic,
            Some(_) => Self::Modern,
            None if table::NEWER.iter().any(|name| given.given(name).is_some()) => Self::Modern,
            // Each of those came after 5.x.
            None if !given.tolerated.is_empty() => Self::Modern,
            None => Self::Classic,
        }
    }

    /// Its word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Modern => "modern",
        }
    }

    /// The value of a flag: given, or this profile's default.
    pub(crate) fn text<'g>(self, given: &'g Given, name: &str) -> &'g str {
        if let Some(text) = given.given(name) {
            return text;
        }
        let modern = || table::MODERN.iter().find(|(flag, _)| *flag == name);
        match self {
            Self::Modern => modern().map_or_else(|| given.text(name), |(_, default)| default),
            Self::Classic => given.text(name),
        }
    }
}

#[cfg(test)]
mod tests;
