//! Shape of an encoded value that is one sequence whose match lies within its own literals.
//!
//! It benefits columns of records with fixed fields, and values half of which repeats. Their
//! sequence bytes are the same at the same offsets, so they are checked once, and each further
//! value takes two copies ([rows](super::row)).

use crate::codec::token::{HALF_MAX, MATCH_BYTES_MIN, literal_half, match_half};

/// The positions of the parts of such an encoded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::codec) struct Shape {
    /// Length of the encoded value.
    pub(in crate::codec) stored_len: usize,
    /// Position and number of the literals.
    pub(in crate::codec) literals_at: usize,
    pub(in crate::codec) literals: usize,
    /// Position of the match in the encoded value, and its length.
    pub(in crate::codec) match_at: usize,
    pub(in crate::codec) len: usize,
    /// The first two and the last four bytes, masked to those that belong to the sequence.
    front: u16,
    front_mask: u16,
    back: u32,
    back_mask: u32,
}

impl Shape {
    /// Returns the shape of `value`, which represents `raw_len` bytes, or `None` if the value has
    /// no such shape or if either length takes more than one extension byte.
    pub(in crate::codec) fn of(value: &[u8], raw_len: usize) -> Option<Shape> {
        let (&[token, more], _) = value.split_first_chunk()?;
        let mut literals = literal_half(token);
        let mut literals_at = 1;
        if literals == HALF_MAX {
            literals += one_more(more)?;
            literals_at += 1;
        }
        let (_, behind) = value.split_at_checked(literals_at + literals)?;
        let mut len = match_half(token);
        let offset = match (len == HALF_MAX, behind) {
            (false, &[low, high]) => u16::from_le_bytes([low, high]),
            (true, &[low, high, more]) => {
                len += one_more(more)?;
                u16::from_le_bytes([low, high])
            }
            _ => return None,
        };
        len += MATCH_BYTES_MIN;
        let offset = usize::from(offset);
        if len > offset || offset > literals || literals + len != raw_len {
            return None;
        }
        let mut shape = Shape {
            stored_len: value.len(),
            literals_at,
            literals,
            match_at: literals_at + literals - offset,
            len,
            front: 0,
            front_mask: u16::MAX >> (8 * (2 - literals_at)),
            back: 0,
            back_mask: u32::MAX << (8 * (4 - behind.len())),
        };
        let (front, back) = ends(value)?;
        shape.front = front & shape.front_mask;
        shape.back = back & shape.back_mask;
        debug_assert!(shape.is_of(value));
        Some(shape)
    }

    /// Returns whether `value` has this shape. It must be as long as the value that this shape was
    /// taken from.
    #[inline]
    pub(in crate::codec) fn is_of(&self, value: &[u8]) -> bool {
        debug_assert_eq!(value.len(), self.stored_len);
        ends(value).is_some_and(|(front, back)| {
            let front = u32::from((front & self.front_mask) ^ self.front);
            front | ((back & self.back_mask) ^ self.back) == 0
        })
    }
}

/// Returns the number that an extension byte adds to a length, if no other extension byte follows.
fn one_more(byte: u8) -> Option<usize> {
    (byte < u8::MAX).then_some(byte.into())
}

/// Returns the first two and the last four bytes.
#[inline]
fn ends(value: &[u8]) -> Option<(u16, u32)> {
    let front = u16::from_le_bytes(*value.first_chunk()?);
    Some((front, u32::from_le_bytes(*value.last_chunk()?)))
}

#[cfg(test)]
mod tests {
    use super::Shape;

    /// Returns a sequence with the literals 0, 1, 2 ... and the given length bytes.
    fn value(token: u8, more: &[u8], literals: u8, behind: &[u8]) -> Vec<u8> {
        let literals: Vec<u8> = (0..literals).collect();
        [&[token], more, &literals, behind].concat()
    }

    #[test]
    fn one_sequence_whose_match_lies_within_its_literals() {
        let shape = Shape::of(&value(0x42, &[], 4, &[4, 0]), 8);
        assert!(shape.is_none(), "a match of six from four literals");
        let shape = Shape::of(&value(0x40, &[], 4, &[4, 0]), 8).unwrap();
        assert_eq!((shape.literals_at, shape.literals), (1, 4));
        assert_eq!((shape.match_at, shape.len, shape.stored_len), (1, 4, 7));
        let long = value(0xff, &[35], 50, &[50, 0, 31]);
        let shape = Shape::of(&long, 100).unwrap();
        assert_eq!((shape.literals_at, shape.literals), (2, 50));
        assert_eq!((shape.match_at, shape.len, shape.stored_len), (2, 50, 55));
        // Bytes that are not part of a length or an offset may differ; the others may not.
        for at in 0..long.len() {
            let mut other = long.clone();
            other[at] ^= 1;
            assert_eq!(shape.is_of(&other), (2..52).contains(&at), "{at}");
        }
    }

    #[test]
    fn other_values_have_no_shape() {
        let refused = |value: &[u8], raw_len: usize| {
            assert_eq!(Shape::of(value, raw_len), None, "{value:?}");
        };
        for len in 0..7 {
            refused(&value(0x40, &[], 4, &[4, 0])[..len], 8);
        }
        refused(&value(0x40, &[], 4, &[4, 0]), 9);
        refused(&value(0x40, &[], 4, &[0, 0]), 8);
        refused(&value(0x40, &[], 4, &[3, 0]), 8);
        refused(&value(0x40, &[], 4, &[5, 0]), 8);
        refused(&value(0x40, &[], 4, &[4, 0, 0]), 8);
        refused(&value(0x00, &[], 0, &[4, 0]), 4);
        // A byte of 255 is followed by another.
        refused(&value(0xf0, &[255, 0], 20, &[4, 0]), 274);
        refused(&value(0x8f, &[], 8, &[8, 0, 255]), 282);
        let most = value(0xff, &[254], 250, &[250, 0, 200]);
        assert_eq!(Shape::of(&most, 469), None, "19 literals are missing");
        let mut whole = vec![0xff, 254];
        whole.extend([7; 269]);
        whole.extend([13, 1, 250]);
        let shape = Shape::of(&whole, 269 + 269).unwrap();
        assert_eq!((shape.literals, shape.len), (269, 269));
    }
}
