//! `Driver`: the runtime on which calls wait.
//!
//! Threads: any may wait, several at once. One thread of the runtime moves the bytes.

use cairndb_base::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime that may be dropped anywhere.
pub(super) struct Driver(Option<Runtime>);

impl Driver {
    pub(super) fn start() -> Result<Driver> {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime
            .worker_threads(1)
            .thread_name("cairn-objects")
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => Ok(Driver(Some(runtime))),
            Err(error) => {
                let message = "the thread that talks to the object store could not be started";
                Err(Error::new(ErrorKind::Io, message).source_error(error))
            }
        }
    }

    /// Runs a future to its end on this thread.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        if Handle::try_current().is_ok() {
            let message = "a blocking call inside an asynchronous runtime; use a thread of its own";
            return Err(Error::invalid(message));
        }
        match &self.0 {
            Some(runtime) => Ok(runtime.block_on(future)),
            None => Err(Error::new(ErrorKind::Closed, "the place was closed")),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which an asynchronous caller must not.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
