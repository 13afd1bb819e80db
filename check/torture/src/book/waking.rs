//! Runs a future on this thread, which sleeps in between.
//!
//! A waker rings a bell that belongs to a place and is never freed: this needs no reference count, which
//! ThreadSanitizer reports as a race, and no thread-local state in the thread's last destructors. A late ring
//! for an older future costs one more poll.
//!
//! `[TO-4]` ringing releases, and the sleeper's load acquires.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// 1 once it has rung.
#[derive(Debug, Default)]
pub struct Bell(AtomicU32);

const SILENT: u32 = 0;
const RUNG: u32 = 1;

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |bell| RawWaker::new(bell, &TABLE),
    ring, // by value
    ring, // by reference: the same, since a bell has no owner
    |_| {},
);

fn ring(bell: *const ()) {
    // SAFETY: `Bell::waker` made it of a bell that lives for ever.
    let bell = unsafe { &*bell.cast::<Bell>() };
    // Release: [TO-4].
    if bell.0.swap(RUNG, Ordering::Release) == SILENT {
        // SAFETY: wakes at most one thread that waits for this word, which is there.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                bell.0.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                1,
            )
        };
    }
}

impl Bell {
    fn waker(&'static self) -> Waker {
        let bell = std::ptr::from_ref(self).cast();
        // SAFETY: the table's functions need a bell that lives for ever, and this is one.
        unsafe { Waker::from_raw(RawWaker::new(bell, &TABLE)) }
    }

    /// Sleeps until the bell has rung, and resets it.
    fn wait(&self) {
        // Acquire: [TO-4].
        while self.0.swap(SILENT, Ordering::Acquire) != RUNG {
            // SAFETY: waits while the word is 0; no time limit, so a null pointer.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    SILENT,
                    std::ptr::null::<libc::timespec>(),
                )
            };
        }
    }
}

/// Waits until the future resolves.
pub fn block_on<F: Future>(bell: &'static Bell, future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = bell.waker();
    loop {
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        match polled {
            Poll::Ready(output) => return output,
            Poll::Pending => bell.wait(),
        }
    }
}

/// Polls the future once and drops it.
pub fn abandon<F: Future + Unpin>(bell: &'static Bell, mut future: F) {
    _ = Pin::new(&mut future).poll(&mut Context::from_waker(&bell.waker()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_thread_sleeps_until_it_is_woken() {
        let bell: &'static Bell = Box::leak(Box::default());
        let mut polls = 0;
        let output = block_on(
            bell,
            std::future::poll_fn(|context| {
                polls += 1;
                let waker = context.waker().clone();
                match polls {
                    1..4 => {
                        thread::spawn(move || {
                            thread::sleep(Duration::from_millis(1));
                            waker.wake();
                        });
                        Poll::Pending
                    }
                    _ => Poll::Ready(polls),
                }
            }),
        );
        assert_eq!(output, 4, "each time it was woken it polled once");
        abandon(bell, std::future::pending::<()>());
    }
}
