//! Tests of the manifest: encoding and decoding edits, torn tails versus damage, `CURRENT`, and
//! LevelDB's view.

mod edits;
mod files;
