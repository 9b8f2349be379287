//! A thread that calls a function periodically and is stopped and joined when its owner is dropped.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread. Dropping it waits for the call in progress; no other call follows.
#[derive(Debug)]
pub struct Ticker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `tick` on a thread of this name, each time `period` after the previous call has ended.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        name: &str,
        period: Duration,
        mut tick: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let body = move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(body)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is ignored.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ticks_until_it_is_dropped() {
        let (sender, receiver) = mpsc::channel();
        let ticker = Ticker::start("test", Duration::from_millis(1), move || {
            // The send fails only after the receiver was dropped.
            let _ = sender.send(());
        })
        .expect("a thread");
        for _ in 0..3 {
            receiver.recv().expect("another tick");
        }
        drop(ticker);
        // The thread has ended and its sender is dropped, so the remaining messages can be counted.
        assert!(receiver.iter().count() < 1_000);
    }
}
