//! Tests of the manifest: encoding and decoding edits, torn tails versus damage, `CURRENT`,
//! LevelDB's view, and salvage.

mod edits;
mod files;
mod salvage;
