//! The flags: those of RocksDB's 5.x program with its defaults, and those that newer versions
//! added.
//!
//! The classic profile corresponds to the 5.x program, the modern one to that of 7.8.
//! `--profile=modern`, or any flag that only newer versions have, selects the modern profile.

mod help;
mod table;

use bench_core::flags::Given;

pub(crate) use help::help;
pub(crate) use table::{FAMILY, NAMES};

/// The program whose defaults apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// RocksDB 5.x.
    Classic,
    /// RocksDB 7.8.
    Modern,
}

impl Profile {
    /// Returns the profile that a command line selects.
    pub(crate) fn of(given: &Given) -> Self {
        match given.given("profile") {
            Some("classic") => Self::Classic,
            Some(_) => Self::Modern,
            None if table::newer().any(|flag| given.given(flag.name).is_some()) => Self::Modern,
            // Each of these was added after 5.x.
            None if !given.tolerated.is_empty() => Self::Modern,
            None => Self::Classic,
        }
    }

    /// Returns the word of the profile.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Modern => "modern",
        }
    }

    /// Returns the given value of a flag, or this profile's default.
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
