//! Damage that only a real directory can have: names that are no files.
