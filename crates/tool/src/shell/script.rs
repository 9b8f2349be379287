//! Lines from a pipe or a file. An error is reported with the number of the line.

use std::io::BufRead;

use super::grammar::Next;
use super::words::words;
use crate::failure::Failure;

/// Longest command, in bytes: as long as the longest value, in hexadecimal digits.
const COMMAND_BYTES_MAX: usize = 3 << 30;

/// Carries out all lines. Ends at the first failure or, with `keep_going`, continues and returns
/// the first failure at the end.
pub(super) fn read(
    mut input: impl BufRead,
    keep_going: bool,
    carry_out: &mut dyn FnMut(&str) -> Result<Next, Failure>,
) -> Result<(), Failure> {
    let mut command = String::new();
    let (mut number, mut started) = (0u64, 1u64);
    let mut first = Ok(());
    loop {
        let read = input.read_line(&mut command);
        number += 1;
        let unreadable = |error| Failure::Other(format!("line {number} cannot be read: {error}"));
        let ended = read.map_err(unreadable)? == 0;
        let unfinished = words(&command).is_err() && command.len() < COMMAND_BYTES_MAX;
        if unfinished && !ended {
            continue;
        }
        match carry_out(&command) {
            Ok(Next::Continue) => {}
            Ok(Next::End) => break,
            Err(failure) => {
                let failure = failure.at_line(started);
                if !keep_going {
                    return Err(failure);
                }
                failure.report();
                first = first.and(Err(failure.reported()));
            }
        }
        if ended {
            break;
        }
        command.clear();
        started = number + 1;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_span_lines_and_errors_name_the_first() {
        let mut seen = Vec::new();
        let script = "put a 'one\ntwo'\n\nbad 'x\ny'\nget a\n";
        let ended = read(script.as_bytes(), false, &mut |line| {
            seen.push(line.to_owned());
            if line.starts_with("bad") {
                return Err(Failure::Usage("no such command".to_owned()));
            }
            Ok(Next::Continue)
        });
        assert_eq!(seen, ["put a 'one\ntwo'\n", "\n", "bad 'x\ny'\n"]);
        let message = format!("{:?}", ended.unwrap_err());
        assert!(message.contains('4'), "{message}");
    }
}
