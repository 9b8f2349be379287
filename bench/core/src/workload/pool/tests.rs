//! Golden bytes, computed from the definition of the algorithm by a separate program.

use super::*;

#[test]
fn pool_is_the_one_of_the_definition() {
    for (ratio, crc) in [(0.5, 0x9e7b_9ef6), (0.25, 0x7b9c_d685), (1.0, 0xd71d_be36)] {
        let bytes = classic(ratio);
        assert_eq!(bytes.len(), 1_048_600);
        assert_eq!(crc32c::crc32c(&bytes), crc, "ratio {ratio}");
    }
}

#[test]
fn first_value_is_a_string_of_fifty_twice() {
    let pool = Pool::new(0.5, 100);
    let fifty = br#"^{Vhz"!/%wMZ;'a F/REZJ4Tw@%NXxy2?.ArVCZ2B6[jnUd)4 "#;
    let value = pool.set(Values::Flag).value(0);
    assert_eq!(value, [&fifty[..], &fifty[..]].concat());
}

#[test]
fn stream_wraps_where_the_next_value_would_not_fit() {
    let (pool, bytes) = (Pool::new(0.5, 100), classic(0.5));
    let mut stream = ValueStream::new(pool.set(Values::Large));
    let ordinals: Vec<usize> = (0..12).map(|_| stream.draw().0).collect();
    assert_eq!(ordinals, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    let mut stream = ValueStream::new(pool.set(Values::Flag));
    let last = (0..10_486).map(|_| stream.draw()).last();
    assert_eq!(last, Some((10_485, &bytes[1_048_500..])));
    assert_eq!(stream.draw(), (0, &bytes[..100]));
}

#[test]
fn empty_values_are_one_value() {
    let pool = Pool::new(0.5, 0);
    let mut stream = ValueStream::new(pool.set(Values::Flag));
    assert_eq!(stream.draw(), (0, &b""[..]));
    assert_eq!(stream.draw(), (0, &b""[..]));
}
