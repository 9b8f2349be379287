//! Arbitrary changes of a small database, which is verified and repaired.

#![no_main]

use cairndb_testkit::decoders;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| decoders::own_directory(input));
