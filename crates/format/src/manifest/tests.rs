//! The manifest: edits both ways, torn tails against damage, `CURRENT`, and LevelDB's view.

mod edits;
mod files;
