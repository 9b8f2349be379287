//! Versions of libraries that report none, from the lock file that they were built from.

/// Returns the version of a package in the text of a `Cargo.lock`; empty if it has none.
pub fn version_of<'t>(text: &'t str, package: &str) -> &'t str {
    let name = format!("\nname = \"{package}\"\nversion = \"");
    let rest = text.split_once(&name).map_or("", |(_, rest)| rest);
    rest.split_once('"').map_or("", |(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_follows_the_name() {
        let text = "[[package]]\nname = \"a-b\"\nversion = \"1.2\"\n\n\
                    [[package]]\nname = \"a\"\nversion = \"3.4.5\"\n";
        assert_eq!(version_of(text, "a"), "3.4.5");
        assert_eq!(version_of(text, "a-b"), "1.2");
        assert_eq!(version_of(text, "b"), "");
    }
}
