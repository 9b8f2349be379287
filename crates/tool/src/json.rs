//! JSON strings, written straight into the output.
//!
//! Bytes that are UTF-8 become a string. Others become `{"base64":"..."}`, because a JSON string
//! cannot hold them.

use data_encoding::BASE64;

use crate::escape::plain_len;

/// Appends `bytes` as a JSON value.
pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return write_text(text, out);
    }
    out.extend_from_slice(b"{\"base64\":\"");
    append_base64(bytes, out);
    out.extend_from_slice(b"\"}");
}

/// Appends `bytes` as Base64.
pub(crate) fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + BASE64.encode_len(bytes.len()), 0);
    let (_, target) = out.split_at_mut(start);
    BASE64.encode_mut(bytes, target);
}

/// Returns whether the byte stands for itself.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "with short circuits, a block of bytes is not tested with vectors"
)]
fn is_plain(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\') & (byte != 0x7f)
}

/// Appends `text` as a JSON string.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (head, tail) = rest.split_at(plain_len(rest, is_plain));
        out.extend_from_slice(head);
        let Some((&byte, tail)) = tail.split_first() else {
            break;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = tail;
    }
    out.push(b'"');
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
    fn other_bytes_are_base64() {
        for byte in 0x80..=0xff {
            let expected = BASE64.encode(&[byte]);
            assert_eq!(parsed(&[byte])["base64"], Value::String(expected));
        }
        assert_eq!(parsed(b""), Value::String(String::new()));
    }
}
