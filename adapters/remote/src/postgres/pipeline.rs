//! Statements that are sent one after the other without waiting for answers.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// A statement under way.
pub(super) type Sent<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Polls all futures in their order until all have ended, so that their statements are sent in this
/// order, in one packet. Returns their results.
pub(super) async fn in_order<T>(mut futures: Vec<Sent<'_, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut all = true;
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *result = Some(value),
                    Poll::Pending => all = false,
                }
            }
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
