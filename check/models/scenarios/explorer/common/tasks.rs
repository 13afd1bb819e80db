//! A task on a thread of the model: it is polled, and sleeps on a word in between.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use quiescent_models::explorer::Ordering::{Acquire, Release};
use quiescent_models::explorer::{AtomicU32, futex_wait, futex_wake};

/// The word on which the task's thread sleeps.
struct Bell(AtomicU32);

// SAFETY: model threads are fibers on one OS thread.
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Release);
        futex_wake(&self.0);
    }
}

/// Polls the future once, with a waker without effect, and drops it.
pub fn abandon<F: Future>(future: F) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

/// Runs a future to its end. Only a wake-up makes it continue.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let bell = Arc::new(Bell(AtomicU32::new(0)));
    let waker = Waker::from(bell.clone());
    loop {
        let rung = bell.0.load(Acquire);
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while bell.0.load(Acquire) == rung {
            futex_wait(&bell.0, rung, None);
        }
    }
}
