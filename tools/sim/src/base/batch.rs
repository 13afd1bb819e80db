//! Many runs on a few threads.
//!
//! Runs are independent and results are in the order of the runs, so the output does not depend on the number
//! of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// As many threads as there are processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// Makes the runs `0..n` on `jobs` threads; returns the results, each with its run. A run without a result
/// was stopped: its thread begins no other one. `finished` hears of each result, and each second without one
/// of none, on the calling thread.
///
/// ```
/// let squares = quiescent_sim::batch::run(3, 5, |it| Some(it * it), |_| {});
/// assert_eq!(squares, [(0, 0), (1, 1), (2, 4), (3, 9), (4, 16)]);
/// ```
pub fn run<T: Send>(
    jobs: usize,
    n: usize,
    one: impl Fn(usize) -> Option<T> + Sync,
    mut finished: impl FnMut(u64),
) -> Vec<(usize, T)> {
    let mut results = Vec::new(); // grows with the runs: `n` may be more than there is memory for
    // Relaxed: the number is all that is shared by it; the results go through the channel.
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, n.max(1)) {
            let (send, next, one) = (send.clone(), &next, &one);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= n {
                        return;
                    }
                    let Some(result) = one(index) else {
                        return;
                    };
                    send.send((index, result))
                        .expect("the receiver waits for all");
                }
            });
        }
        drop(send);
        loop {
            match receive.recv_timeout(SECOND) {
                Ok(result) => {
                    results.push(result);
                    finished(1);
                }
                Err(RecvTimeoutError::Timeout) => finished(0),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_runs_whatever_the_jobs() {
        for jobs in [0, 1, 2, 7, 100] {
            let mut heard = 0;
            let all = run(jobs, 20, Some, |done| heard += done);
            let expected: Vec<_> = (0..20).map(|it| (it, it)).collect();
            assert_eq!((all, heard), (expected, 20));
        }
        assert!(run(4, 0, Some, |_| {}).is_empty());
    }

    #[test]
    fn what_is_stopped_ends_at_once_however_much_is_left() {
        for jobs in [1, 7] {
            let some = run(jobs, usize::MAX, |it| (it < 5).then_some(()), |_| {});
            assert_eq!(
                some.into_iter().map(|it| it.0).collect::<Vec<_>>(),
                [0, 1, 2, 3, 4]
            );
        }
    }
}
