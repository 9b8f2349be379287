//! Placeholder head.
fn main() {}
