//! Readers of another kind: words that this test writes as another library's inlined code does.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Instant;

use quiescent_engine::Seen;

use super::*;
use crate::domain::life::Domain;
use crate::prim::{AtomicU32, AtomicU64};
use crate::reader::foreign::ForeignWords;

const SLOTS: usize = 8;
const GENERATION: u64 = 1 << 32;
const ASLEEP: u32 = 1;

/// The nesting is in the low half of a word, a generation in the high half.
#[derive(Debug)]
struct Words {
    words: [AtomicU64; SLOTS],
    generation: AtomicU64,
    /// A driver sleeps.
    sleeper: AtomicU32,
    slept: AtomicU32,
}

impl Words {
    /// Begins a section of this slot, which ends the one that is open.
    fn enter(&self, slot: usize) {
        self.put(slot, self.generation.load(Ordering::Acquire) | 1);
    }

    fn exit(&self, slot: usize) {
        self.put(slot, 0);
    }

    /// A section has begun or ended; wakes the driver.
    fn put(&self, slot: usize, word: u64) {
        self.words[slot].store(word, Ordering::Release);
        full_fence();
        if self.sleeper.swap(0, Ordering::AcqRel) == ASLEEP {
            prim::futex_wake(&self.sleeper);
        }
    }
}

impl ForeignWords for Words {
    fn observe(&self, slot: CpuId) -> Seen {
        let word = self.words[slot as usize].load(Ordering::Acquire);
        Seen {
            outside: word.is_multiple_of(GENERATION),
            stamp: word / GENERATION,
        }
    }

    fn advance(&self) {
        self.generation.fetch_add(GENERATION, Ordering::AcqRel);
    }

    fn execute_fences(&self) -> bool {
        true
    }

    fn arm(&self, _: &mut dyn Iterator<Item = CpuId>) -> u32 {
        u32::from(self.sleeper.swap(ASLEEP, Ordering::AcqRel) != ASLEEP)
    }

    fn hears(&self) -> bool {
        true
    }

    fn sleep(&self, timeout: Duration) {
        self.slept.fetch_add(1, Ordering::Relaxed);
        prim::futex_wait(&self.sleeper, ASLEEP, Some(timeout));
    }

    fn wake(&self) {
        self.sleeper.store(0, Ordering::Release);
        prim::futex_wake(&self.sleeper);
    }

    fn leave(&self, slot: CpuId) {
        self.words[slot as usize].store(0, Ordering::Release);
    }

    #[cfg(feature = "fork")]
    fn forked(&self, _: Option<CpuId>) {}
}

/// A domain of such readers.
fn foreign() -> (&'static Words, &'static Domain) {
    let words = Box::leak(Box::new(Words {
        words: [const { AtomicU64::new(0) }; SLOTS],
        generation: AtomicU64::new(0),
        sleeper: AtomicU32::new(0),
        slept: AtomicU32::new(0),
    }));
    (words, Domain::foreign(&program().env, words))
}

/// The slot of the calling thread.
fn own_slot(domain: &'static Domain) -> &'static crate::reader::threads::Slot {
    let threads = &domain.env().threads;
    let slot = threads.own_slot_or_register(&threads.local());
    slot.expect("there are few threads")
}

const LONG: Duration = Duration::from_secs(60);

/// A thread that is in a section while this runs, with the number of its slot; it is there already.
fn inside(
    (words, domain): (&'static Words, &'static Domain),
    run: impl FnOnce(usize) + Send + 'static,
) -> std::thread::JoinHandle<()> {
    let (begun, has_begun) = channel();
    let reader = std::thread::spawn(move || {
        let slot = own_slot(domain).cpu() as usize;
        words.enter(slot);
        begun.send(()).expect("the test waits");
        run(slot);
        words.exit(slot);
    });
    has_begun.recv().expect("the reader runs");
    reader
}

/// A grace period waits for the section of another thread. The driver sleeps, and is woken by its end.
#[test]
fn a_section_of_another_kind_is_waited_for() {
    let (words, domain) = foreign();
    static OVER: AtomicBool = AtomicBool::new(false);
    let reader = inside((words, domain), |_| {
        while words.slept.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        OVER.store(true, Ordering::SeqCst);
    });
    let start = Instant::now();
    assert_eq!(domain.state().synchronize(How::within(LONG)), Ok(()));
    assert!(OVER.load(Ordering::SeqCst), "it has ended too early");
    assert!(start.elapsed() < LONG);
    assert!(reader.join().is_ok());
}

/// A thread that is inside whenever a scan looks has begun another section meanwhile: that is not waited for.
#[test]
fn later_sections_have_another_generation() {
    let (words, domain) = foreign();
    static ENDED: AtomicBool = AtomicBool::new(false);
    let reader = inside((words, domain), |slot| {
        while !ENDED.load(Ordering::Acquire) {
            words.enter(slot); // the end of the section before, and the beginning of the next
        }
    });
    let passed = domain
        .state()
        .synchronize(How::within(Duration::from_secs(10)));
    ENDED.store(true, Ordering::Release);
    assert_eq!(passed, Ok(()));
    assert!(reader.join().is_ok());
}

/// Grace periods do not wait for a thread that is no reader any more, wherever its word was.
#[test]
fn a_reader_that_leaves_is_not_waited_for() {
    let (words, domain) = foreign();
    let slot = own_slot(domain);
    words.enter(slot.cpu() as usize);
    let waits = domain
        .state()
        .synchronize(How::within(Duration::from_millis(20)));
    assert!(
        matches!(waits, Err(SyncError::TimedOut { .. })),
        "{waits:?}"
    );
    domain.leave_foreign(slot);
    assert_eq!(domain.state().synchronize(How::within(LONG)), Ok(()));
}
