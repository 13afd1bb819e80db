//! Cookies instead of waiting: an updater that reuses its buffers, and never waits or allocates.
//!
//! A sensor publishes samples of four related numbers, in one of a few fixed buffers. A replaced buffer gets
//! a cookie. When the cookie is done, no reader uses the buffer any more, and it is written again.
//!
//!     cargo run --example recycle

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{Cookie, read, start_grace_period, statistics};

/// For how long samples are published and read.
const RUN: Duration = Duration::from_millis(300);
/// Buffers there are.
const BUFFERS: usize = 8;

/// Numbers that belong together: all of a sample are equal, so that a reader can detect a mixture.
type Sample = [AtomicU64; 4];

struct Board {
    buffers: [Sample; BUFFERS],
    /// The buffer that readers read.
    current: AtomicUsize,
}

impl Board {
    /// Reads a sample; was it whole? Plain loads: no lock, no sequence number, no second try.
    fn read(&self) -> bool {
        read(|_guard| {
            // Acquire: with the release in `publish`, for what the buffer holds.
            let buffer = &self.buffers[self.current.load(Ordering::Acquire)];
            let sample = buffer.each_ref().map(|n| n.load(Ordering::Relaxed));
            sample.iter().all(|&n| n == sample[0])
        })
    }

    /// Publishes a sample in `buffer`, which has no readers, and returns the buffer that it replaces.
    fn publish(&self, buffer: usize, value: u64) -> usize {
        for n in &self.buffers[buffer] {
            n.store(value, Ordering::Relaxed);
        }
        self.current.swap(buffer, Ordering::AcqRel)
    }
}

fn main() {
    let board = Board {
        buffers: Default::default(),
        current: AtomicUsize::new(0),
    };
    let stop = AtomicBool::new(false);
    let (reads, torn) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut published, mut skipped) = (0u64, 0u64);

    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    torn.fetch_add(u64::from(!board.read()), Ordering::Relaxed);
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Oldest first. All but the current one are free at the start.
        let mut replaced: VecDeque<(usize, Cookie)> =
            (1..BUFFERS).map(|n| (n, Cookie::COMPLETED)).collect();
        let end = Instant::now() + RUN;
        while Instant::now() < end {
            match replaced.front() {
                Some(&(buffer, cookie)) if cookie.is_done() => {
                    replaced.pop_front();
                    published += 1;
                    let old = board.publish(buffer, published);
                    // After the swap: sections that open from now on cannot find the old buffer.
                    replaced.push_back((old, start_grace_period()));
                }
                _ => {
                    skipped += 1; // readers are slow: this sample is not worth waiting for
                    thread::yield_now();
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });

    let (reads, torn) = (reads.into_inner(), torn.into_inner());
    let grace_periods = statistics().grace_periods;
    println!(
        "{published} samples in {BUFFERS} buffers, {skipped} skipped, {grace_periods} grace periods"
    );
    println!("{reads} reads, {torn} of them torn");
    assert_eq!(torn, 0);
    assert!(published > BUFFERS as u64, "no buffer was used twice");
}
