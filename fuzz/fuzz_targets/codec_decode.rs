//! Decodes arbitrary bytes as an encoded value. The fast decoders must return the same result and
//! the same bytes as their portable twin.

#![no_main]

use cairndb_kernel::codec::{Dictionary, decode, decode_each, decode_into, decode_with, twin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&[low, high], rest)) = input.split_first_chunk() else {
        return;
    };
    let raw_len = usize::from(u16::from_le_bytes([low, high]));
    // An exact copy, so that the sanitizer detects a read past its end.
    let encoded: Box<[u8]> = rest.into();
    let expected = twin::decode(&encoded, raw_len);

    let mut appended = b"kept".to_vec();
    let verdict = decode(&encoded, raw_len, &mut appended);
    assert_eq!(verdict.map(|()| &appended[4..]), expected.as_deref());
    assert_eq!(&appended[..4], b"kept");
    assert!(expected.is_some() || appended.len() == 4);

    let mut exact = vec![0; raw_len].into_boxed_slice();
    let verdict = decode_into(&encoded, &mut exact);
    assert_eq!(verdict.map(|()| &*exact), expected.as_deref());

    // The bytes as two equal values of a page.
    let twice = [&*encoded, &*encoded].concat().into_boxed_slice();
    let mut appended = b"kept".to_vec();
    let verdict = decode_each(&twice, encoded.len(), raw_len, &mut appended);
    let both = expected.as_ref().filter(|_| !encoded.is_empty()).map(|raw| raw.repeat(2));
    assert_eq!(verdict.map(|()| &appended[4..]), both.as_deref());
    assert!(both.is_some() || appended.len() == 4);

    // The bytes as different values of a page.
    let stored_len = 1 + raw_len % 61;
    let row: Box<[u8]> = encoded[..encoded.len() / stored_len * stored_len].into();
    let each = row.chunks(stored_len).map(|value| twin::decode(value, raw_len));
    let each: Option<Vec<_>> = each.collect();
    let mut appended = b"kept".to_vec();
    let verdict = decode_each(&row, stored_len, raw_len, &mut appended);
    // Even without a value to decode, `decode_each` may reject a raw length that no value can have.
    if verdict.is_some() || !row.is_empty() {
        assert_eq!(verdict.map(|()| appended[4..].to_vec()), each.map(|each| each.concat()));
    }

    // The same bytes serve as the dictionary.
    let expected = twin::decode_with(&encoded, &encoded, raw_len);
    let dictionary = Dictionary::new(&encoded);
    let mut appended = b"kept".to_vec();
    let verdict = decode_with(&dictionary, &encoded, 0..encoded.len(), raw_len, &mut appended);
    assert_eq!(verdict.map(|()| &appended[4..]), expected.as_deref());
    assert!(expected.is_some() || appended.len() == 4);

    // Other bytes follow the value, as in most pages. The decoder may read them.
    let mut page = encoded.to_vec();
    page.resize(page.len() + 64, 0xa5);
    let mut appended = b"kept".to_vec();
    let verdict = decode_with(&dictionary, &page, 0..encoded.len(), raw_len, &mut appended);
    assert_eq!(verdict.map(|()| &appended[4..]), expected.as_deref());
});
