//! Opening the store that a URL names.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cairndb::Options;
use cairndb_remote::Address;
use cairndb_store::{Entries, Error, ErrorKind, Scan, Store};

use crate::database::{Purpose, open_to_read_with, open_with, options_for};
use crate::failure::{Failure, Result};
use crate::orders;
use crate::transfer::target::absolute;

/// Memory of a database in files: keys come in order, so more would not make a copy faster.
const MEMORY_BYTES: usize = 8 << 20;

/// What a command does with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Reads to write it elsewhere.
    Copy,
    Write,
    /// Writes, and creates a database in files if there is none. Other engines create their table
    /// or prefix for every write.
    Create,
}

impl Access {
    fn is_read_only(self) -> bool {
        matches!(self, Access::Read | Access::Copy)
    }
}

/// An open store.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: Box<dyn Store>,
    /// What messages call it.
    pub(crate) name: String,
    /// The name that is the same from every working directory, to be compared.
    pub(crate) identity: String,
    /// Keyspaces of a database in files, which no store has.
    pub(crate) keyspaces: Vec<String>,
    /// The directory of a database in files.
    pub(crate) directory: Option<PathBuf>,
}

impl Opened {
    /// Returns a function that turns an error of this store into a failure.
    pub(crate) fn failure(&self) -> impl Fn(Error) -> Failure + use<> {
        let store = self.name.clone();
        move |error| Failure::of_store(&store, &error)
    }

    /// Closes the store.
    pub(crate) fn close(&self) -> Result<()> {
        self.store.close().map_err(self.failure())
    }

    /// Scans the store.
    pub(crate) fn scan(&self, scan: &Scan) -> Result<Entries<'_>> {
        self.store.scan(scan).map_err(self.failure())
    }
}

/// Returns what is the same for two URLs of one store: the name, from every working directory.
pub(crate) fn identity(role: &str, url: &str) -> Result<String> {
    let address = Address::parse(url).map_err(|error| unusable(role, &error))?;
    Ok(match address.scheme() {
        "file" => {
            let path = Path::new(address.path());
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            format!("file:{}", absolute(&real))
        }
        _ => name_of(&address),
    })
}

/// Opens the store at `url`. `role` is what messages call the argument.
pub(crate) fn open(role: &str, url: &str, access: Access) -> Result<Opened> {
    let address = Address::parse(url).map_err(|error| unusable(role, &error))?;
    match address.scheme() {
        "file" => open_file(role, url, &address, access),
        "memory" => Err(Failure::usage(format!(
            "{role}: a store in memory is empty, and ends with the command"
        ))),
        scheme => {
            let opened = cairndb_remote::open(&url_for(url, &address, access));
            let name = name_of(&address);
            let store = match opened {
                Ok(store) => store,
                Err(error) if error.kind() == ErrorKind::NotSupported => {
                    return Err(not_built(scheme));
                }
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    return Err(unusable(role, &error));
                }
                Err(error) => return Err(Failure::of_store(&name, &error)),
            };
            Ok(Opened {
                store,
                identity: name.clone(),
                name,
                keyspaces: Vec::new(),
                directory: None,
            })
        }
    }
}

/// Returns the URL to open. A table that is only read is not created: a misspelt source of a copy
/// would be an empty store, and the copy empty its target.
fn url_for<'a>(url: &'a str, address: &Address, access: Access) -> Cow<'a, str> {
    let is_table = matches!(address.scheme(), "postgres" | "postgresql");
    if !access.is_read_only() || !is_table || address.setting("create").is_some() {
        return Cow::Borrowed(url);
    }
    let joint = if url.contains('?') { '&' } else { '?' };
    Cow::Owned(format!("{url}{joint}create=no"))
}

fn unusable(role: &str, error: &Error) -> Failure {
    Failure::usage(format!("{role}: {}", error.message()))
}

fn not_built(scheme: &str) -> Failure {
    let feature = match scheme {
        "postgresql" => "postgres",
        other => other,
    };
    Failure::other(format!(
        "this cairn was built without {feature}; build it with `cargo build --release --package \
         cairndb-tool --features {feature}`"
    ))
}

fn open_file(role: &str, url: &str, address: &Address, access: Access) -> Result<Opened> {
    let is_local = address.hosts().iter().all(|host| host.name == "localhost");
    if !is_local || address.path().is_empty() {
        return Err(Failure::usage(format!(
            "{role}: a database in files is on this machine: write file:///path or file:path"
        )));
    }
    // `cairn` decides how it opens a database, so that no URL can weaken it.
    if address.check_settings(&[]).is_err() {
        return Err(Failure::usage(format!(
            "{role}: cairn decides how it opens a database in files, so its URL has no settings: \
             write file:path, without a question mark"
        )));
    }
    let path = Path::new(address.path());
    if !orders::order_of(path).is_bytewise() {
        return Err(Failure::other(format!(
            "{} has keys that are not in bytewise order, as keys of every store are; use the \
             commands that take the directory",
            path.display()
        )));
    }
    let small = |options: Options| options.memory_budget(MEMORY_BYTES);
    let db = match access {
        Access::Read => open_to_read_with(path, Purpose::Show, small)?,
        Access::Copy => open_to_read_with(path, Purpose::Keep("copied"), small)?,
        Access::Write => open_with(path, &small(options_for(path)))?,
        Access::Create => open_with(path, &small(options_for(path)).create_if_missing(true))?,
    };
    Ok(Opened {
        keyspaces: db.keyspaces(),
        store: Box::new(db),
        name: format!("file:{}", path.display()),
        identity: identity(role, url)?,
        directory: Some(path.to_owned()),
    })
}

/// Returns scheme, hosts and path of an address, without user, password and settings.
fn name_of(address: &Address) -> String {
    let hosts = address.hosts().iter().map(|host| {
        let name = if host.name.contains(':') {
            format!("[{}]", host.name)
        } else {
            host.name.clone()
        };
        match host.port {
            Some(port) => format!("{name}:{port}"),
            None => name,
        }
    });
    let hosts: Vec<String> = hosts.collect();
    format!(
        "{}://{}/{}",
        address.scheme(),
        hosts.join(","),
        address.path()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_secret_and_no_setting() {
        let url = "postgres://ada:secret@[::1]:5433,db.example/main/stones?timeout=5s";
        let name = name_of(&Address::parse(url).unwrap());
        assert_eq!(name, "postgres://[::1]:5433,db.example/main/stones");
    }
}
