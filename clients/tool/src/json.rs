//! JSON strings, written straight into the output.
//!
//! Bytes that are UTF-8 become a string. Others become `{"base64":"..."}`, because a JSON string
//! cannot hold them. Characters that could control a terminal or end a line for some readers are
//! `\uNNNN`, so that output is safe to print and is one line for every program.

use data_encoding::{BASE64, Encoding};

use crate::escape::{is_active, plain_len};

/// Appends `bytes` as a JSON value.
pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return write_text(text, out);
    }
    out.extend_from_slice(b"{\"base64\":\"");
    append_digits(&BASE64, bytes, out);
    out.extend_from_slice(b"\"}");
}

/// Appends `bytes` as the digits of an encoding.
pub(crate) fn append_digits(encoding: &Encoding, bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + encoding.encode_len(bytes.len()), 0);
    let (_, target) = out.split_at_mut(start);
    encoding.encode_mut(bytes, target);
}

/// Returns whether the byte stands for itself: not the first one of a character that may be active.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "with short circuits, a block of bytes is not tested with vectors"
)]
fn is_plain(byte: u8) -> bool {
    let is_ascii_plain = (byte >= b' ') & (byte != b'"') & (byte != b'\\') & (byte != 0x7f);
    // U+0080 to U+009F, U+061C, what lies between U+200E and U+2069, U+FEFF.
    is_ascii_plain & (byte != 0xc2) & (byte != 0xd8) & (byte != 0xe2) & (byte != 0xef)
}

/// Appends `text` as a JSON string.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    loop {
        let (head, tail) = rest.split_at(plain_len(rest.as_bytes(), is_plain));
        out.extend_from_slice(head.as_bytes());
        let Some(char) = tail.chars().next() else {
            break;
        };
        let (bytes, tail) = tail.split_at(char.len_utf8());
        match char {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            _ if is_active(char) => append_number(char, out),
            _ => out.extend_from_slice(bytes.as_bytes()),
        }
        rest = tail;
    }
    out.push(b'"');
}

/// Appends an active character as `\uNNNN`; none has more than four digits.
fn append_number(char: char, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\\u{:04x}", u32::from(char)).as_bytes());
}

/// Appends JSON that another writer has made. Active characters beyond the spaces of ASCII can only
/// be in its strings, where an escape means the same.
pub(crate) fn append_json(json: &str, out: &mut Vec<u8>) {
    let is_raw = |char: char| char > '~' && is_active(char);
    for part in json.split_inclusive(is_raw) {
        let text = part.strip_suffix(is_raw).unwrap_or(part);
        out.extend_from_slice(text.as_bytes());
        if let Some(char) = part.get(text.len()..).and_then(|end| end.chars().next()) {
            append_number(char, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn parsed(bytes: &[u8]) -> Value {
        let mut out = Vec::new();
        write_bytes(bytes, &mut out);
        serde_json::from_slice(&out).expect("valid JSON")
    }

    #[test]
    fn every_character_below_256_comes_back() {
        for char in '\0'..='\u{ff}' {
            let text = format!("{}{char}tail", "a".repeat(40));
            assert_eq!(parsed(text.as_bytes()), Value::String(text));
        }
    }

    #[test]
    fn active_characters_are_numbers_from_every_writer() {
        for char in '\u{100}'..'\u{11000}' {
            let text = format!("{}{char}tail", "a".repeat(40));
            let (mut own, mut other) = (Vec::new(), Vec::new());
            write_text(&text, &mut own);
            append_json(&Value::from(&*text).to_string(), &mut other);
            assert_eq!(own, other, "{char:?}");
            let printed = String::from_utf8(own).expect("text");
            assert!(!printed.contains(is_active), "{printed:?}");
            assert_eq!(printed.contains("\\u"), is_active(char), "{printed:?}");
            assert_eq!(parsed(text.as_bytes()), Value::String(text));
        }
    }

    #[test]
    fn other_bytes_are_base64() {
        for byte in 0x80..=0xff {
            let expected = BASE64.encode(&[byte]);
            assert_eq!(parsed(&[byte])["base64"], Value::String(expected));
        }
        assert_eq!(parsed(b""), Value::String(String::new()));
    }
}
