//! Retired objects: destroyed by the caller, but possibly still used by a call of another thread.
//!
//! A stack without a lock. Each destruction frees those of it that no thread has pinned, so an
//! object waits for the next destruction at most after its last call has returned.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::handle::pins::is_pinned;
use crate::handle::{Handle, Object};

struct Retired {
    handle: Handle,
    /// Owned; freed with the node.
    _object: Box<dyn Send>,
    next: *mut Retired,
}

static RETIRED: AtomicPtr<Retired> = AtomicPtr::new(null_mut());

/// Frees `object`, whose slot no longer accepts `handle`, now or later.
pub(crate) fn retire<T: Object + 'static>(handle: Handle, object: Box<T>) {
    if is_pinned(handle) {
        push(Box::new(Retired {
            handle,
            _object: object,
            next: null_mut(),
        }));
    } else {
        drop(object);
    }
    sweep();
}

fn push(node: Box<Retired>) {
    let node = Box::into_raw(node);
    let mut head = RETIRED.load(Ordering::Acquire);
    loop {
        // SAFETY: this thread owns the node until it is on the stack.
        unsafe { (*node).next = head };
        match RETIRED.compare_exchange_weak(head, node, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

fn sweep() {
    if RETIRED.load(Ordering::Relaxed).is_null() {
        return;
    }
    let mut node = RETIRED.swap(null_mut(), Ordering::AcqRel);
    while !node.is_null() {
        // SAFETY: the whole stack was taken, so this thread owns its nodes, each of which was
        // made from a box.
        let retired = unsafe { Box::from_raw(node) };
        node = retired.next;
        if is_pinned(retired.handle) {
            push(retired);
        }
    }
}
