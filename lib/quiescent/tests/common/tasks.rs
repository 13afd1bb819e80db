//! Tasks without a runtime: an executor of one task, and wakers that count.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Unparks the thread that made it, and counts how often.
pub struct Bell {
    thread: Thread,
    rung: AtomicU32,
}

impl Bell {
    /// One for the calling thread.
    pub fn new() -> Arc<Bell> {
        Arc::new(Bell {
            thread: thread::current(),
            rung: AtomicU32::new(0),
        })
    }

    /// How often it was rung.
    pub fn rung(&self) -> u32 {
        self.rung.load(Ordering::Acquire)
    }

    /// Polls once, with this bell as the waker.
    pub fn poll<F: Future + Unpin>(self: &Arc<Bell>, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(self));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs a future to its end on this thread. Only a wake-up gets it on.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let bell = Bell::new();
    let mut seen = 0;
    loop {
        if let Poll::Ready(output) = bell.poll(&mut future) {
            return output;
        }
        while bell.rung() == seen {
            thread::park();
        }
        seen = bell.rung();
    }
}
