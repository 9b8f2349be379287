//! `get`, `scan` and `count`, over the databases of both stores.

use super::stores;
use crate::arguments::{Count, Get, Scan};
use crate::coding::{Coding, append_json_entry};
use crate::database::{DatabaseReader, Purpose};
use crate::failure::{Failure, Result};
use crate::output::{Output, print};
use crate::place::StorePlace;
use crate::range::Range;

/// Prints the value of a key.
pub(super) fn get(arguments: &Get) -> Result<()> {
    let coding = Coding::from(arguments.coding);
    let (place, key) = arguments.place()?;
    let key = coding.decode("key", key)?;
    let (value, place) = match place {
        StorePlace::Directory(path, keyspace) => {
            let value = DatabaseReader::open(path, keyspace, Purpose::Show)?.get(path, &key)?;
            (value, path.display().to_string())
        }
        StorePlace::Url(url) => {
            let (value, name) = stores::get(url, &key)?;
            (value.map(|value| value.to_vec()), name)
        }
    };
    let Some(value) = value else {
        return Err(Failure::key_not_found(&coding.shown(&key), &place));
    };
    let mut output = Output::stdout()?;
    if arguments.raw {
        output.buffer().extend_from_slice(&value);
    } else if arguments.json {
        append_json_entry(coding, Some(&key), Some(&value), output.buffer());
        output.end_line()?;
    } else {
        coding.append(&value, output.buffer());
        output.end_line()?;
    }
    output.finish()
}

/// Prints entries, until the limit.
struct Printer {
    output: Output,
    coding: Coding,
    json: bool,
    has_keys: bool,
    has_values: bool,
    left: u64,
}

impl Printer {
    #[inline]
    fn print(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let out = self.output.buffer();
        if self.json {
            let key = self.has_keys.then_some(key);
            let value = self.has_values.then_some(value);
            append_json_entry(self.coding, key, value, out);
        } else {
            if self.has_keys {
                self.coding.append(key, out);
            }
            if self.has_keys && self.has_values {
                out.push(b'\t');
            }
            if self.has_values {
                self.coding.append(value, out);
            }
        }
        self.output.end_line()?;
        Ok(self.left > 0)
    }
}

/// Prints the entries of a range. Those before a damaged place are printed.
pub(super) fn scan(arguments: &Scan) -> Result<()> {
    let coding = Coding::from(arguments.coding);
    let range = Range::read(&arguments.range, coding)?;
    let mut printer = Printer {
        output: Output::stdout()?,
        coding,
        json: arguments.json,
        has_keys: !arguments.values_only,
        has_values: !arguments.keys_only,
        left: arguments.limit.unwrap_or(u64::MAX),
    };
    let (is_backward, limit) = (arguments.reverse, printer.left);
    let visit = |key: &[u8], value: &[u8]| printer.print(key, value);
    let walked = match arguments.place()? {
        StorePlace::Directory(path, keyspace) => {
            let reader = DatabaseReader::open(path, keyspace, Purpose::Show)?;
            reader.walk(path, &range, is_backward, visit)
        }
        StorePlace::Url(url) => stores::walk(url, &range, is_backward, limit, visit),
    };
    if walked.as_ref().is_err_and(Failure::is_closed) {
        return walked;
    }
    printer.output.finish().and(walked)
}

/// Prints the number of entries in a range.
pub(super) fn count(arguments: &Count) -> Result<()> {
    let (path, mut count) = (&arguments.directory, 0_u64);
    let range = Range::read(&arguments.range, arguments.coding.into())?;
    let reader = DatabaseReader::open(path, arguments.keyspace.name(), Purpose::Show)?;
    reader.walk(path, &range, false, |_, _| {
        count += 1;
        Ok(true)
    })?;
    print([if arguments.json {
        format!("{{\"count\":{count}}}")
    } else {
        count.to_string()
    }])
}
