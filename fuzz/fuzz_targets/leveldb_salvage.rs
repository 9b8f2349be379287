//! Arbitrary bytes as a LevelDB log, manifest and table, read by salvage, with and without right
//! checksums.

#![no_main]

use cairndb_testkit::decoders;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| decoders::leveldb_salvage(input));
