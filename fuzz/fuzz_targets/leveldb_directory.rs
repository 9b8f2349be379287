//! Arbitrary changes of a small LevelDB directory, which is repaired.

#![no_main]

use cairndb_testkit::decoders;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| decoders::leveldb_directory(input));
