//! Many runs on a few threads.
//!
//! Runs are independent and each result is stored at its run's index, so the output does not depend on the
//! number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// As many threads as there are processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// Makes the runs `0..n` on `jobs` threads; none for a run that did not finish. `finished` hears of each that
/// did, on the calling thread.
///
/// ```
/// let squares = quiescent_sim::batch::run(3, 5, |it| Some(it * it), || {});
/// assert_eq!(squares, [0, 1, 4, 9, 16].map(Some));
/// ```
pub fn run<T: Send>(
    jobs: usize,
    n: usize,
    one: impl Fn(usize) -> Option<T> + Sync,
    mut finished: impl FnMut(),
) -> Vec<Option<T>> {
    let mut results: Vec<Option<T>> = Vec::new();
    results.resize_with(n, || None);
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
                    if let Some(result) = one(index) {
                        send.send((index, result))
                            .expect("the receiver waits for all");
                    }
                }
            });
        }
        drop(send);
        for (index, result) in receive {
            results[index] = Some(result);
            finished();
        }
    });
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_runs_whatever_the_jobs() {
        for jobs in [0, 1, 2, 7, 100] {
            let mut heard = 0;
            let odd = run(jobs, 20, |it| (it % 2 == 1).then_some(it), || heard += 1);
            let expected: Vec<_> = (0..20).map(|it| (it % 2 == 1).then_some(it)).collect();
            assert_eq!((odd, heard), (expected, 10));
        }
        assert!(run(4, 0, Some, || {}).is_empty());
    }
}
