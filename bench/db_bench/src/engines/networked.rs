//! The engines over a network, if they are compiled in.

#[cfg(not(any(feature = "etcd", feature = "postgres")))]
use bench_core::fault::Fault;

use super::using::{Trouble, Use};

/// Their names.
pub(crate) const NAMES: &[&str] = &["etcd", "postgres"];

/// Uses the engine with this name over the store at `url`.
#[cfg(any(feature = "etcd", feature = "postgres"))]
pub(super) fn using<U: Use>(name: &str, url: Option<&str>, task: U) -> Result<U::Output, Trouble> {
    use engine_remote::{Remote, RemoteKind};

    let kind = match name {
        "etcd" => RemoteKind::Etcd,
        _ => RemoteKind::Postgres,
    };
    task.with(&Remote::new(kind, url)).map_err(Trouble::Broken)
}

/// Names the feature that is missing.
#[cfg(not(any(feature = "etcd", feature = "postgres")))]
pub(super) fn using<U: Use>(
    name: &str,
    _url: Option<&str>,
    _task: U,
) -> Result<U::Output, Trouble> {
    Err(Trouble::Absent(Fault::new(format!(
        "not built in: cargo build --release --package db_bench --features {name}"
    ))))
}

/// Checks that an engine over a network has its URL, and that nothing else has one.
pub(crate) fn check(engines: &[String], url: Option<&str>, suite: bool) -> Result<(), String> {
    let mut networked = engines.iter().filter(|name| NAMES.contains(&name.as_str()));
    match (networked.next(), url) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(format!(
            "--store is for the engines over a network; add --engine={}",
            NAMES.join(" or --engine=")
        )),
        (Some(name), _) if suite => Err(format!(
            "--engine={name}: a suite ranks stores in the process; run single workloads without \
             --suite"
        )),
        (Some(name), None) => Err(format!(
            "--engine={name} needs --store=URL, such as {name}://{}",
            if name == "etcd" {
                "127.0.0.1:2379/bench"
            } else {
                "user@127.0.0.1/database/bench"
            }
        )),
        (Some(name), Some(_)) => match networked.next() {
            Some(other) => Err(format!(
                "--store names one store, not one for {name} and one for {other}"
            )),
            None => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use bench_core::host::test_text::has;

    use super::*;

    #[test]
    fn an_engine_over_a_network_needs_its_store() {
        let check = |names: &[&str], url, suite| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            check(&names, url, suite)
        };
        assert_eq!(check(&["cairndb", "lmdb"], None, true), Ok(()));
        assert_eq!(
            check(&["cairndb", "etcd"], Some("etcd://a/b"), false),
            Ok(())
        );
        for (names, url, suite, part) in [
            (&["etcd"][..], None, false, "--store=URL"),
            (&["postgres"], None, false, "postgres://user@"),
            (&["cairndb"], Some("etcd://a/b"), false, "--engine=etcd"),
            (
                &["etcd", "postgres"],
                Some("etcd://a/b"),
                false,
                "one store",
            ),
            (&["etcd"], Some("etcd://a/b"), true, "--suite"),
        ] {
            let refusal = check(names, url, suite).expect_err(part);
            has(&refusal, part);
        }
    }
}
