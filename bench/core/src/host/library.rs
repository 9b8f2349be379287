//! The file that an engine's code was loaded from, as seen by the process itself.
//!
//! A name such as `libleveldb.so.1` may exist in several directories, and the loader's choice is
//! known only after loading. The address of one of the library's functions is in a mapping, and the
//! kernel reports which file is mapped there.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Number of bytes of a file that are read at once.
const PIECE: usize = 1 << 20;

/// Returns the size and checksum of a file as text, to identify it regardless of its name.
///
/// # Errors
/// As the system reports it.
pub fn fingerprint(path: &Path) -> io::Result<String> {
    let (mut file, mut piece) = (File::open(path)?, vec![0; PIECE]);
    let (mut bytes, mut checksum) = (0, 0);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(format!("{bytes} bytes with checksum {checksum:08x}"));
        }
        checksum = crc32c::crc32c_append(checksum, &piece[..count]);
        bytes += count;
    }
}

/// A loaded library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// The file, with links resolved; absent if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The C++ namespace of its own code, such as `leveldb::`. If assertions are compiled in, the
    /// file contains the signatures of the functions that have them; otherwise it contains none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Other evidence in the file of how it was built.
    pub signs: Vec<Sign>,
}

/// Bytes that a library contains if and only if it was built in a certain way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    /// The bytes.
    pub text: String,
    /// Whether the bytes mean that assertions are compiled in or that they are not.
    pub assertions: bool,
    /// The meaning of the bytes, as a phrase that follows "it ".
    pub meaning: String,
}

impl Library {
    /// Returns the library that contains the function at `address`.
    pub fn at(address: *const ()) -> Self {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Self {
            path: file_at(&maps, address.addr()),
            ..Self::default()
        }
    }

    /// Sets the namespace of its own code.
    #[must_use]
    pub fn of_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Adds a sign.
    #[must_use]
    pub fn with(mut self, text: &str, assertions: bool, meaning: &str) -> Self {
        self.signs.push(Sign {
            text: text.to_owned(),
            assertions,
            meaning: meaning.to_owned(),
        });
        self
    }
}

/// Returns the file mapped at an address; the lines are `from-to rights offset device inode path`.
fn file_at(maps: &str, address: usize) -> Option<String> {
    let holds = |line: &&str| {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        range.is_some_and(|(from, to)| {
            number(from).is_some_and(|from| from <= address)
                && number(to).is_some_and(|to| address < to)
        })
    };
    let line = maps.lines().find(holds)?;
    let path = line.find('/').map(|at| &line[at..])?;
    Some(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5600-5700 r-xp 00000000 fe:00 11 /usr/bin/db_bench
7f00-7f10 r--p 00000000 fe:00 12 /usr/lib/my libs/libx.so.1.2
7f10-7f20 r-xp 00001000 fe:00 12 /usr/lib/my libs/libx.so.1.2
7f20-7f30 rw-p 00000000 00:00 0
7f30-7f40 rw-p 00000000 00:00 0 [heap]
";

    #[test]
    fn the_mapping_that_holds_the_address_names_the_file() {
        let found = |address| file_at(MAPS, address);
        assert_eq!(
            found(0x7f15).as_deref(),
            Some("/usr/lib/my libs/libx.so.1.2")
        );
        assert_eq!(found(0x56ff).as_deref(), Some("/usr/bin/db_bench"));
        assert_eq!(found(0x5700), None, "the end is exclusive");
        assert_eq!((found(0x7f25), found(0x7f35)), (None, None), "no file");
    }

    #[test]
    fn a_file_is_reported_by_its_contents() {
        let home = tempfile::tempdir().expect("a directory");
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        std::fs::write(&one, "123456789").expect("written");
        std::fs::write(&other, vec![0; PIECE + 1]).expect("written");
        let reported = fingerprint(&one).expect("readable");
        assert_eq!(reported, "9 bytes with checksum e3069283");
        let reported = fingerprint(&other).expect("readable");
        let whole = crc32c::crc32c(&vec![0; PIECE + 1]);
        assert_eq!(reported, format!("1048577 bytes with checksum {whole:08x}"));
        fingerprint(&home.path().join("none")).expect_err("not there");
    }

    #[test]
    fn a_function_of_this_program_is_found_in_this_program() {
        let library = Library::at(file_at as *const ());
        let program = std::env::current_exe().expect("known");
        assert_eq!(library.path, Some(program.display().to_string()));
        let reported = library.of_namespace("x::").with("x", true, "holds x");
        assert_eq!(
            (reported.namespace.as_deref(), reported.signs.len()),
            (Some("x::"), 1)
        );
    }
}
