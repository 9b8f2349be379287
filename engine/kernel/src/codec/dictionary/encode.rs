//! Encoder for the dictionary form. Falls back to the plain form if the plain form is shorter.

use super::matcher::Matcher;
use super::{DICTIONARY_BYTES_MAX, PLAIN};
use crate::codec::encode::Encoder;
use crate::codec::token::{RAW_BYTES_MAX, RAW_BYTES_MIN};

/// Maximum length of a value that is also encoded without a dictionary, to keep the shorter form.
pub(super) const ONCE_BYTES_MAX: usize = 1 << 10;

impl Encoder {
    /// Like [`Encoder::encode`], but against a dictionary, which
    /// [`decode_with`](super::decode_with) then needs.
    #[inline]
    pub fn encode_with(&mut self, matcher: &Matcher, src: &[u8], out: &mut Vec<u8>) -> bool {
        if !(RAW_BYTES_MIN..=RAW_BYTES_MAX).contains(&src.len()) {
            return false;
        }
        let before = out.len();
        let shorter = matcher.bytes().len() <= DICTIONARY_BYTES_MAX
            && self.sequences.encode(matcher, src, out);
        if shorter && src.len() <= ONCE_BYTES_MAX {
            return true;
        }
        self.encode_plain(src, before, out) || shorter
    }

    /// Replaces `out[before..]` with the form without a dictionary if that form is shorter. Returns
    /// whether it replaced anything.
    #[cold]
    #[inline(never)]
    fn encode_plain(&mut self, src: &[u8], before: usize, out: &mut Vec<u8>) -> bool {
        let between = out.len();
        let best = if between > before {
            between - before
        } else {
            src.len()
        };
        out.push(PLAIN);
        if self.encode(src, out) && out.len() - between < best {
            out.drain(before..between);
            return true;
        }
        out.truncate(between);
        false
    }
}
