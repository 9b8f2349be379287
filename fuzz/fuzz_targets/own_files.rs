//! Arbitrary bytes as each file and each part of a file of our format, read by salvage too.

#![no_main]

use cairndb_testkit::decoders;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| decoders::own_files(input));
