//! Text with escapes: any bytes, as one line that is safe to print on a terminal.
//!
//! Printable characters stand for themselves, in ASCII and beyond. A backslash, a tab, a newline
//! and a carriage return are `\\`, `\t`, `\n` and `\r`; every other byte is `\xNN`. Decoding
//! accepts these escapes and takes everything else literally, so it undoes encoding exactly.

use std::borrow::Cow;

use memchr::memchr;

/// The digits of `\xNN`.
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes that are tested together: as many as two vectors of the oldest x86-64 processors hold.
const BLOCK: usize = 32;

/// Returns whether the byte stands for itself, whatever follows it.
fn is_plain(byte: u8) -> bool {
    (b' '..0x7f).contains(&byte) && byte != b'\\'
}

/// Appends `bytes` to `out` with escapes.
pub(crate) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    loop {
        let plain = plain_len(rest, is_plain);
        let (head, tail) = rest.split_at(plain);
        out.extend_from_slice(head);
        let Some(&byte) = tail.first() else { break };
        let len = if byte < 0x80 { 1 } else { character(tail) };
        let (head, tail) = tail.split_at(len.max(1));
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            _ if len > 1 => out.extend_from_slice(head),
            _ => escape_byte(byte, out),
        }
        rest = tail;
    }
}

/// Returns the number of bytes at the start for which `plain` holds. Whole blocks are tested
/// without a branch for each byte.
pub(crate) fn plain_len(bytes: &[u8], plain: impl Fn(u8) -> bool) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let whole = |block: &&[u8; BLOCK]| block.iter().fold(true, |all, byte| all & plain(*byte));
    let skipped = blocks.iter().take_while(whole).count() * BLOCK;
    let (_, rest) = bytes.split_at(skipped);
    skipped + rest.iter().take_while(|byte| plain(**byte)).count()
}

/// Returns the number of bytes of the printable character at the start; 0 if there is none.
fn character(bytes: &[u8]) -> usize {
    /// Length of the longest character in UTF-8.
    const BYTES_MAX: usize = 4;
    let head = bytes.get(..BYTES_MAX).unwrap_or(bytes);
    let valid = head.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    match valid.chars().next() {
        // A printable character is its own escape. That leaves out controls, among them the
        // 8-bit ones, and characters that change the direction of text.
        Some(char) if char.escape_debug().eq([char]) => char.len_utf8(),
        _ => 0,
    }
}

fn escape_byte(byte: u8, out: &mut Vec<u8>) {
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
    out.extend_from_slice(&[b'\\', b'x', digit(byte >> 4), digit(byte & 15)]);
}

/// Returns whether a character, printed as it is, could control a terminal, turn the direction of
/// text, or end a line for some readers.
pub(crate) fn is_active(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns a line of text with active characters escaped. Unlike [`escape`], leaves backslashes
/// alone, because the text may have escapes already.
pub(crate) fn visible(line: &str) -> Cow<'_, str> {
    if !line.contains(is_active) {
        return Cow::Borrowed(line);
    }
    let parts = line.split_inclusive(is_active).map(|part| {
        let end = part.strip_suffix(is_active).map_or(part.len(), str::len);
        let (head, active) = part.split_at(end);
        head.to_owned() + &escaped(active.as_bytes())
    });
    Cow::Owned(parts.collect())
}

/// Returns `bytes` with escapes, for a message.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    escape(bytes, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns what was typed as it was typed, for a message: backslashes, which begin escapes already,
/// are left alone.
pub(crate) fn typed(text: &[u8]) -> String {
    let parts = text.utf8_chunks().map(|part| {
        let valid = visible(part.valid());
        format!("{valid}{}", escaped(part.invalid()))
    });
    parts.collect()
}

/// Appends the bytes that `text` stands for, or returns what is wrong with it.
pub(crate) fn unescape_into(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        let (head, tail) = rest.split_at(at);
        out.extend_from_slice(head);
        let (byte, len) = match *tail {
            [_, b'\\', ..] => (b'\\', 2),
            [_, b't', ..] => (b'\t', 2),
            [_, b'n', ..] => (b'\n', 2),
            [_, b'r', ..] => (b'\r', 2),
            [_, b'x', ref digits @ ..] => {
                let mut digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
                let pair = digits.next().flatten().zip(digits.next().flatten());
                let byte = pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                let byte = byte.ok_or("`\\x` must be followed by two hexadecimal digits")?;
                (byte, 4)
            }
            _ => return Err(
                "a backslash begins one of the escapes `\\\\`, `\\t`, `\\n`, `\\r` and `\\xNN`; \
                 write `\\\\` for a backslash"
                    .to_owned(),
            ),
        };
        out.push(byte);
        rest = tail.get(len..).unwrap_or(&[]);
    }
    out.extend_from_slice(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescape(text: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        unescape_into(text, &mut out).map(|()| out)
    }

    #[test]
    fn every_byte_and_pair_of_bytes_comes_back() {
        for high in 0..=255 {
            for low in 0..=255 {
                let bytes = [high, low];
                let text = escaped(&bytes);
                assert_eq!(unescape(text.as_bytes()), Ok(bytes.to_vec()), "{text}");
                assert!(!text.chars().any(char::is_control), "{text:?}");
            }
        }
    }

    #[test]
    fn escapes_are_found_at_every_position() {
        for len in 0..100 {
            for at in 0..len {
                let mut bytes = vec![b'a'; len];
                bytes[at] = b'\n';
                let text = escaped(&bytes);
                assert_eq!(text.find("\\n"), Some(at));
                assert_eq!(unescape(text.as_bytes()), Ok(bytes));
            }
        }
    }

    #[test]
    fn printable_text_stays_and_everything_else_is_escaped() {
        assert_eq!(escaped("Grüße, 石".as_bytes()), "Grüße, 石");
        assert_eq!(escaped(b"a\tb\\\0\x1b[2J"), "a\\tb\\\\\\x00\\x1b[2J");
        // A right-to-left override, an 8-bit control, a character that was cut off.
        assert_eq!(escaped("\u{202e}".as_bytes()), "\\xe2\\x80\\xae");
        assert_eq!(escaped("\u{9b}".as_bytes()), "\\xc2\\x9b");
        assert_eq!(escaped(b"\xe7\x9f"), "\\xe7\\x9f");
    }

    #[test]
    fn what_was_typed_is_shown_as_typed() {
        assert_eq!(typed(b"C:\\new\\x\xff\\t\x07"), "C:\\new\\x\\xff\\t\\x07");
    }

    #[test]
    fn a_visible_line_has_no_active_characters() {
        assert!(matches!(visible("a\\tb: Grüße, 石"), Cow::Borrowed(_)));
        assert_eq!(
            visible("\u{9b}a\tb\\n\u{202e}"),
            "\\xc2\\x9ba\\tb\\n\\xe2\\x80\\xae"
        );
        // What text escapes includes all that is active.
        for char in ('\0'..=char::MAX).filter(|char| is_active(*char)) {
            assert!(!escaped(char.to_string().as_bytes()).contains(is_active));
            assert!(!visible(&format!("a{char}b{char}{char}")).contains(is_active));
        }
    }

    #[test]
    fn wrong_escapes_are_refused() {
        for text in ["\\", "\\q", "\\x", "\\x4", "\\xzz", "\\x4g"] {
            assert!(unescape(text.as_bytes()).is_err(), "{text}");
        }
    }
}
