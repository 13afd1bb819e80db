//! The threads that measure the read side.
//!
//! They are made once and attached to every subject once, so that no cell pays for a thread's first steps. A
//! job is one cell: all threads start it together behind a barrier, and each says how much CPU time its loop
//! took. Between jobs they sleep, outside any section.

use crate::measure::clock;
use crate::measure::threads::{Helper, Steps};
use crate::subjects::Subject;
use quiescent_report::Error;
use std::sync::{Arc, Barrier};

/// The most threads a pool will try to make.
pub const MOST_THREADS: usize = 1024;

/// A loop and how many turns of it each thread runs.
#[derive(Clone, Copy)]
pub struct Job {
    /// The loop.
    pub run: fn(u64),
    /// Turns a thread.
    pub turns: u64,
}

/// Measuring threads. Dropping the pool ends and joins them.
pub struct Pool(Vec<Helper<u64, Job>>);

impl Pool {
    /// Starts `threads` threads and attaches them to `subjects`.
    ///
    /// # Errors
    /// [`Error::Usage`] for 0 or more than [`MOST_THREADS`]; [`Error::Failed`] when the system refuses a
    /// thread: those made until then are ended first.
    pub fn start(threads: usize, subjects: &[Subject]) -> Result<Self, Error> {
        if !(1..=MOST_THREADS).contains(&threads) {
            let remedy = format!("{threads} threads: give 1 to {MOST_THREADS}");
            return Err(Error::Usage(remedy));
        }
        let barrier = Arc::new(Barrier::new(threads));
        let mut pool = Pool(Vec::new());
        for number in 1..=threads {
            let (barrier, subjects) = (barrier.clone(), subjects.to_vec());
            let body = move |steps: &Steps<u64, Job>| work(steps, &barrier, &subjects);
            let helper = Helper::start(&format!("reader {number}"), body);
            let (helper, _) = helper.map_err(|why| {
                let what = format!("cannot start thread {number} of {threads}");
                Error::failed(what, why, "or give fewer --threads")
            })?;
            pool.0.push(helper);
        }
        Ok(pool)
    }

    /// Runs a job on all threads at once; the mean CPU time of one turn, in ns.
    ///
    /// # Errors
    /// [`Error::Failed`] when a measuring thread died (a subject panicked).
    pub fn run(&self, job: Job) -> Result<f64, Error> {
        let each = || self.0.iter();
        let took = each()
            .try_for_each(|it| it.go(job))
            .and_then(|()| each().map(Helper::wait).sum::<Result<u64, String>>());
        Ok(took.map_err(Error::Failed)? as f64 / (self.0.len() as f64 * job.turns as f64))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for helper in self.0.drain(..) {
            // A thread that panicked has said so already.
            let _ = helper.end();
        }
    }
}

fn work(steps: &Steps<u64, Job>, barrier: &Barrier, subjects: &[Subject]) {
    let waiting = || subjects.iter().filter_map(|subject| subject.waiting);
    for subject in subjects {
        (subject.attach)();
    }
    waiting().for_each(|waiting| (waiting.offline)());
    let mut took = 0;
    while let Some(job) = steps.next(took) {
        barrier.wait();
        waiting().for_each(|waiting| (waiting.online)());
        let begin = clock::thread_cpu_ns();
        (job.run)(job.turns);
        took = clock::thread_cpu_ns() - begin;
        waiting().for_each(|waiting| (waiting.offline)());
    }
    waiting().for_each(|waiting| (waiting.online)());
    for subject in subjects {
        (subject.detach)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static TURNS: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn every_thread_runs_every_job() {
        fn count(turns: u64) {
            TURNS.fetch_add(turns, Relaxed);
        }
        let pool = Pool::start(3, &[]).unwrap();
        for _ in 0..4 {
            let ns = pool
                .run(Job {
                    run: count,
                    turns: 5,
                })
                .unwrap();
            assert!(ns >= 0.0);
        }
        drop(pool);
        assert_eq!(TURNS.load(Relaxed), 3 * 4 * 5);
    }

    #[test]
    fn absurd_counts_are_usage_errors() {
        for threads in [0, MOST_THREADS + 1, usize::MAX] {
            let error = Pool::start(threads, &[]).err();
            assert!(
                matches!(error, Some(Error::Usage(_))),
                "{threads}: {error:?}"
            );
        }
    }
}
