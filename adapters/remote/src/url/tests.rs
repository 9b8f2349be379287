//! Tests of addresses: what is accepted, what is refused, and that secrets stay hidden.

use std::time::Duration;

use cairndb_env::random::Random;
use cairndb_store::ErrorKind;

use super::{Address, Choice};

#[test]
fn every_form_of_the_documents_is_accepted() {
    let cases = [
        ("file:///var/lib/stones", "file", 0, "/var/lib/stones"),
        ("file:stones", "file", 0, "stones"),
        ("memory:", "memory", 0, ""),
        ("tikv://pd1,pd2:2379/stones", "tikv", 2, "stones"),
        (
            "postgres://ada@db.example/main/stones",
            "postgres",
            1,
            "main/stones",
        ),
        ("ETCD://a,b:1,[::1]:2379/a/b", "etcd", 3, "a/b"),
        ("etcd://10.0.0.1/%2Fodd%20prefix", "etcd", 1, "/odd prefix"),
        ("etcd://a", "etcd", 1, ""),
    ];
    for (url, scheme, hosts, path) in cases {
        let address = Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(address.scheme(), scheme, "{url}");
        assert_eq!(address.hosts().len(), hosts, "{url}");
        assert_eq!(address.path(), path, "{url}");
    }
}

#[test]
fn hosts_have_names_and_ports() {
    let address = Address::parse("etcd://a,b:1,[::1],[fe80::2]:7/p").expect("valid");
    let shown: Vec<String> = address
        .hosts()
        .iter()
        .map(|host| host.authority(2379))
        .collect();
    assert_eq!(shown, ["a:2379", "b:1", "[::1]:2379", "[fe80::2]:7"]);
}

#[test]
fn what_is_malformed_is_refused_without_repeating_it() {
    let cases = [
        "",
        "stones",
        "://a",
        "et cd://a",
        "etcd://a:port/p",
        "etcd://a:99999/p",
        "etcd://a:+1/p",
        "etcd://a,,b/p",
        "etcd://[::1/p",
        "etcd://[::1]x/p",
        "etcd://[g]/p",
        "etcd://a/%zz",
        "etcd://a/%f",
        "etcd://a/%ff",
        "etcd://a/p?x=1&x=2",
        "etcd://a/p#fragment",
        "etcd://user:hunter2%@a/p",
        "etcd://:hunter2@a b/p",
    ];
    for url in cases {
        let error = Address::parse(url).expect_err(url);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    assert!(Address::parse(&format!("file:{}", "x".repeat(70_000))).is_err());
}

#[test]
fn a_password_with_a_slash_or_question_mark_is_refused_and_hidden() {
    let cases = [
        "postgres://ada:hunter2/pass@host/db/t",
        "postgres://ada:hun/ter2/more@host/db/t",
        "postgres://ada:12/34hunter2@host/db/t",
        "postgres://ada:hunter2?x=hunter2@host/db/t",
        "postgres://ada:hun?hunter2@host/db/t",
        "postgres://ada:p@hunter2/hunter2@host/db/t",
        "etcd://hunter2/@host/p",
        "etcd://host/hunter2@stones",
        "postgres:/ada:hunter2@host/db/t",
        "postgres:///ada:hunter2@host/db/t",
        "postgres:ada:hunter2@host/db/t",
        "ETCD:/ada:hunter2@host/more",
    ];
    for url in cases {
        let error = Address::parse(url).expect_err(url);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
        let text = format!("{error} {error:?}");
        assert!(text.contains("%2F") && text.contains("%40"), "{text}");
        for part in ["hunter2", "ter2", "34", "ada", "host", "more"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
    let address = Address::parse("postgres://ada:a%2Fb%3Fc@host/db/t%40home").expect("valid");
    let password = address.password().expect("a password");
    assert_eq!(password.reveal(), "a/b?c");
    assert_eq!(address.path(), "db/t@home");
    // A path of this machine has no credentials.
    for url in ["file:///srv/ada@work/stones", "file:ada@work"] {
        let address = Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!(address.path().contains("ada@work"), "{url}");
    }
}

#[test]
fn credentials_are_decoded_and_hidden() {
    let address = Address::parse("postgres://ada%40home:p%3Aa:b@c%25@host/db/t").expect("valid");
    let user = address.user().expect("a user");
    let password = address.password().expect("a password");
    assert_eq!(user.reveal(), "ada@home");
    assert_eq!(password.reveal(), "p:a:b@c%");
    let shown = format!("{address:?}");
    assert!(!shown.contains("ada") && !shown.contains("p:a"), "{shown}");
    assert!(shown.contains("***") && shown.contains("host"), "{shown}");
}

#[test]
fn settings_are_typed() {
    let address = Address::parse("etcd://a/p?timeout=250ms&pool=4&create=no").expect("valid");
    assert_eq!(address.timeout().ok(), Some(Duration::from_millis(250)));
    assert_eq!(address.number("pool", 8, 1, 100).ok(), Some(4));
    assert_eq!(address.number("absent", 8, 1, 100).ok(), Some(8));
    assert_eq!(address.choice("create", Choice::Yes).ok(), Some(Choice::No));
    assert!(
        address
            .check_settings(&["timeout", "pool", "create"])
            .is_ok()
    );
    let error = address
        .check_settings(&["timeout", "pool"])
        .expect_err("create is unknown");
    assert!(error.to_string().contains("create"), "{error}");
    for wrong in [
        "0s",
        "5",
        "s",
        "5h",
        "-1s",
        "99999999999999999999s",
        "9999999m",
    ] {
        let address = Address::parse(&format!("etcd://a/p?timeout={wrong}")).expect("valid");
        assert!(address.timeout().is_err(), "{wrong}");
    }
    let address = Address::parse("etcd://a/p?pool=0&create=maybe").expect("valid");
    assert!(address.number("pool", 8, 1, 100).is_err());
    assert!(address.choice("create", Choice::Yes).is_err());
}

/// Mutates valid addresses; each must be parsed or refused, and a parsed one must be consistent.
#[test]
fn mutated_addresses_never_panic() {
    let seed = cairndb_env::testing::setting::setting("CAIRN_SEED").unwrap_or(53);
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let alphabet: Vec<char> = "aZ09:/?#[]@!$&,;=%+-._~ \u{0}\u{e9}\u{1f600}"
        .chars()
        .collect();
    let bases = [
        "postgres://ada:secret@db:5432/main/stones?pool=4&timeout=2s",
        "etcd://[::1]:2379,b,c:1/prefix?tls=yes&ca=%2Fetc%2Fca.pem",
        "file:///a%20b",
    ];
    let (mut parsed, mut refused) = (0, 0);
    for _ in 0..100_000 {
        let mut url: Vec<char> = bases[random.index(3)].chars().collect();
        for _ in 0..=random.below(4) {
            let at = random.index(url.len());
            match random.below(3) {
                0 => url[at] = alphabet[random.index(alphabet.len())],
                1 => url.insert(at, alphabet[random.index(alphabet.len())]),
                _ if url.len() > 1 => drop(url.remove(at)),
                _ => {}
            }
        }
        let url: String = url.into_iter().collect();
        match Address::parse(&url) {
            Ok(address) => {
                parsed += 1;
                assert!(address.hosts().iter().all(|host| !host.name.is_empty()));
                let _ = (address.timeout(), address.number("pool", 8, 1, 9));
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
            }
        }
    }
    assert!(parsed > 10_000 && refused > 10_000, "{parsed}, {refused}");
}
