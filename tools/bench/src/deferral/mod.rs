//! Subjects that reclaim later: those of `bench retire` and `bench mixed`.
//!
//! As in [`crate::subjects`], a subject is a table of plain functions, each a whole loop with the library's
//! call inlined: Rust libraries through `loops.rs`, C libraries through the same loops in `shims/retire.h`.
//! What is retired is a block of 64 bytes, of which the first free word is written; where a library wants a
//! head in the object, the head is part of the 64 bytes, and where it adds one (sdd, arc-swap, hazarc), the
//! block is larger. An *owning* object is a block that owns another: a `String` of 32 bytes, with `Drop`.
//!
//! Each library is used in the cheapest way that is correct: ck's program polls every 64 calls; crossbeam and
//! sdd need a guard a call (sdd reclaims nothing without one), and so does kovan (a thread's pins free what
//! others handed to it); seize and haphazard retire without a guard. `papaya-seize` is seize as papaya's maps
//! use it: a default collector, every operation under a guard. arc-swap and hazarc have no retiring:
//! their call puts an `Arc` in the place of another, which is dropped at once; `arc-swap-cache` and
//! `hazarc-cache` read through a `Cache`.
//! `finish` is the last action of each producer, `settle` the last action of the program, after which
//! everything is freed: a barrier where there is one; a sentinel behind everything else (crossbeam, sdd); "no
//! thread is here any more" (seize).

use crate::measure::threads;
use crate::peers;
use crate::subjects::{Language, ReaderControl};
use pace::Pace;
use quiescent_report::OURS;

pub mod buffer;
#[cfg(have_c)]
mod c_peer;
pub(crate) mod loops;
pub(crate) mod noted;
pub mod pace;
pub mod rest;
pub mod swap;

#[cfg(have_c)]
pub(crate) use c_peer::c_peer;
pub use loops::{bare, malloc_free};
use swap::{Content, Place, Swaps};

/// One library that reclaims later.
#[derive(Debug, Clone, Copy)]
pub struct Deferring {
    /// The name in reports.
    pub name: &'static str,
    /// Which bare loop is subtracted from instruction counts.
    pub language: Language,
    /// Registers the calling thread, where the library wants that.
    pub attach: fn(),
    /// Undoes `attach`.
    pub detach: fn(),
    /// What a producer does at its end, before `detach`.
    pub finish: fn(),
    /// What is done last, by a thread that is not attached, when all producers have ended.
    pub settle: fn(),
    /// Fills the slots with new blocks.
    pub(crate) make: fn(&mut [*mut ()]),
    /// Retires the blocks of `make`, once.
    pub(crate) retire: unsafe fn(&[*mut ()]),
    /// The same, and how many [`crate::measure::clock::stamp`]s each call took.
    pub(crate) stamped: unsafe fn(&[*mut ()], &mut [u64]),
    /// Makes and retires so many blocks.
    pub all_in: fn(u64),
    /// Makes and retires so many owning objects.
    pub owning: Option<fn(u64)>,
    /// Reading beside updating, for each content of a cell.
    pub(crate) swaps: Swaps,
    /// Makes and hands over so many blocks as callbacks: `call_rcu` and its like.
    pub call: Option<fn(u64)>,
    /// The ways of handing over blocks whose end is noticed.
    pub verbs: &'static [Verb],
    /// Stays in a section until the control stops it; beats once when it is in it.
    pub hold: Option<fn(&ReaderControl)>,
    /// Whether the library says that this thread blocks a grace period.
    pub names: Option<fn(u32) -> bool>,
    /// Waits until everything handed over before is freed, where a library can; by a thread that is not
    /// attached.
    pub barrier: Option<fn()>,
}

/// A way of handing over a block whose end is noticed ([`crate::measure::freed`]).
#[derive(Debug, Clone, Copy)]
pub struct Verb {
    /// The name in reports; [`RETIRE`] where a library has only one.
    pub name: &'static str,
    /// Makes a block and hands it over: the [`crate::measure::clock::stamp`]s that the call took. At its end,
    /// the block tells what is given here.
    pub one: fn(u64) -> u64,
    /// Makes and hands over so many. At its end, each tells 0.
    pub many: fn(u64),
    /// Blocks are freed without a report: the number held, and their bytes, by the library's own counters.
    pub silent: Option<fn() -> (u64, u64)>,
    /// Meant for many blocks: measured behind a stalled reader, and in a flood if they are [`BLOCK`]s.
    pub massed: bool,
    /// Bytes of one.
    pub bytes: u64,
    /// Measured in a trickle, where those that only differ at a limit do not differ.
    pub trickled: bool,
}

/// Bytes of a block.
pub const BLOCK: u64 = 64;

/// The name of the verb that only frees memory.
pub const RETIRE: &str = "retire";

impl Deferring {
    /// The verb of this name.
    ///
    /// # Errors
    /// A text that names those there are.
    pub fn verb(&self, name: &str) -> Result<Verb, String> {
        let found = self.verbs.iter().find(|verb| verb.name == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = self.verbs.iter().map(|verb| verb.name).collect();
            let known = known.join(", ");
            format!("{} has no verb `{name}`; there are: {known}", self.name)
        })
    }

    /// Reading beside updating a cell with this in it, where the library is measured with it.
    pub fn beside(&self, content: Content) -> Option<Beside> {
        self.swaps.0[content as usize]
    }
}

impl threads::Member for Deferring {
    fn attach(&self) {
        (self.attach)();
    }

    fn detach(&self) {
        (self.finish)();
        (self.detach)();
    }

    fn settle(&self) {
        (self.settle)();
    }
}

/// A pointer that some threads read while another replaces what it points to.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// Reads until the control stops it: enter, load, read, leave. How often.
    pub read: fn(&ReaderControl) -> u64,
    /// Replaces and retires whenever that is due.
    pub update: fn(&mut Pace<'_>),
    /// The same, each after a read in a section: by [`Place`], of libraries whose loops have that.
    pub retire: Option<[fn(&mut Pace<'_>); 2]>,
}

impl Beside {
    /// Reads, replaces and retires in this place, so many times; `None` where the library's loops do not.
    pub fn retire_in(&self, place: Place) -> Option<impl Fn(u64) + Sync + use<>> {
        let turns = self.retire?[place as usize];
        Some(move |n| turns(&mut Pace::count(n)))
    }
}

/// Turns between two looks at the stop flag in [`Beside`]; for `read`, the same number as in
/// `shims/retire.h`.
pub const TURNS_A_LOOK: u64 = 64;

/// Every subject of this build, ours first.
pub fn all() -> Vec<Deferring> {
    peers::all()
        .into_iter()
        .flat_map(|it| it.deferring)
        .collect()
}

/// Ours alone, or all.
pub fn selected(compare: bool) -> Vec<Deferring> {
    let mut subjects = all();
    subjects.retain(|subject| compare || subject.name.starts_with(OURS));
    subjects
}

/// The subject of this name, of [`all`], or [`malloc_free`].
pub fn named(name: &str) -> Option<Deferring> {
    let mut known = all().into_iter().chain([malloc_free()]);
    known.find(|subject| subject.name == name)
}

/// The same, for a process that was asked to measure it.
///
/// # Errors
/// A text with the remedy.
pub fn find(name: &str) -> Result<Deferring, String> {
    named(name).ok_or_else(|| format!("`{name}` is not in this build; see `host.absent_peers`"))
}

/// These subjects' verbs that are meant for many blocks.
pub fn massed(subjects: &[Deferring]) -> Vec<(Deferring, Verb)> {
    let verbs = |subject: &Deferring| subject.verbs.iter().filter(|verb| verb.massed);
    let all = subjects
        .iter()
        .flat_map(|subject| verbs(subject).map(|verb| (*subject, *verb)));
    all.collect()
}

/// Blocks made ahead, to be retired by the thread that made them. Dropping them instead leaks them.
#[derive(Debug)]
pub struct Blocks {
    subject: Deferring,
    blocks: Vec<*mut ()>,
    made: bool,
}

impl Blocks {
    /// Room for so many blocks, with memory that is touched already.
    pub fn room(subject: Deferring, blocks: usize) -> Self {
        let mut room = vec![std::ptr::dangling_mut(); blocks];
        // A freshly mapped page would cost its first writer a fault in the middle of a measurement.
        std::hint::black_box(&mut room).fill(std::ptr::null_mut());
        Blocks {
            subject,
            blocks: room,
            made: false,
        }
    }

    /// Makes the blocks. (Those made before and not retired leak.)
    pub fn make(&mut self) {
        (self.subject.make)(&mut self.blocks);
        self.made = true;
    }

    /// Retires what was made: one call after the other.
    pub fn retire(&mut self) {
        // SAFETY: blocks of this subject's `make`, once.
        self.once(|subject, blocks| unsafe { (subject.retire)(blocks) });
    }

    /// The same through one function of a known name, for [`crate::instructions`].
    pub(crate) fn retire_counted(&mut self) {
        // SAFETY: as in `retire`.
        self.once(|subject, blocks| unsafe { quiescent_bench_counted(subject.retire, blocks) });
    }

    /// Retires what was made, and gives how many stamps each call took.
    pub fn stamped(&mut self, took: &mut Vec<u64>) {
        took.clear();
        self.once(|subject, blocks| {
            took.resize(blocks.len(), 0);
            // SAFETY: as in `retire`; there is a place for every block.
            unsafe { (subject.stamped)(blocks, took) };
        });
    }

    /// What was made, for one that retires it.
    fn once(&mut self, retire: impl FnOnce(&Deferring, &[*mut ()])) {
        if std::mem::take(&mut self.made) {
            retire(&self.subject, &self.blocks);
        }
    }
}

/// Name of the function inside which callgrind counts.
pub(crate) const COUNTED: &str = "quiescent_bench_counted";

/// Calls `retire`. Callgrind counts from its beginning to its end, and only there.
///
/// # Safety
/// As `retire`.
#[inline(never)]
#[unsafe(no_mangle)]
unsafe fn quiescent_bench_counted(retire: unsafe fn(&[*mut ()]), blocks: &[*mut ()]) {
    // SAFETY: the caller's promise.
    unsafe { retire(blocks) };
    // What follows keeps the call from becoming a jump, which would end the function too early.
    std::hint::black_box(());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::freed::ALONE;
    use std::sync::atomic::Ordering::Relaxed;

    /// In a thread of its own, so that `attach` meets a fresh one.
    fn producer(subject: Deferring, work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (subject.attach)();
                work();
                (subject.finish)();
                (subject.detach)();
            });
        });
    }

    #[test]
    fn every_loop_ends_and_settles() {
        let _alone = ALONE.lock().unwrap();
        for subject in all() {
            producer(subject, || {
                let mut blocks = Blocks::room(subject, 300);
                let mut took = Vec::new();
                blocks.make();
                blocks.retire();
                blocks.make();
                blocks.retire_counted();
                blocks.make();
                blocks.stamped(&mut took);
                assert_eq!(took.len(), 300);
                blocks.stamped(&mut took);
                assert!(took.is_empty(), "{}: nothing was made", subject.name);
                (subject.all_in)(300);
                if let Some(owning) = subject.owning {
                    owning(300);
                }
            });
            (subject.settle)();
        }
    }

    #[test]
    fn reads_beside_updates() {
        let _alone = ALONE.lock().unwrap();
        for subject in all() {
            let Some(beside) = subject.beside(Content::Block) else {
                continue;
            };
            // On a busy machine a thread may not have run at all for some time.
            let done = |ms| {
                let (reader, updater) = (ReaderControl::default(), ReaderControl::default());
                std::thread::scope(|scope| {
                    let reading = scope.spawn(|| {
                        (subject.attach)();
                        let reads = (beside.read)(&reader);
                        (subject.detach)();
                        reads
                    });
                    let updating = scope.spawn(|| {
                        (subject.attach)();
                        let mut pace = Pace::new(&updater.stop.0, None);
                        (beside.update)(&mut pace);
                        (subject.finish)();
                        (subject.detach)();
                        pace.done()
                    });
                    std::thread::sleep(std::time::Duration::from_millis(ms));
                    reader.stop.0.store(1, Relaxed);
                    let reads = reading.join();
                    updater.stop.0.store(1, Relaxed);
                    reads.unwrap().min(updating.join().unwrap())
                })
            };
            let mut times = [20, 200, 2000, 20_000].into_iter();
            assert!(times.any(|ms| done(ms) >= TURNS_A_LOOK), "{}", subject.name);
            (subject.settle)();
        }
    }
}
