//! The statements. Each is prepared once on each connection to a session that uses it.

use cairndb_store::Direction;
use tokio_postgres::types::Type;

use crate::paging::PAGE_BYTES;

/// A statement over the table of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sql {
    /// One row with the type of a value, whatever is in the table.
    Look,
    Get,
    MultiGet,
    Put,
    Delete,
    PutMany,
    DeleteMany,
    /// Of all keys from one on.
    DeleteUp,
    /// Of all keys from one up to another.
    DeleteUpTo,
    InsertIfAbsent,
    ReplaceIfEqual,
    DeleteIfEqual,
    /// The entries of a window, as many as are asked for.
    Few(Rows),
    /// A page of a window: as many as are asked for, or fewer of about a megabyte.
    Page(Rows),
}

/// Which entries of a window come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rows {
    Up,
    UpTo,
    Down,
    DownTo,
}

impl Rows {
    /// `bounded` is whether the window has an end.
    pub(super) const fn of(direction: Direction, bounded: bool) -> Rows {
        match (direction, bounded) {
            (Direction::Ascending, false) => Rows::Up,
            (Direction::Ascending, true) => Rows::UpTo,
            (Direction::Descending, false) => Rows::Down,
            (Direction::Descending, true) => Rows::DownTo,
        }
    }

    /// Returns the condition and the order.
    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Rows::Up => ("k >= $1", "k"),
            Rows::UpTo => ("k >= $1 AND k < $3", "k"),
            Rows::Down => ("k >= $1", "k DESC"),
            Rows::DownTo => ("k >= $1 AND k < $3", "k DESC"),
        }
    }

    const fn types(self) -> &'static [Type] {
        match self {
            Rows::Up | Rows::Down => &[Type::BYTEA, Type::INT8],
            Rows::UpTo | Rows::DownTo => &[Type::BYTEA, Type::INT8, Type::BYTEA],
        }
    }
}

impl Sql {
    /// Returns the text over `table`, which is quoted.
    pub(super) fn text(self, table: &str) -> String {
        let upsert = "ON CONFLICT (k) DO UPDATE SET v = excluded.v";
        match self {
            Sql::Look => format!("SELECT (SELECT v FROM {table} WHERE k = $1 AND false)"),
            Sql::Get => format!("SELECT v FROM {table} WHERE k = $1"),
            Sql::MultiGet => format!("SELECT k, v FROM {table} WHERE k = ANY($1)"),
            // Of one row, the answer says whether it was written.
            Sql::Put => format!("INSERT INTO {table} (k, v) VALUES ($1, $2) {upsert}"),
            Sql::Delete => delete(table, "k = $1"),
            Sql::PutMany => complete(
                &format!(
                    "INSERT INTO {table} (k, v) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
                     {upsert}"
                ),
                "cardinality($1)",
            ),
            Sql::DeleteMany => delete(table, "k = ANY($1)"),
            Sql::DeleteUp => delete(table, "k >= $1"),
            Sql::DeleteUpTo => delete(table, "k >= $1 AND k < $2"),
            Sql::InsertIfAbsent => complete(
                &format!("INSERT INTO {table} (k, v) VALUES ($1, $2) ON CONFLICT (k) DO NOTHING"),
                &format!("SELECT 1 - count(*) FROM {table} WHERE k = $1"),
            ),
            Sql::ReplaceIfEqual => complete(
                &format!("UPDATE {table} SET v = $3 WHERE k = $1 AND v = $2"),
                &format!("SELECT count(*) FROM {table} WHERE k = $1 AND v = $2"),
            ),
            Sql::DeleteIfEqual => delete(table, "k = $1 AND v = $2"),
            Sql::Few(rows) => {
                let (condition, order) = rows.text();
                format!("SELECT k, v FROM {table} WHERE {condition} ORDER BY {order} LIMIT $2")
            }
            Sql::Page(rows) => {
                let (condition, order) = rows.text();
                // The length of a long value is known without reading it.
                let bytes = "octet_length(k) + octet_length(v)";
                format!(
                    "SELECT k, v FROM (SELECT k, v, sum({bytes}) OVER (ORDER BY {order} ROWS \
                     UNBOUNDED PRECEDING) - ({bytes}) AS ahead FROM {table} WHERE {condition} \
                     ORDER BY {order} LIMIT $2) AS page WHERE ahead < {PAGE_BYTES} ORDER BY {order}"
                )
            }
        }
    }

    /// Returns the types of the parameters, so that preparing needs no catalogue look-up.
    pub(super) const fn types(self) -> &'static [Type] {
        match self {
            Sql::Look | Sql::Get | Sql::Delete | Sql::DeleteUp => &[Type::BYTEA],
            Sql::MultiGet | Sql::DeleteMany => &[Type::BYTEA_ARRAY],
            Sql::Put | Sql::InsertIfAbsent | Sql::DeleteIfEqual | Sql::DeleteUpTo => {
                &[Type::BYTEA, Type::BYTEA]
            }
            Sql::PutMany => &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY],
            Sql::ReplaceIfEqual => &[Type::BYTEA, Type::BYTEA, Type::BYTEA],
            Sql::Few(rows) | Sql::Page(rows) => rows.types(),
        }
    }
}

/// Returns a statement that executes `write`, and fails with a division by zero, having written
/// nothing, unless that changes as many rows as `expected` yields. It returns a row if there are
/// any.
///
/// A trigger of the table can leave out rows without an error. The statement must notice that
/// itself: the commit may be sent with it, before there is an answer. SQL has no other way to fail
/// outside a function. `expected` reads the state before the write.
fn complete(write: &str, expected: &str) -> String {
    format!(
        "WITH done AS ({write} RETURNING 1) SELECT 1 FROM done \
         HAVING count(*) / (count(*) = ({expected}))::int > 0"
    )
}

/// Returns a statement that deletes all rows of `table` with `condition`.
fn delete(table: &str, condition: &str) -> String {
    complete(
        &format!("DELETE FROM {table} WHERE {condition}"),
        &format!("SELECT count(*) FROM {table} WHERE {condition}"),
    )
}

/// Quotes an identifier.
///
/// A name may contain anything but a zero byte, as in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::{Rows, Sql, quoted};

    #[test]
    fn identifiers_cannot_end_their_quotes() {
        assert_eq!(quoted("stones"), "\"stones\"");
        assert_eq!(
            quoted("a\"; DROP TABLE b; --"),
            "\"a\"\"; DROP TABLE b; --\""
        );
    }

    #[test]
    fn every_parameter_has_a_type() {
        let rows = [Rows::Up, Rows::UpTo, Rows::Down, Rows::DownTo];
        let pages = rows
            .into_iter()
            .flat_map(|rows| [Sql::Few(rows), Sql::Page(rows)]);
        let others = [
            Sql::Look,
            Sql::Get,
            Sql::MultiGet,
            Sql::Put,
            Sql::Delete,
            Sql::PutMany,
            Sql::DeleteMany,
            Sql::DeleteUp,
            Sql::DeleteUpTo,
            Sql::InsertIfAbsent,
            Sql::ReplaceIfEqual,
            Sql::DeleteIfEqual,
        ];
        for sql in others.into_iter().chain(pages) {
            let text = sql.text("t");
            let used = (1..9).filter(|n| text.contains(&format!("${n}"))).count();
            assert_eq!(used, sql.types().len(), "{text}");
        }
    }
}
