//! Encodes several values with one encoder; state left by an earlier value must not matter. Then
//! encodes each value with the first value as its dictionary.

#![no_main]

use cairndb_kernel::codec::{Dictionary, Encoder, Matcher, decode, decode_with, twin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut encoder = Encoder::new();
    // The first byte cuts the input into values of about that length.
    let Some((&cut, rest)) = input.split_first() else {
        return;
    };
    let mut matcher = None;
    for value in rest.chunks(usize::from(cut) * 8 + 1) {
        let value: Box<[u8]> = value.into();
        let mut encoded = Vec::new();
        let shorter = encoder.encode(&value, &mut encoded);
        assert_eq!(shorter.then_some(&encoded), twin::encode(&value).as_ref());
        if shorter {
            assert!(encoded.len() < value.len());
            let mut raw = Vec::new();
            decode(&encoded, value.len(), &mut raw).expect("an encoded value decodes");
            assert_eq!(*raw, *value);
        } else {
            assert!(encoded.is_empty());
        }
        let matcher = matcher.get_or_insert_with(|| Matcher::new(&value));
        encoded.clear();
        let shorter = encoder.encode_with(matcher, &value, &mut encoded);
        let expected = twin::encode_with(matcher.bytes(), &value);
        assert_eq!(shorter.then_some(&encoded), expected.as_ref());
        if shorter {
            let mut raw = Vec::new();
            let dictionary = Dictionary::new(matcher.bytes());
            decode_with(&dictionary, &encoded, 0..encoded.len(), value.len(), &mut raw)
                .expect("an encoded value decodes");
            assert_eq!(*raw, *value);
        }
    }
});
