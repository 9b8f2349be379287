//! Tables of PostgreSQL that other programs made, roles with few rights, and what messages say.

use cairndb_remote::open;
use cairndb_remote::testing::{Medium, PostgresServer};
use cairndb_store::{Batch, ErrorKind, Scan};

use crate::{execute, refused, support};

/// A role without the right to create tables, and a table that it may use.
const CLERK: [&str; 4] = [
    "CREATE ROLE clerk LOGIN",
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "CREATE TABLE people (k bytea PRIMARY KEY, v bytea NOT NULL)",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON people TO clerk",
];

/// Returns the URL of a table as the role `clerk`.
fn of_clerk(server: &PostgresServer, path: &str) -> String {
    format!("postgres://clerk@127.0.0.1:{}/{path}", server.port())
}

#[test]
fn tables_and_rights_are_those_that_are_there() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    execute(&server, &CLERK);
    a_role_that_may_not_create_tables_uses_one_that_is_there(&server);
    the_reason_of_the_server_is_shown_without_the_user(&server);
    a_table_with_other_columns_is_not_damaged(&server);
}

fn a_role_that_may_not_create_tables_uses_one_that_is_there(server: &PostgresServer) {
    let store = open(&of_clerk(server, "postgres/people")).expect("the table is there");
    store.put(b"a", b"1").expect("granted");
    let mut batch = Batch::new();
    batch.put(b"b", b"2");
    batch.delete(b"a");
    store.write(&batch).expect("granted");
    assert!(!store.contains(b"a").expect("granted"));

    let error = refused(&of_clerk(server, "postgres/absent"));
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    let text = error.to_string();
    let parts = [
        "\"absent\" is missing",
        "may not create it",
        "permission denied for schema public (42501)",
    ];
    for part in parts {
        assert!(text.contains(part), "{text}");
    }
    let absent = refused(&of_clerk(server, "postgres/absent?create=no"));
    assert_eq!(absent.kind(), ErrorKind::NotFound, "{absent}");
    let text = absent.to_string();
    assert!(
        text.contains("relation \"absent\" does not exist (42P01)"),
        "{text}"
    );
}

fn the_reason_of_the_server_is_shown_without_the_user(server: &PostgresServer) {
    execute(
        server,
        &["CREATE TABLE closed (k bytea PRIMARY KEY, v bytea)"],
    );
    let database = refused(&of_clerk(server, "nodb/people"));
    assert_eq!(database.kind(), ErrorKind::NotFound, "{database}");
    let text = database.to_string();
    assert!(
        text.contains("database \"nodb\" does not exist (3D000)"),
        "{text}"
    );

    let right = refused(&of_clerk(server, "postgres/closed"));
    assert_eq!(right.kind(), ErrorKind::Denied, "{right}");
    let text = right.to_string();
    assert!(
        text.contains("permission denied for table closed (42501)"),
        "{text}"
    );

    // The user is hidden, also where the server names it, or something else has its name.
    let port = server.port();
    let role = refused(&format!(
        "postgres://stranger:hunter2@127.0.0.1:{port}/postgres/t"
    ));
    assert_eq!(role.kind(), ErrorKind::Denied, "{role}");
    let same = refused(&of_clerk(server, "clerk/people"));
    assert_eq!(same.kind(), ErrorKind::NotFound, "{same}");
    let text = format!("{role} {same}");
    assert!(text.contains("28000") && text.contains("3D000"), "{text}");
    for secret in ["stranger", "hunter2", "clerk"] {
        assert!(!text.contains(secret), "{text}");
    }
}

fn a_table_with_other_columns_is_not_damaged(server: &PostgresServer) {
    let tables = [
        ("names", "id integer PRIMARY KEY, name text"),
        ("texts", "k text PRIMARY KEY, v text"),
        ("notes", "k bytea PRIMARY KEY, v text"),
    ];
    for (name, columns) in tables {
        execute(server, &[&format!("CREATE TABLE {name} ({columns})")]);
        for create in ["yes", "no"] {
            let error = refused(&format!("{}?create={create}", server.url(name)));
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            let expected = format!("the table \"{name}\" has no columns k and v of type bytea");
            assert_eq!(error.message(), expected, "{error}");
        }
    }
}

#[test]
fn several_rows_with_one_key_are_no_lost_connection() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    execute(
        &server,
        &[
            "CREATE TABLE twice (k bytea, v bytea NOT NULL)",
            "INSERT INTO twice VALUES ('a', '1'), ('a', '2')",
        ],
    );
    let url = format!("{}?create=no", server.url("twice"));
    let store = open(&url).expect("the server runs");
    let error = store.get(b"a").expect_err("two rows");
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("several rows"), "{error}");
    assert!(!store.contains(b"b").expect("the connection is usable"));
}

/// A table whose triggers leave out two keys: `new` cannot be written, nor `kept` changed.
const GUARDED: [&str; 5] = [
    "CREATE TABLE guarded (k bytea PRIMARY KEY, v bytea NOT NULL)",
    "INSERT INTO guarded VALUES ('free', '1'), ('kept', '1')",
    "CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TRIGGER of_new BEFORE INSERT ON guarded FOR EACH ROW
     WHEN (NEW.k IN ('new', 'kept')) EXECUTE FUNCTION leave_out()",
    "CREATE TRIGGER of_old BEFORE UPDATE OR DELETE ON guarded FOR EACH ROW
     WHEN (OLD.k = 'kept') EXECUTE FUNCTION leave_out()",
];

fn check_left_out<T: std::fmt::Debug>(result: cairndb_store::Result<T>) {
    let error = result.expect_err("a trigger leaves a row out");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(
        error.to_string().contains("a trigger of the table"),
        "{error}"
    );
}

#[test]
fn rows_that_a_trigger_leaves_out_are_not_reported_as_written() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    execute(&server, &GUARDED);
    let store = open(&server.url("guarded")).expect("the table is there");
    check_left_out(store.put(b"new", b"2"));
    check_left_out(store.put(b"kept", b"2"));
    check_left_out(store.delete(b"kept"));
    store.delete(b"absent").expect("nothing to leave out");
    check_left_out(store.compare_and_set(b"new", None, Some(b"2")));
    check_left_out(store.compare_and_set(b"kept", Some(b"1"), Some(b"2")));
    check_left_out(store.compare_and_set(b"kept", Some(b"1"), None));
    for new in [Some(&b"2"[..]), None] {
        let changed = store.compare_and_set(b"kept", Some(b"3"), new);
        assert!(!changed.expect("the value is another one"));
    }
    assert!(
        !store
            .compare_and_set(b"kept", None, Some(b"2"))
            .expect("it is there")
    );

    // What is written with such a row is not written either.
    let write = |key: &[u8], value: Option<&[u8]>| {
        let mut batch = Batch::new();
        batch.put(b"free", b"2");
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
        let transaction = store.begin()?;
        assert!(transaction.contains(b"free")?);
        transaction.put(b"free", b"2")?;
        match value {
            Some(value) => transaction.put(key, value)?,
            None => transaction.delete(key)?,
        }
        Ok::<_, cairndb_store::Error>([store.write(&batch), transaction.commit()])
    };
    for (key, value) in [(&b"new"[..], Some(&b"2"[..])), (b"kept", None)] {
        write(key, value)
            .expect("an answer")
            .into_iter()
            .for_each(check_left_out);
    }
    let entries = store.scan(&Scan::all()).expect("an answer");
    let values = entries.map(|entry| entry.expect("an entry").1.into_vec());
    assert_eq!(values.collect::<Vec<_>>(), [b"1", b"1"]);

    execute(
        &server,
        &["CREATE TABLE ruled (k bytea PRIMARY KEY, v bytea NOT NULL)"],
    );
    execute(
        &server,
        &["CREATE RULE ignored AS ON DELETE TO ruled DO INSTEAD NOTHING"],
    );
    let store = open(&server.url("ruled")).expect("the table is there");
    store.put(b"a", b"1").expect("not ruled");
    let error = store.delete(b"a").expect_err("ruled out");
    assert!(error.to_string().contains("\"ruled\""), "{error}");
}
