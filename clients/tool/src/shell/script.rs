//! Lines from a pipe or a file. An error is reported with the number of the line.

use std::io::BufRead;

use super::grammar::Next;
use super::words::{WordReader, Words};
use crate::failure::{Code, Failure, Result};
use crate::transfer::encoding::{HEAD_BYTES, utf8_mark_bytes};

/// Longest command, in bytes: as long as the longest value, in hexadecimal digits.
const COMMAND_BYTES_MAX: usize = 3 << 30;

/// The lines of a script, each read once.
pub(super) struct Script<R> {
    input: R,
    line: Vec<u8>,
    /// The number of the line.
    number: u64,
    reader: WordReader,
}

impl<R: BufRead> Script<R> {
    pub(super) fn new(input: R) -> Script<R> {
        Script {
            input,
            line: Vec::new(),
            number: 0,
            reader: WordReader::default(),
        }
    }

    /// Carries out all lines. Ends at the first failure or, with `keep_going`, continues and
    /// returns the first failure at the end.
    pub(super) fn carry_out(
        &mut self,
        keep_going: bool,
        carry_out: &mut dyn FnMut(Words) -> Result<Next>,
    ) -> Result<()> {
        let mut first = Ok(());
        loop {
            let started = self.number + 1;
            let (words, has_ended) = self.command()?;
            match carry_out(words) {
                Ok(Next::Continue) => {}
                Ok(Next::End) => return first,
                Err(failure) => {
                    let failure = failure.at_line(started);
                    if !keep_going || failure.code() == Code::Interrupted {
                        return Err(failure);
                    }
                    first = first.and(Err(failure.report()));
                }
            }
            if has_ended {
                return first;
            }
        }
    }

    /// Reads a command: lines, until no quote is open. Returns also whether the script ends.
    fn command(&mut self) -> Result<(Words, bool)> {
        let mut bytes = 0;
        loop {
            let read = self.read_line()?;
            bytes += read;
            let goes_on = self.reader.is_open() && bytes < COMMAND_BYTES_MAX;
            if read == 0 || !goes_on {
                return Ok((self.reader.end(), read == 0));
            }
        }
    }

    /// Reads a line. Returns its length, 0 at the end.
    fn read_line(&mut self) -> Result<usize> {
        self.line.clear();
        self.number += 1;
        let number = self.number;
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::other(format!("line {number} cannot be read: {error}"))
        };
        let read = self.input.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| unreadable(&error))?;
        let mut line = &*self.line;
        if number == 1 {
            let head = line.get(..HEAD_BYTES).unwrap_or(line);
            let mark = utf8_mark_bytes(head, "the script")?;
            line = line.get(mark..).unwrap_or_default();
        }
        let text = std::str::from_utf8(line).map_err(|error| unreadable(&error))?;
        self.reader.read(text);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each command.
    fn commands(text: &str) -> (Vec<Vec<String>>, usize) {
        let mut seen = Vec::new();
        let mut script = Script::new(text.as_bytes());
        let ended = script.carry_out(true, &mut |words| {
            let words = words.unwrap_or_default();
            seen.push(words.into_iter().map(|word| word.text).collect());
            Ok(Next::Continue)
        });
        ended.unwrap();
        (seen, script.reader.examined)
    }

    #[test]
    fn a_value_may_span_lines_and_errors_name_the_first() {
        let mut seen = Vec::new();
        let script = "put a 'one\ntwo'\n\nbad 'x\ny'\nget a\n";
        let mut script = Script::new(script.as_bytes());
        let ended = script.carry_out(false, &mut |words| {
            let words = words.expect("all quotes are closed");
            seen.push(words.last().map_or(String::new(), |word| word.text.clone()));
            if words.first().is_some_and(|word| word.text == "bad") {
                return Err(Failure::usage("no such command"));
            }
            Ok(Next::Continue)
        });
        assert_eq!(seen, ["one\ntwo", "", "x\ny"]);
        let message = format!("{:?}", ended.unwrap_err());
        assert!(message.contains('4'), "{message}");
    }

    #[test]
    fn every_character_is_read_once_however_many_lines_a_value_has() {
        for lines in [1, 16_000] {
            let value = "a line\n".repeat(lines);
            for (script, count) in [
                (format!("put a '{value}' # it's\nget a\n"), 3),
                (format!("put a it's\n{value}"), 1),
                (format!("# it's\n{value}"), lines + 2),
            ] {
                let (seen, examined) = commands(&script);
                assert_eq!((seen.len(), examined), (count, script.len()));
            }
            let (seen, _) = commands(&format!("put a '{value}' # it's\nget a\n"));
            assert_eq!(seen[0], ["put", "a", &value]);
        }
    }
}
