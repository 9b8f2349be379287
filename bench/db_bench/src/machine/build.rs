//! The sources and tools that the program was built with, as recorded by its build script.

use serde::Serialize;

/// The build of this program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Build {
    /// The project's commit, with `-dirty` if the sources differed from it.
    commit: &'static str,
    /// The compiler and its version.
    compiler: &'static str,
    /// Compilation target.
    target: &'static str,
    /// Cargo's profile.
    profile: &'static str,
    /// The profile's level of optimisation.
    opt_level: &'static str,
    /// Compiler flags in addition to the profile's.
    #[serde(skip_serializing_if = "str::is_empty")]
    flags: &'static str,
    /// Whether our own assertions are compiled in.
    assertions: bool,
}

/// Returns the build of this program.
pub(crate) const BUILD: Build = Build {
    commit: env!("DB_BENCH_COMMIT"),
    compiler: env!("DB_BENCH_COMPILER"),
    target: env!("DB_BENCH_TARGET"),
    profile: env!("DB_BENCH_PROFILE"),
    opt_level: env!("DB_BENCH_OPT_LEVEL"),
    flags: env!("DB_BENCH_FLAGS"),
    assertions: cfg!(debug_assertions),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_script_has_loaded_every_fact() {
        let hash = BUILD.commit.trim_end_matches("-dirty");
        let known = hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(known || BUILD.commit == "unknown", "{}", BUILD.commit);
        assert!(BUILD.compiler.starts_with("rustc 1."), "{}", BUILD.compiler);
        assert!(BUILD.target.contains(std::env::consts::ARCH));
        assert!(!BUILD.profile.is_empty() && !BUILD.opt_level.is_empty());
    }
}
