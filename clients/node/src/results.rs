//! Passing many values to JavaScript: a function of `collect.js` is called with some hundred of
//! them at a time, and appends them to an array. That takes a tenth of the time that it takes to
//! set the elements of the array one by one.
//!
//! Strings are passed as such. Bytes are passed in one `Buffer` for all, and of each its end; the
//! function makes them parts of the buffer.

use napi_sys::napi_value;

use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};

/// Number of arguments with which a call is made. They are on the stack, so that there must not be
/// too many.
const ARGUMENTS_MAX: usize = 512;

/// The form in which a key or a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `undefined`.
    Absent,
    Text,
    Bytes,
}

impl Form {
    /// Returns the form for a code of `binding.js`.
    pub(crate) fn from_code(code: u32) -> Form {
        match code & 3 {
            0 => Form::Absent,
            1 => Form::Text,
            _ => Form::Bytes,
        }
    }
}

/// The arguments of the next call.
#[derive(Debug)]
pub(crate) struct Collector<'s> {
    env: Env<'s>,
    function: Value<'s>,
    undefined: Value<'s>,
    arguments: Vec<napi_value>,
    /// Number of arguments that come first in each call.
    fixed: usize,
    /// End of the last bytes passed, if bytes are.
    bytes_end: Option<usize>,
}

impl<'s> Collector<'s> {
    /// Makes a collector that calls `function` to append `count` values to the array `sink`.
    /// `buffer` is passed if there are bytes among the values.
    pub(crate) fn new(
        env: Env<'s>,
        [sink, function]: [Value<'s>; 2],
        buffer: Option<Value<'s>>,
        count: usize,
    ) -> Outcome<Collector<'s>> {
        let mut collector = Collector {
            env,
            function,
            undefined: env.undefined()?,
            // The last entry may exceed the number by one, and there are up to three before.
            arguments: Vec::with_capacity(count.min(ARGUMENTS_MAX) + 4),
            fixed: 1,
            bytes_end: None,
        };
        collector.arguments.push(sink.raw());
        if let Some(buffer) = buffer {
            collector.arguments.push(buffer.raw());
            collector.arguments.push(collector.number(0)?);
            collector.fixed = 3;
            collector.bytes_end = Some(0);
        }
        Ok(collector)
    }

    fn number(&self, of: usize) -> Outcome<napi_value> {
        let value = match i32::try_from(of) {
            Ok(of) => self.env.integer(of),
            Err(_) => self
                .env
                .number(f64::from(u32::try_from(of).unwrap_or(u32::MAX))),
        };
        value.map(Value::raw)
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &[u8]) -> Outcome<()> {
        let value = self.env.string(text)?;
        self.arguments.push(value.raw());
        Ok(())
    }

    /// Passes the next `len` bytes of the buffer.
    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> Outcome<()> {
        let end = self.bytes_end.unwrap_or(0) + len;
        self.bytes_end = Some(end);
        let value = self.number(end)?;
        self.arguments.push(value);
        Ok(())
    }

    /// Passes a text, or `undefined`.
    pub(crate) fn optional_text(&mut self, text: Option<&str>) -> Outcome<()> {
        match text {
            Some(text) => self.text(text.as_bytes())?,
            None => self.absent(),
        }
        Ok(())
    }

    /// Passes a number.
    pub(crate) fn count(&mut self, of: u64) -> Outcome<()> {
        let value = self.env.count(of)?;
        self.arguments.push(value.raw());
        Ok(())
    }

    /// Passes `undefined`.
    #[inline]
    pub(crate) fn absent(&mut self) {
        self.arguments.push(self.undefined.raw());
    }

    /// Makes a call if the arguments are enough for one. Called between entries.
    #[inline]
    pub(crate) fn end_entry(&mut self) -> Outcome<()> {
        if self.arguments.len() < ARGUMENTS_MAX {
            return Ok(());
        }
        self.flush()
    }

    /// Makes the last call.
    pub(crate) fn flush(&mut self) -> Outcome<()> {
        if self.arguments.len() > self.fixed {
            self.env.call(self.function, &self.arguments)?;
            self.arguments.truncate(self.fixed);
            if let Some(end) = self.bytes_end {
                self.arguments[2] = self.number(end)?;
            }
        }
        Ok(())
    }
}
