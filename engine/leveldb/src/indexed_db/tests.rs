//! The order over keys of every kind, and its totality over arbitrary bytes.

use super::*;

fn prefix(database: u8, store: u8, index: u8) -> Vec<u8> {
    vec![0, database, store, index]
}

fn text(units: &str) -> Vec<u8> {
    let units: Vec<u16> = units.encode_utf16().collect();
    let mut bytes = Vec::new();
    cairndb_base::coding::put_varint(&mut bytes, units.len() as u64);
    // Keys hold strings with the high byte of each unit first.
    let halves = |unit: &u16| [(unit >> 8) as u8, (unit & 0xff) as u8];
    bytes.extend(units.iter().flat_map(halves));
    bytes
}

fn string(units: &str) -> Vec<u8> {
    [vec![1], text(units)].concat()
}

fn number(value: f64) -> Vec<u8> {
    [vec![3], value.to_le_bytes().to_vec()].concat()
}

fn date(value: f64) -> Vec<u8> {
    [vec![2], value.to_le_bytes().to_vec()].concat()
}

fn binary(bytes: &[u8]) -> Vec<u8> {
    [&[6, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn array(elements: &[Vec<u8>]) -> Vec<u8> {
    let head = vec![4, u8::try_from(elements.len()).unwrap()];
    [head, elements.concat()].concat()
}

fn script_keys() -> Vec<Vec<u8>> {
    let mut keys = vec![vec![5]];
    keys.extend([f64::NEG_INFINITY, -1.5, 0.0, 256.0].map(number));
    keys.extend([-5.0, 1e12].map(date));
    keys.extend(["", "B", "a", "aa", "b", "\u{ffff}"].map(string));
    keys.extend([&b""[..], b"\0", b"\xff", b"\xff\0"].map(binary));
    keys.extend([
        array(&[]),
        array(&[number(1.0)]),
        array(&[number(1.0), number(0.0)]),
        array(&[number(2.0)]),
        array(&[string("a")]),
        array(&[array(&[]), number(9.0)]),
        array(&[array(&[number(1.0)])]),
        vec![0],
    ]);
    keys
}

/// Keys of every kind, in ascending order.
fn ascending() -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let global = |rest: &[u8]| [&prefix(0, 0, 0), rest].concat();
    keys.extend((0..=6).map(|kind| global(&[kind])));
    keys.push(global(&[50, 1]));
    keys.push(global(&[50, 1, 0]));
    keys.push(global(&[100, 2]));
    keys.push(global(&[100, 0x80, 1]));
    for names in [["a", "z"], ["b", ""], ["b", "B"], ["ba", "a"]] {
        keys.push([global(&[201]), text(names[0]), text(names[1])].concat());
    }
    let meta = |rest: &[u8]| [&prefix(1, 0, 0), rest].concat();
    keys.extend((0..=5).map(|kind| meta(&[kind])));
    let fields: [&[u8]; 10] = [
        &[50, 1, 0],
        &[50, 1, 7],
        &[50, 0x80, 1, 0],
        &[100, 1, 30, 0],
        &[100, 1, 31, 0],
        &[100, 2, 30, 3],
        &[150, 5],
        &[151, 5, 30],
        &[151, 5, 31],
        &[151, 6, 30],
    ];
    keys.extend(fields.map(meta));
    keys.push([meta(&[200]), text("shop")].concat());
    keys.push([meta(&[201, 1]), text("zone")].concat());
    keys.push([meta(&[201, 2]), text("age")].concat());
    for index in [1, 2, 3] {
        keys.push(prefix(1, 1, index));
        let key = |key: Vec<u8>| [prefix(1, 1, index), key].concat();
        keys.extend(script_keys().into_iter().map(key));
    }
    keys.push(prefix(1, 1, 30));
    for key in script_keys() {
        let record = [prefix(1, 1, 30), key].concat();
        keys.push(record.clone());
        keys.push([record.clone(), vec![9], number(1.0)].concat());
        keys.push([record.clone(), vec![0], number(2.0)].concat());
        keys.push([record.clone(), vec![7], number(2.0)].concat());
    }
    // Ids are numbers with the low byte first, of any width: 2, then 256.
    keys.push(vec![0, 2, 1, 1, 5]);
    keys.push(vec![1 << 5, 0, 1, 1, 1, 5]);
    keys
}

#[test]
fn keys_of_every_kind_are_in_chromiums_order() {
    let keys = ascending();
    for (at, a) in keys.iter().enumerate() {
        for (other, b) in keys.iter().enumerate() {
            let found = IndexedDbOrder.compare(a, b);
            assert_eq!(found, at.cmp(&other), "{a:?} with {b:?}");
        }
    }
}

#[test]
fn encodings_of_one_key_are_equal() {
    let zero = [prefix(1, 1, 1), number(0.0)].concat();
    let minus_zero = [prefix(1, 1, 1), number(-0.0)].concat();
    assert!(IndexedDbOrder.compare(&zero, &minus_zero).is_eq());
    // The same ids in more bytes.
    let wide = [vec![0b0010_0101, 1, 0, 1, 0, 1, 0], number(0.0)].concat();
    assert!(IndexedDbOrder.compare(&zero, &wide).is_eq());
}

#[test]
fn the_order_is_total_over_arbitrary_bytes() {
    let mut noise = crate::golden::Noise::new(11);
    let good = ascending();
    let mut keys = Vec::new();
    for _ in 0..120 {
        let mut key = good[noise.below(good.len())].clone();
        match noise.below(4) {
            0 => key.truncate(noise.below(key.len() + 1)),
            1 => {
                let at = noise.below(key.len());
                key[at] = noise.bytes(1)[0];
            }
            2 => {
                let len = noise.below(12);
                key.extend(noise.bytes(len));
            }
            _ => {
                let len = noise.below(14);
                key = noise.bytes(len);
                key.insert(0, 0);
            }
        }
        keys.push(key);
    }
    let compare = |a: &[u8], b: &[u8]| IndexedDbOrder.compare(a, b);
    for a in &keys {
        for b in &keys {
            let ab = compare(a, b);
            assert_eq!(ab, compare(b, a).reverse(), "{a:?} with {b:?}");
            for c in keys.iter().filter(|c| ab == compare(b, c)) {
                assert_eq!(ab, compare(a, c), "{a:?} {b:?} {c:?}");
            }
        }
    }
}

#[test]
fn deep_arrays_do_not_exhaust_the_stack() {
    let deep = |levels: usize, end: u8| {
        let mut key = prefix(1, 1, 1);
        key.extend([4, 1].repeat(levels));
        key.push(end);
        key
    };
    let [one, other] = [5, 0].map(|end| deep(1_000_000, end));
    assert!(IndexedDbOrder.compare(&one, &other).is_lt());
    assert!(IndexedDbOrder.compare(&one, &one.clone()).is_eq());
}
