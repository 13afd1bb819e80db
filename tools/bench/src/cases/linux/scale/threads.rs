//! Threads that sleep: they make each step together, each measures its own cost, and they sleep again.
//!
//! What registration costs is CPU time on the thread's own clock, what reading that clock costs subtracted.
//!
//! *The end of a thread* is measured from a destructor of a thread-local, where the library's `detach` is
//! called, to a destructor of a POSIX key. Those run later, in the order in which keys were made, and ours is
//! made after those of libraries that make theirs when the program starts; so a hook that gives the thread's
//! place back is in between. A thread that never used the library does the same ([`bare_exit_ns`]), and is
//! subtracted.

use crate::measure::clock::thread_cpu_ns;
use crate::measure::threads::{Helper, Steps};
use crate::subjects::Subject;
use quiescent_report::rows::stats;
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

/// Small, so that thousands fit; what is touched of it is touched before anything is measured.
const STACK: usize = 64 << 10;
/// As deep as any step goes.
const TOUCHED: usize = 12 << 10;

/// What all do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing, so that what carries orders has its memory before any is measured.
    Start,
    /// Register and read once.
    Register,
    /// Every second one retires an object.
    Retire,
    /// End.
    End,
}

/// What it cost one thread.
#[derive(Debug, Default)]
pub struct Cost {
    /// Registration and the first section, CPU ns.
    pub register_ns: AtomicU64,
    /// From `detach` to the end of the exit hooks, CPU ns.
    pub exit_ns: AtomicU64,
}

/// The threads. Dropping it ends and joins them.
#[derive(Debug)]
pub struct Sleepers {
    threads: Vec<Helper<(), Step>>,
    costs: Arc<Vec<Cost>>,
    reached: usize,
    /// The reason why there are fewer than requested.
    pub refused: Option<std::io::Error>,
}

impl Sleepers {
    /// Starts `wanted` threads, or as many as the system grants; `subject` is the library they use
    /// (none: they are bare), `retire` what every second one of them is to do.
    pub fn start(wanted: usize, subject: Option<Subject>, retire: Option<fn()>) -> Sleepers {
        clock_ns();
        let costs: Arc<Vec<Cost>> = Arc::new((0..wanted).map(|_| Cost::default()).collect());
        let start = |number| {
            let (costs, retire) = (costs.clone(), retire.filter(|_| number % 2 == 1));
            let body = move |steps: &Steps<(), Step>| live(steps, &costs, number, subject, retire);
            Helper::spawn(Builder::new().stack_size(STACK), body)
        };
        let mut refused = None;
        let started =
            (0..wanted).map_while(|number| start(number).map_err(|why| refused = Some(why)).ok());
        let threads: Vec<_> = started.collect();
        let mut sleepers = Sleepers {
            reached: threads.len(),
            threads,
            costs,
            refused,
        };
        sleepers.wait();
        sleepers.step(Step::Start);
        sleepers
    }

    /// Threads that could be started.
    pub fn reached(&self) -> usize {
        self.reached
    }

    /// Has all of them do this, and waits until they have.
    pub fn step(&mut self, step: Step) {
        // One that died has said why; its figures are 0.
        for thread in &self.threads {
            let _ = thread.go(step);
        }
        match step {
            Step::End => self.threads.drain(..).for_each(|it| _ = it.end()),
            _ => self.wait(),
        }
    }

    /// What it cost each of them.
    pub fn costs(&self) -> &[Cost] {
        &self.costs[..self.reached]
    }

    fn wait(&self) {
        for thread in &self.threads {
            let _ = thread.wait();
        }
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        self.step(Step::End);
    }
}

/// CPU ns that the end of a thread takes which no library knows: the median of so many.
pub fn bare_exit_ns(threads: usize) -> f64 {
    let mut sleepers = Sleepers::start(threads, None, None);
    sleepers.step(Step::End);
    let costs: Vec<f64> = sleepers.costs().iter().map(|c| of(&c.exit_ns)).collect();
    stats::summary(&costs).map_or(0.0, |summary| summary.median)
}

/// A cost as a figure.
pub fn of(cost: &AtomicU64) -> f64 {
    cost.load(Relaxed) as f64
}

/// A thread's life.
fn live(
    steps: &Steps<(), Step>,
    costs: &Arc<Vec<Cost>>,
    number: usize,
    subject: Option<Subject>,
    retire: Option<fn()>,
) {
    touch_stack();
    let end = End {
        costs: costs.clone(),
        number,
        detach: || (),
        begin: 0,
    };
    // Now, so that it is destroyed last of its kind, and the key's value has its place before it is measured.
    LAST.with_borrow_mut(|last| *last = Some(Leaving(Some(Box::new(end)))));
    let mut attached = None;
    while let Some(step) = steps.next(()) {
        match (step, subject, retire) {
            (Step::Register, Some(subject), _) => {
                let cost = cpu_ns(|| subject.register());
                costs[number].register_ns.store(cost, Relaxed);
                leave_with(subject.detach);
                if let Some(waiting) = subject.waiting {
                    (waiting.offline)(); // it sleeps from here on
                    attached = Some(waiting);
                }
            }
            (Step::Retire, _, Some(retire)) => retire(),
            (Step::End, ..) => break,
            _ => {}
        }
    }
    if let Some(waiting) = attached {
        (waiting.online)();
    }
}

/// The calling thread is attached, and has to detach itself when it ends.
fn leave_with(detach: fn()) {
    LAST.with_borrow_mut(|last| {
        if let Some(Leaving(Some(end))) = last {
            end.detach = detach;
        }
    });
}

/// CPU time of this thread for `what`, without that of the clock.
fn cpu_ns(what: impl FnOnce()) -> u64 {
    let clock = clock_ns();
    let begin = thread_cpu_ns();
    what();
    (thread_cpu_ns() - begin).saturating_sub(clock)
}

/// What two readings of the thread's clock, one after the other, differ by: the median of many.
fn clock_ns() -> u64 {
    static CLOCK: OnceLock<u64> = OnceLock::new();
    *CLOCK.get_or_init(|| {
        let reading = |_| {
            let begin = thread_cpu_ns();
            (thread_cpu_ns() - begin) as f64
        };
        let readings: Vec<f64> = (0..101).map(reading).collect();
        stats::summary(&readings).map_or(0, |summary| summary.median as u64)
    })
}

/// So that no page of the stack is touched first while memory is being measured.
#[inline(never)]
fn touch_stack() {
    std::hint::black_box([1u8; TOUCHED]);
}

/// What is to be measured when the thread ends.
struct End {
    costs: Arc<Vec<Cost>>,
    number: usize,
    detach: fn(),
    begin: u64,
}

struct Leaving(Option<Box<End>>);

thread_local! {
    static LAST: RefCell<Option<Leaving>> = const { RefCell::new(None) };
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let Some(mut end) = self.0.take() else {
            return;
        };
        end.begin = thread_cpu_ns();
        (end.detach)();
        // What is left of this thread is its other destructors, then the keys'.
        if let Some(key) = key() {
            // SAFETY: the key is valid, and `ended` takes what is stored here, once.
            unsafe { libc::pthread_setspecific(key, Box::into_raw(end).cast()) };
        }
    }
}

/// Our key; `None` when all are taken.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is writable, and the destructor has the type asked for.
        let refused = unsafe { libc::pthread_key_create(&mut key, Some(ended)) };
        (refused == 0).then_some(key)
    })
}

unsafe extern "C" fn ended(end: *mut c_void) {
    let now = thread_cpu_ns();
    // SAFETY: from `Box::into_raw` in `Leaving::drop`, and the C library calls this once with it.
    let end = unsafe { Box::from_raw(end.cast::<End>()) };
    let cost = now.saturating_sub(end.begin);
    end.costs[end.number].exit_ns.store(cost, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects;
    use quiescent_report::OURS;

    #[test]
    fn they_register_retire_and_are_all_joined() {
        static RETIRED: AtomicU64 = AtomicU64::new(0);
        let retire: fn() = || {
            RETIRED.fetch_add(1, Relaxed);
        };
        // Those that are measured: others may want a larger stack.
        let measured = subjects::all().into_iter();
        for subject in measured.filter(|it| it.waiting.is_some()) {
            RETIRED.store(0, Relaxed);
            let mut sleepers = Sleepers::start(7, Some(subject), Some(retire));
            assert_eq!((sleepers.reached(), RETIRED.load(Relaxed)), (7, 0));
            sleepers.step(Step::Register);
            sleepers.step(Step::Retire);
            assert_eq!(RETIRED.load(Relaxed), 3, "every second one");
            sleepers.step(Step::End);
            assert!(sleepers.threads.is_empty(), "all were joined");
            assert_eq!(sleepers.costs().len(), 7);
            // Where nothing is registered, a section may cost less than the clock tells.
            let registering = sleepers
                .costs()
                .iter()
                .any(|cost| of(&cost.register_ns) > 0.0);
            assert!(registering || subject.name != OURS);
            for cost in sleepers.costs() {
                assert!(cost.exit_ns.load(Relaxed) > 0, "{}", subject.name);
            }
        }
    }

    #[test]
    fn an_end_without_a_library_costs_something() {
        assert!(bare_exit_ns(5) > 0.0);
        drop(Sleepers::start(3, None, None)); // ends them
    }
}
