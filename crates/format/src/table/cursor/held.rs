//! A page as a cursor holds it: without a borrow of the table beside which it stands.

use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;

use crate::table::layout::Layout;
use crate::table::lookup::Unit;
use crate::table::open::Table;
use crate::table::source::PageRef;

/// Bytes of the page a cursor is in, without a borrow.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Mapped { start: usize, end: usize },
    Owned(Arc<[u8]>),
}

impl Held {
    /// The page's bytes; empty for a place that the table does not have.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, table: &'a Table) -> &'a [u8] {
        match self {
            Held::Owned(bytes) => bytes,
            Held::Mapped { start, end } => table
                .pages
                .mapping()
                .and_then(|bytes| bytes.get(*start..*end))
                .unwrap_or_default(),
        }
    }
}

/// A unit on its way into the cursor that borrowed its table to fetch it.
pub(super) struct Entered {
    pub(super) held: Held,
    pub(super) layout: Layout,
    pub(super) number: u32,
    pub(super) page: u32,
}

impl From<Unit<'_>> for Entered {
    #[inline]
    fn from(unit: Unit<'_>) -> Entered {
        let held = match unit.bytes {
            PageRef::Owned(bytes) => Held::Owned(bytes),
            PageRef::Mapped(bytes) => {
                let start = unit.page as usize * PAGE_BYTES;
                Held::Mapped {
                    start,
                    end: start + bytes.len(),
                }
            }
        };
        Entered {
            held,
            layout: unit.layout,
            number: unit.number,
            page: unit.page,
        }
    }
}
