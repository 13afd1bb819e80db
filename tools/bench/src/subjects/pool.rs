//! The threads that measure the read side.
//!
//! They are made once and attached to every subject once, so that no cell pays for a thread's first steps. A
//! job is one cell: all threads start it together behind a barrier, and each says how much CPU time its loop
//! took. Between jobs they sleep in a channel, outside any section.

use crate::measure::clock;
use crate::subjects::Subject;
use quiescent_report::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

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
pub struct Pool {
    jobs: Vec<Sender<Job>>,
    results: Receiver<u64>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads and attaches them to `subjects`.
    ///
    /// # Errors
    /// [`Error::Usage`] for 0 or more than [`MOST_THREADS`]; [`Error::Failed`] when the system refuses a
    /// thread: those made until then are ended first.
    pub fn start(threads: usize, subjects: &[Subject]) -> Result<Self, Error> {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(Error::Usage(format!(
                "{threads} threads: give 1 to {MOST_THREADS}"
            )));
        }
        let barrier = Arc::new(Barrier::new(threads));
        let (done, results) = channel();
        let mut pool = Pool {
            jobs: Vec::new(),
            results,
            threads: Vec::new(),
        };
        for number in 1..=threads {
            let (send, jobs) = channel();
            let (barrier, done, subjects) = (barrier.clone(), done.clone(), subjects.to_vec());
            let thread = Builder::new()
                .name(format!("reader {number}"))
                .stack_size(256 * 1024)
                .spawn(move || work(&jobs, &done, &barrier, &subjects))
                .map_err(|why| {
                    Error::failed(
                        format!("cannot start thread {number} of {threads}"),
                        why,
                        "give fewer --threads, or raise the limit (ulimit -u, pids.max of the cgroup)",
                    )
                })?;
            pool.jobs.push(send);
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs a job on all threads at once; the mean CPU time of one turn, in ns.
    ///
    /// # Errors
    /// [`Error::Failed`] when a measuring thread died (a subject panicked).
    pub fn run(&self, job: Job) -> Result<f64, Error> {
        let died = || {
            Error::failed(
                "read measurement",
                "a measuring thread died",
                "its panic message is above; please report it",
            )
        };
        for jobs in &self.jobs {
            jobs.send(job).map_err(|_| died())?;
        }
        let mut ns = 0;
        for _ in &self.jobs {
            ns += self.results.recv().map_err(|_| died())?;
        }
        Ok(ns as f64 / (self.jobs.len() as f64 * job.turns as f64))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Receiver<Job>, done: &Sender<u64>, barrier: &Barrier, subjects: &[Subject]) {
    let waiting = || subjects.iter().filter_map(|subject| subject.waiting);
    for subject in subjects {
        (subject.attach)();
    }
    waiting().for_each(|waiting| (waiting.offline)());
    while let Ok(job) = jobs.recv() {
        barrier.wait();
        waiting().for_each(|waiting| (waiting.online)());
        let begin = clock::thread_cpu_ns();
        (job.run)(job.turns);
        let took = clock::thread_cpu_ns() - begin;
        waiting().for_each(|waiting| (waiting.offline)());
        if done.send(took).is_err() {
            break;
        }
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
