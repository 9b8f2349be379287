//! Whether a store was closed, which its snapshots, transactions and scans share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_store::{Error, Result};

/// The mark of a closed store. Clones are of one store.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed(Arc<AtomicBool>);

impl Closed {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;

    use super::Closed;

    #[test]
    fn every_clone_knows_that_the_store_was_closed() {
        let closed = Closed::default();
        let transaction = closed.clone();
        transaction.check().expect("it is open");
        closed.set();
        let error = transaction.check().expect_err("it was closed");
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
}
