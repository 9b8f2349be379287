//! The statements. Each is prepared once on each connection that uses it.

use cairndb_store::Direction;
use tokio_postgres::types::Type;

/// A statement over the table of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sql {
    Get,
    MultiGet,
    Put,
    Delete,
    PutMany,
    DeleteMany,
    InsertIfAbsent,
    ReplaceIfEqual,
    DeleteIfEqual,
    Up,
    UpTo,
    Down,
    DownTo,
}

impl Sql {
    /// Returns the statement of a page. `bounded` is whether the window has an end.
    pub(super) const fn page(direction: Direction, bounded: bool) -> Sql {
        match (direction, bounded) {
            (Direction::Ascending, false) => Sql::Up,
            (Direction::Ascending, true) => Sql::UpTo,
            (Direction::Descending, false) => Sql::Down,
            (Direction::Descending, true) => Sql::DownTo,
        }
    }

    /// Returns the text over `table`, which is quoted.
    pub(super) fn text(self, table: &str) -> String {
        let upsert = "ON CONFLICT (k) DO UPDATE SET v = excluded.v";
        match self {
            Sql::Get => format!("SELECT v FROM {table} WHERE k = $1"),
            Sql::MultiGet => format!("SELECT k, v FROM {table} WHERE k = ANY($1)"),
            Sql::Put => format!("INSERT INTO {table} (k, v) VALUES ($1, $2) {upsert}"),
            Sql::Delete => format!("DELETE FROM {table} WHERE k = $1"),
            Sql::PutMany => format!(
                "INSERT INTO {table} (k, v) SELECT * FROM unnest($1::bytea[], $2::bytea[]) {upsert}"
            ),
            Sql::DeleteMany => format!("DELETE FROM {table} WHERE k = ANY($1)"),
            Sql::InsertIfAbsent => {
                format!("INSERT INTO {table} (k, v) VALUES ($1, $2) ON CONFLICT (k) DO NOTHING")
            }
            Sql::ReplaceIfEqual => format!("UPDATE {table} SET v = $3 WHERE k = $1 AND v = $2"),
            Sql::DeleteIfEqual => format!("DELETE FROM {table} WHERE k = $1 AND v = $2"),
            Sql::Up => format!("SELECT k, v FROM {table} WHERE k >= $1 ORDER BY k LIMIT $2"),
            Sql::UpTo => {
                format!("SELECT k, v FROM {table} WHERE k >= $1 AND k < $3 ORDER BY k LIMIT $2")
            }
            Sql::Down => format!("SELECT k, v FROM {table} WHERE k >= $1 ORDER BY k DESC LIMIT $2"),
            Sql::DownTo => format!(
                "SELECT k, v FROM {table} WHERE k >= $1 AND k < $3 ORDER BY k DESC LIMIT $2"
            ),
        }
    }

    /// Returns the types of the parameters, so that preparing needs no catalogue look-up.
    pub(super) const fn types(self) -> &'static [Type] {
        match self {
            Sql::Get | Sql::Delete => &[Type::BYTEA],
            Sql::MultiGet | Sql::DeleteMany => &[Type::BYTEA_ARRAY],
            Sql::Put | Sql::InsertIfAbsent | Sql::DeleteIfEqual => &[Type::BYTEA, Type::BYTEA],
            Sql::PutMany => &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY],
            Sql::ReplaceIfEqual => &[Type::BYTEA, Type::BYTEA, Type::BYTEA],
            Sql::Up | Sql::Down => &[Type::BYTEA, Type::INT8],
            Sql::UpTo | Sql::DownTo => &[Type::BYTEA, Type::INT8, Type::BYTEA],
        }
    }
}

/// Quotes an identifier.
///
/// A name may contain anything but a zero byte, as in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::{Sql, quoted};

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
        let all = [
            Sql::Get,
            Sql::MultiGet,
            Sql::Put,
            Sql::Delete,
            Sql::PutMany,
            Sql::DeleteMany,
            Sql::InsertIfAbsent,
            Sql::ReplaceIfEqual,
            Sql::DeleteIfEqual,
            Sql::Up,
            Sql::UpTo,
            Sql::Down,
            Sql::DownTo,
        ];
        for sql in all {
            let text = sql.text("t");
            let used = (1..9).filter(|n| text.contains(&format!("${n}"))).count();
            assert_eq!(used, sql.types().len(), "{text}");
        }
    }
}
