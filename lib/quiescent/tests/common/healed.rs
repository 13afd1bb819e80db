//! Slower mechanisms that do the work of faster ones: a test that only waits for a result passes with either.
//!
//! | instead of | this happens | after | counted in |
//! |---|---|---|---|
//! | the driver's work, or a request to drive | a waiter takes the role | 0.1 s | `takeovers` |
//! | a reader's wake-up of a driver or the worker | the driver looks again | 10 s | `stalls` |
//! | the wake-up of a waiter | its time-out | 0.1 s | `late_wakeups` |
//! | a kick of the worker | the timer | a flush time | `late_wakeups` |
//! | the return of a callback | the stand-by takes the role | 1 s | `callbacks_stuck` |
//!
//! In a process in which no thread is stopped all of them stay 0: [`isolated`](super::isolated) asserts that
//! of every test that does not call [`expected`]. (A lost wake-up of `drain_word`, which `retire_wait` checks
//! every 10 ms, needs no counter: `drain` sleeps on the same word without a time-out.)
//!
//! A scheduler may starve a thread, too. So each event but a stall is allowed for [`STARVED`] in which some
//! thread of the machine waited for a processor (`/proc/pressure/cpu`): none on a machine that is idle, and
//! any number if the kernel does not say. A late wake-up, which is any round of the worker or return of a
//! waiter that came [`LATE`] after it was due, is allowed for so much of that time, and for so much of the
//! processor's time that this process has used: the worker may have been running something. (Under an
//! emulator all of it takes longer.) A test that makes the worker wait says so ([`runs_late`]).

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use quiescent::statistics;
use quiescent_core::domain::counters::LATE_NS;

/// A thread that is replaced was starved for longer.
const STARVED: Duration = Duration::from_millis(100);

/// What counts as late came later than this.
const LATE: Duration = Duration::from_nanos(LATE_NS);

static EXPECTED: AtomicBool = AtomicBool::new(false);
static LATER: AtomicBool = AtomicBool::new(false);

/// This test stops or starves threads, has callbacks that do not return, or reports of stalls.
pub fn expected() {
    EXPECTED.store(true, Ordering::Relaxed);
}

/// This test makes the worker wait, in a callback, while others are due, or lets the clock jump beyond the
/// time at which they are: they run late.
pub fn runs_late() {
    LATER.store(true, Ordering::Relaxed);
}

/// The time for which some thread of the machine has waited for a processor; `None` if the kernel does not
/// say.
fn starved() -> Option<Duration> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let some = text.lines().find(|line| line.starts_with("some"))?;
    let total = some.rsplit_once("total=")?.1;
    total.trim().parse().ok().map(Duration::from_micros)
}

/// The processor's time that a thread has used, and the time for which it was ready and had no processor, by
/// the kernel's account of it. `thread`: its folder.
fn schedstat(thread: &Path) -> [Duration; 2] {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let mut nanos = text.split_whitespace().map(|it| it.parse().unwrap_or(0));
    [(); 2].map(|()| Duration::from_nanos(nanos.next().unwrap_or(0)))
}

/// The time for which the calling thread was ready and had no processor.
fn delayed() -> Duration {
    schedstat(Path::new("/proc/thread-self"))[1]
}

/// The time for which the threads that this process has now have run, or have waited for a processor: an
/// account of what made one late, if none of them has ended meanwhile.
pub fn ready() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let times = tasks.flatten().map(|it| schedstat(&it.path()));
    times.map(|[ran, waited]| ran + waited).sum()
}

/// The processor's time that this process has used.
#[cfg(unix)]
fn used() -> Duration {
    // SAFETY: plain data.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable. (No clock, as some tests replace those.)
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let times = [usage.ru_utime, usage.ru_stime];
    let times = times.map(|it| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1000));
    times[0] + times[1]
}

/// Where the kernel does not say for how long threads have waited, it does not matter.
#[cfg(not(unix))]
fn used() -> Duration {
    Duration::ZERO
}

/// The number of late wake-ups that so much time explains.
pub fn late_within(time: Duration) -> u64 {
    (time.as_nanos() / LATE.as_nanos()) as u64
}

/// The delays of all threads of a step that has no other ones, in nanoseconds: a bound closer than that of
/// [`Start`], as no other process counts.
#[derive(Default)]
pub struct Delays(AtomicU64);

impl Delays {
    /// Runs a thread of the step.
    pub fn of<T>(&self, thread: impl FnOnce() -> T) -> T {
        let before = delayed();
        let result = thread();
        let delay = delayed() - before;
        self.0.fetch_add(delay.as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// The late wake-ups of the step that these explain.
    pub fn late(&self) -> u64 {
        late_within(Duration::from_nanos(self.0.load(Ordering::Relaxed)))
    }

    /// The step is over: roles were `taken` in it no more often than one of its threads was starved. (It may
    /// itself take half of the time after which waiters look.)
    pub fn explain(&self, taken: u64) {
        let delay = Duration::from_nanos(self.0.load(Ordering::Relaxed));
        let allowed = 2 * delay.as_millis() / STARVED.as_millis();
        assert!(
            u128::from(taken) <= allowed,
            "{taken} takeovers, and its threads waited for a processor for {delay:?}"
        );
    }
}

/// The start of a test.
pub struct Start(Option<Duration>);

impl Start {
    pub fn new() -> Start {
        Start(starved())
    }

    /// The test is over.
    pub fn check(self) {
        if !EXPECTED.load(Ordering::Relaxed) {
            self.check_in_any_case();
        }
    }

    /// The same for a part of a test, or the child of a fork, in which no thread is stopped.
    pub fn check_in_any_case(self) {
        let now = statistics();
        let starved = self.0.zip(starved()).map(|(before, now)| now - before);
        let allowed = starved.map_or(u128::MAX, |it| it.as_millis() / STARVED.as_millis());
        let healed = now.takeovers + now.callbacks_stuck;
        let late_allowed = starved.map_or(u64::MAX, |it| late_within(it + used()));
        let late = now.late_wakeups > late_allowed && !LATER.load(Ordering::Relaxed);
        assert!(
            now.stalls == 0 && u128::from(healed) <= allowed && !late,
            "a slower mechanism did the work of a faster one: {} stalls, {} takeovers, {} late wake-ups, {} \
             stuck callbacks; threads of the machine waited for a processor for {starved:?}, and this \
             process has run for {:?}",
            now.stalls,
            now.takeovers,
            now.late_wakeups,
            now.callbacks_stuck,
            used(),
        );
    }
}
