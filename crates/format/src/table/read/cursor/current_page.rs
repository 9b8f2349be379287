//! The page that a cursor is in, held without borrowing from the table that the cursor owns.

use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;

use crate::table::page::layout::Layout;
use crate::table::read::open::Table;
use crate::table::read::reader::Unit;
use crate::table::read::source::PageRef;

/// Bytes of the current page, without a borrow.
#[derive(Clone, Debug)]
pub(super) enum CurrentPage {
    Mapped { start: usize, end: usize },
    Owned(Arc<[u8]>),
}

impl CurrentPage {
    /// The page's bytes; empty for a position that the table does not have.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, table: &'a Table) -> &'a [u8] {
        match self {
            CurrentPage::Owned(bytes) => bytes,
            CurrentPage::Mapped { start, end } => table
                .pages
                .mapping()
                .and_then(|bytes| bytes.get(*start..*end))
                .unwrap_or_default(),
        }
    }
}

/// A unit passed to the cursor that borrowed its table to fetch it.
pub(super) struct EnteredPage {
    pub(super) current: CurrentPage,
    pub(super) layout: Layout,
    pub(super) number: u32,
    pub(super) page: u32,
}

impl From<Unit<'_>> for EnteredPage {
    #[inline]
    fn from(unit: Unit<'_>) -> EnteredPage {
        let current = match unit.bytes {
            PageRef::Owned(bytes) => CurrentPage::Owned(bytes),
            PageRef::Mapped(bytes) => {
                let start = unit.page as usize * PAGE_BYTES;
                CurrentPage::Mapped {
                    start,
                    end: start + bytes.len(),
                }
            }
        };
        EnteredPage {
            current,
            layout: unit.layout,
            number: unit.number,
            page: unit.page,
        }
    }
}
