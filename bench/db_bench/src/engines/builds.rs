//! The build of each engine's code: the library actually loaded, the version it reports, and
//! whether it has assertions.
//!
//! A child reports which file it loaded. The file is examined here, because reading megabytes in a
//! process that is about to be measured would change its memory layout.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use bench_core::host::library::Library;
use bench_core::sparse;
use serde::Serialize;

/// The function that C's `assert` calls on failure.
const FAILED: &[u8] = b"\0__assert_fail\0";

sparse! {
    /// A `build` line of the JSON file.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(tag = "type", rename = "build")]
    pub(crate) struct Build {
        engine: String,
        version: String,
        library: Option<String>,
        library_bytes: Option<u64>,
        /// Whether assertions are compiled in; absent if unknown.
        assertions: Option<bool>,
        /// Evidence for `assertions`, or the reason it is unknown.
        evidence: String,
    }
}

/// The builds reported so far.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    reported: BTreeMap<String, (String, Option<Library>)>,
}

impl Builds {
    /// Returns the line about a loaded engine, unless the same line was already written.
    pub(crate) fn line(
        &mut self,
        engine: &str,
        version: String,
        library: Option<Library>,
    ) -> Option<Build> {
        let loaded = (version, library);
        if self.reported.get(engine) == Some(&loaded) {
            return None;
        }
        let build = build(engine, &loaded.0, loaded.1.as_ref());
        self.reported.insert(engine.to_owned(), loaded);
        Some(build)
    }
}

fn build(engine: &str, version: &str, library: Option<&Library>) -> Build {
    let mut build = Build {
        engine: engine.to_owned(),
        version: version.to_owned(),
        ..Build::default()
    };
    let Some(library) = library else {
        build.assertions = Some(cfg!(debug_assertions));
        "compiled into db_bench: assert! is active in every profile, debug_assert! as the profile sets it"
            .clone_into(&mut build.evidence);
        return build;
    };
    build.library.clone_from(&library.path);
    let path = library.path.as_deref();
    let read = path.map(fs::read);
    (build.assertions, build.evidence) = match read {
        None => (
            None,
            "the kernel does not report which file was loaded".into(),
        ),
        Some(Err(error)) => (None, format!("the file cannot be read: {error}")),
        Some(Ok(bytes)) => {
            build.library_bytes = Some(bytes.len() as u64);
            judged(&bytes, library)
        }
    };
    build
}

/// Returns whether a library has assertions, and the evidence.
fn judged(bytes: &[u8], library: &Library) -> (Option<bool>, String) {
    let signs = || library.signs.iter().filter(|sign| holds(bytes, &sign.text));
    let own = signs().next().map(|sign| sign.assertions);
    let namespace = library.namespace.as_deref().unwrap_or_default();
    let (general, text) = match (imports(bytes), namespace) {
        (false, _) => (
            Some(false),
            "does not import __assert_fail, which C\u{2019}s assertions call".to_owned(),
        ),
        (true, "") => (
            None,
            "imports __assert_fail, for its own code or for code built into it".to_owned(),
        ),
        (true, namespace) => match signatures(bytes, namespace) {
            0 => (
                Some(false),
                format!(
                    "imports __assert_fail but holds no signature of a function of {namespace} for it: \
                     only what is built into it has assertions"
                ),
            ),
            count => (
                Some(true),
                format!(
                    "imports __assert_fail and holds {count} signatures of functions of {namespace} for it"
                ),
            ),
        },
    };
    let texts = std::iter::once(text.as_str()).chain(signs().map(|sign| sign.meaning.as_str()));
    let evidence = format!("it {}", texts.collect::<Vec<_>>().join(", and it "));
    // A library's own statement takes precedence over the functions it calls.
    (own.or(general), evidence)
}

fn imports(bytes: &[u8]) -> bool {
    bytes.windows(FAILED.len()).any(|place| place == FAILED)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    let part = text.as_bytes();
    !part.is_empty() && bytes.windows(part.len()).any(|place| place == part)
}

/// Returns the number of function signatures of a namespace in the bytes, each a separate string.
/// The compiler stores them for the message of a failed assertion.
fn signatures(bytes: &[u8], namespace: &str) -> usize {
    let is_signature = |text: &&[u8]| {
        let printable = text.iter().all(|byte| matches!(byte, b' '..=b'~'));
        printable && text.contains(&b'(') && holds(text, namespace)
    };
    let texts: BTreeSet<&[u8]> = bytes
        .split(|&byte| byte == 0)
        .filter(is_signature)
        .collect();
    texts.len()
}

#[cfg(test)]
mod tests {
    use bench_core::host::test_text::{ends, has};

    use super::*;

    fn library() -> Library {
        Library::default()
    }

    #[test]
    fn an_import_and_signatures_are_assertions() {
        let bytes = b"\x7fELF\0__assert_fail\0void x::a(int)\0void x::a(int)\0int x::b() const\0x::c\0y::d()\0";
        let (on, how) = judged(bytes, &library().of_namespace("x::"));
        assert_eq!(on, Some(true));
        assert_eq!(
            how,
            "it imports __assert_fail and holds 2 signatures of functions of x:: for it"
        );
        let signed = library()
            .of_namespace("x::")
            .with("ELF", true, "is ELF")
            .with("absent", false, "is absent");
        let (on, how) = judged(bytes, &signed);
        assert_eq!(on, Some(true));
        ends(&how, "for it, and it is ELF");
    }

    #[test]
    fn assertions_of_what_is_built_in_are_not_the_stores() {
        let bytes = b"\0__assert_fail\0bool snappy::a(int)\0x::log.cc\0";
        let (on, how) = judged(bytes, &library().of_namespace("x::"));
        assert_eq!(on, Some(false));
        has(&how, "no signature of a function of x::");
        assert_eq!(
            judged(bytes, &library()).0,
            None,
            "no namespace, no verdict"
        );
    }

    #[test]
    fn without_the_import_only_a_librarys_own_sign_counts() {
        let bytes = b"\0x__assert_fail_base\0./a.cc\0Assertion '%s'\0";
        assert_eq!(judged(bytes, &library()).0, Some(false));
        let on = library().with("Assertion '", true, "asserts");
        assert_eq!(judged(bytes, &on).0, Some(true));
        let off = library().with("./a.cc", false, "does not");
        assert_eq!(judged(bytes, &off).0, Some(false));
    }

    #[test]
    fn a_build_is_reported_once_until_it_changes() {
        let mut builds = Builds::default();
        let line = builds.line("a", "1".into(), None).expect("new");
        assert_eq!(line.assertions, Some(cfg!(debug_assertions)));
        assert_eq!(builds.line("a", "1".into(), None), None);
        assert!(builds.line("b", "1".into(), None).is_some());
        let gone = Library {
            path: Some("/no/such/lib.so".into()),
            ..Library::default()
        };
        let line = builds.line("a", "1".into(), Some(gone)).expect("changed");
        assert_eq!((line.assertions, line.library_bytes), (None, None));
        assert!(line.evidence.starts_with("the file cannot be read: "));
        let hidden = builds.line("a", "1".into(), Some(library()));
        assert!(hidden.is_some_and(|line| line.evidence.contains("does not report")));
    }
}
