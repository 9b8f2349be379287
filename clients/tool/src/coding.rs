//! The three ways to write keys and values on the command line and in the output.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use data_encoding::{BASE64, DecodeError, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE};

use crate::arguments::CodingArguments;
use crate::escape;
use crate::failure::{Failure, Result};
use crate::json;

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Text with escapes; in JSON, a string or an object with Base64.
    Text,
    /// Hexadecimal digits.
    Hex,
    /// Base64, with padding.
    Base64,
}

impl From<CodingArguments> for Coding {
    fn from(arguments: CodingArguments) -> Coding {
        match (arguments.hex, arguments.base64) {
            (true, _) => Coding::Hex,
            (_, true) => Coding::Base64,
            _ => Coding::Text,
        }
    }
}

impl Coding {
    /// Returns the bytes that `argument` stands for. `name` is what the message calls it.
    pub(crate) fn decode(self, name: &str, argument: &OsStr) -> Result<Vec<u8>> {
        let text = argument.as_bytes();
        let mut decoded = Vec::new();
        let result = self.decode_into(text, &mut decoded);
        result.map_err(|reason| {
            let shown = escape::typed(text);
            Failure::usage(format!("the {name} `{shown}` cannot be read: {reason}"))
        })?;
        Ok(decoded)
    }

    /// Appends the bytes that `text` stands for, or returns what is wrong with it.
    pub(crate) fn decode_into(self, text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Coding::Text => escape::unescape_into(text, out),
            Coding::Hex => decode_digits(&HEXLOWER_PERMISSIVE, text, out)
                .map_err(|error| format!("not hexadecimal digits in pairs: {error}")),
            Coding::Base64 => decode_digits(&BASE64, text, out)
                .map_err(|error| format!("not Base64 with padding: {error}")),
        }
    }

    /// Appends `bytes` to a line of text.
    pub(crate) fn append(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Coding::Text => escape::escape(bytes, out),
            Coding::Hex => json::append_digits(&HEXLOWER, bytes, out),
            Coding::Base64 => json::append_digits(&BASE64, bytes, out),
        }
    }

    /// Returns `bytes` for a message.
    pub(crate) fn shown(self, bytes: &[u8]) -> String {
        let mut out = Vec::new();
        self.append(bytes, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Appends `bytes` as a JSON value.
    pub(crate) fn append_json(self, bytes: &[u8], out: &mut Vec<u8>) {
        if self == Coding::Text {
            return json::write_bytes(bytes, out);
        }
        out.push(b'"');
        self.append(bytes, out);
        out.push(b'"');
    }
}

/// Appends an entry, or its key or value alone, as a JSON object.
pub(crate) fn append_json_entry(
    coding: Coding,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    if let Some(key) = key {
        out.extend_from_slice(b"\"key\":");
        coding.append_json(key, out);
    }
    if key.is_some() && value.is_some() {
        out.push(b',');
    }
    if let Some(value) = value {
        out.extend_from_slice(b"\"value\":");
        coding.append_json(value, out);
    }
    out.push(b'}');
}

fn decode_digits(encoding: &Encoding, text: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let start = out.len();
    out.resize(start + encoding.decode_len(text.len())?, 0);
    let (_, target) = out.split_at_mut(start);
    let len = encoding
        .decode_mut(text, target)
        .map_err(|partial| partial.error)?;
    out.truncate(start + len);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        for coding in [Coding::Text, Coding::Hex, Coding::Base64] {
            for len in [0, 1, 2, 3, 256] {
                let mut text = b"before".to_vec();
                coding.append(&all[..len], &mut text);
                let (_, text) = text.split_at(b"before".len());
                let back = coding.decode("key", OsStr::from_bytes(text)).unwrap();
                assert_eq!(back, all[..len], "{coding:?}");
            }
        }
        assert!(Coding::Hex.decode("key", OsStr::new("abc")).is_err());
        assert!(Coding::Base64.decode("key", OsStr::new("abc")).is_err());
    }
}
