//! Addresses of stores: `scheme://user:password@host:port,host/path?setting=value`.
//!
//! Several hosts, as distributed engines have them, are not part of the general URL syntax, so the
//! parser is our own. Secrets are kept in [`Secret`], which no message shows.

mod host;
mod parse;
mod secret;

use std::time::Duration;

use cairndb_store::{Error, Result};

pub use host::Host;
pub use secret::Secret;

use parse::Parts;

/// Time limit of a call that has none of its own, for a networked engine: long enough for an
/// election and a restart, short enough that a program does not hang for minutes.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// The parsed URL of a store.
///
/// `Debug` and error messages show neither user nor password.
///
/// ```
/// use cairndb_remote::Address;
/// # fn main() -> cairndb_store::Result<()> {
/// let address = Address::parse("etcd://ada:secret@10.0.0.1:2379,10.0.0.2:2379/app?timeout=2s")?;
/// assert_eq!(address.scheme(), "etcd");
/// assert_eq!(address.hosts().len(), 2);
/// assert_eq!(address.path(), "app");
/// assert!(!format!("{address:?}").contains("secret"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    parts: Parts,
}

impl Address {
    /// Parses a URL. Percent-encoding is decoded in all parts. Write `%2F` for `/`, `%3F` for `?`
    /// and `%23` for `#` in a user or password, and `%40` for `@` in the path or a setting of every
    /// engine but `file:`.
    ///
    /// # Errors
    /// `InvalidArgument`, which says what is wrong without repeating the URL.
    pub fn parse(url: &str) -> Result<Address> {
        Ok(Address {
            parts: parse::parts(url)?,
        })
    }

    /// Returns the scheme, such as `etcd`.
    pub fn scheme(&self) -> &str {
        &self.parts.scheme
    }

    /// Returns the servers, in the order of the URL.
    pub fn hosts(&self) -> &[Host] {
        &self.parts.hosts
    }

    /// Returns the path without its first slash; for `file:` URLs, the whole path.
    pub fn path(&self) -> &str {
        &self.parts.path
    }

    /// Returns the user of the URL, or else of the variable `CAIRN_STORE_USER`.
    pub fn user(&self) -> Option<Secret> {
        self.parts
            .user
            .clone()
            .or_else(|| secret::variable("CAIRN_STORE_USER"))
    }

    /// Returns the password of the URL, or else of the variable `CAIRN_STORE_PASSWORD`, which other
    /// users of the machine cannot see in the list of processes.
    pub fn password(&self) -> Option<Secret> {
        let password = self.parts.password.clone();
        password.or_else(|| secret::variable("CAIRN_STORE_PASSWORD"))
    }

    /// Returns the value of a setting, if the URL has it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.parts.settings.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Checks that the URL has only settings that the engine knows.
    ///
    /// # Errors
    /// `InvalidArgument`, with the unknown setting and the known ones.
    pub fn check_settings(&self, known: &[&str]) -> Result<()> {
        for (name, _) in &self.parts.settings {
            if !known.contains(&name.as_str()) {
                let scheme = &self.parts.scheme;
                return Err(Error::invalid(format!(
                    "{scheme}: no setting {name:?}; there are: {}",
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Returns the setting `timeout`, such as `250ms` or `5s`, or [`TIMEOUT_DEFAULT`].
    ///
    /// # Errors
    /// `InvalidArgument` if it is not a duration.
    pub fn timeout(&self) -> Result<Duration> {
        match self.setting("timeout") {
            None => Ok(TIMEOUT_DEFAULT),
            Some(text) => parse::duration(text).ok_or_else(|| {
                Error::invalid(format!("timeout is {text:?}, but must be like 250ms or 5s"))
            }),
        }
    }

    /// Returns a numeric setting between `min` and `max`, or `default`.
    ///
    /// # Errors
    /// `InvalidArgument` if it is something else.
    pub fn number(&self, name: &str, default: usize, min: usize, max: usize) -> Result<usize> {
        let Some(text) = self.setting(name) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(Error::invalid(format!(
                "{name} is {text:?}, but must be a number from {min} to {max}"
            ))),
        }
    }

    /// Returns a setting that is `yes` or `no`, or `default`.
    ///
    /// # Errors
    /// `InvalidArgument` if it is something else.
    pub fn choice(&self, name: &str, default: Choice) -> Result<Choice> {
        match self.setting(name) {
            None => Ok(default),
            Some("yes") => Ok(Choice::Yes),
            Some("no") => Ok(Choice::No),
            Some(text) => Err(Error::invalid(format!(
                "{name} is {text:?}, but must be yes or no"
            ))),
        }
    }
}

/// The value of a setting that is switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Switched on: `yes`.
    Yes,
    /// Switched off: `no`.
    No,
}

#[cfg(test)]
mod tests;
