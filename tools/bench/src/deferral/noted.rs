//! Blocks that report their end, for `bench trickle`, `bench flood` and `bench stall`.
//!
//! A [`Noted`] is a block of 64 bytes with a destructor that reports to [`crate::measure::freed`]. A library
//! that frees plain memory without running code of the program (`quiescent` retires such blocks on a path of
//! their own) has counters instead, [`Verb::silent`]. C libraries free through a callback, which reports as
//! well: `one`, `many` and `hold` in `shims/retire.h` are the counterparts of the functions of this file.

use super::loops::Boxed;
use super::swap::Swap;
use super::{BLOCK, Verb};
use crate::measure::{clock, freed};
use crate::subjects::ReaderControl;
use crate::subjects::loops::{turn, used};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A block that reports when it is freed.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) handed_over: u64,
    _rest: MaybeUninit<[u64; 7]>,
}

impl Noted {
    /// A new one, to be given to [`freed::note`] with this at its end.
    pub(crate) fn new(handed_over: u64) -> Self {
        Noted {
            handed_over,
            _rest: MaybeUninit::uninit(),
        }
    }

    /// The same in a box.
    pub(crate) fn boxed(handed_over: u64) -> Box<Self> {
        Box::new(Self::new(handed_over))
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        freed::note(self.handed_over);
    }
}

/// One way of handing over.
pub(crate) trait HandOver {
    /// What is handed over; made outside what is timed.
    type Object;
    /// A new one; what [`freed::note`] is to be given at its end.
    fn make(handed_over: u64) -> Self::Object;
    /// Hands it over.
    fn hand_over(object: Self::Object);
}

/// The verb of that way.
pub(crate) const fn verb<H: HandOver>(name: &'static str) -> Verb {
    Verb {
        name,
        one: one::<H>,
        many: many::<H>,
        silent: None,
        massed: true,
        bytes: BLOCK,
        trickled: true,
    }
}

#[inline(never)]
fn one<H: HandOver>(handed_over: u64) -> u64 {
    let object = H::make(handed_over);
    let begin = clock::stamp();
    H::hand_over(object);
    clock::stamp().saturating_sub(begin)
}

#[inline(never)]
pub(crate) fn many<H: HandOver>(n: u64) {
    let mut i = n;
    while i != 0 {
        H::hand_over(H::make(0));
        turn(&mut i);
        i -= 1;
    }
}

impl<B: Boxed> HandOver for B {
    type Object = Box<Noted>;

    #[inline(always)]
    fn make(handed_over: u64) -> Box<Noted> {
        Noted::boxed(handed_over)
    }

    #[inline(always)]
    fn hand_over(noted: Box<Noted>) {
        // SAFETY: from a box, not shared yet.
        unsafe { B::new().retire(Box::into_raw(noted)) };
    }
}

/// The one verb of another library.
#[cfg(feature = "peers")]
pub(crate) const fn retire<H: HandOver>() -> Verb {
    verb::<H>(super::RETIRE)
}

/// Says that it is in its section, and waits until the control stops it.
pub(crate) fn stay(control: &ReaderControl) {
    control.heartbeat.0.store(1, Ordering::Release);
    while control.stop.0.load(Ordering::Acquire) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stays in a section until the control stops it.
pub(crate) fn hold<S: Swap>(control: &ReaderControl) {
    let cell = S::new();
    let mut held = cell.enter();
    used(cell.read(&mut held));
    stay(control);
    used(cell.read(&mut held));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deferral;
    use crate::measure::freed::ALONE;
    use crate::measure::threads;

    #[test]
    fn a_noted_block_is_a_block() {
        assert_eq!(size_of::<Noted>(), 64);
    }

    #[test]
    fn every_verb_tells_or_counts_what_was_freed() {
        let _alone = ALONE.lock().unwrap();
        for subject in deferral::all() {
            // Frees what other tests of this process have left.
            (subject.settle)();
            for verb in subject.verbs {
                let before = freed::count();
                freed::take_delays();
                // Joined, so that its thread-locals are gone too: some libraries hand their bags over there.
                let producer = threads::spawn("producer", move || {
                    (subject.attach)();
                    (verb.one)(clock::monotonic_ns());
                    (verb.many)(300);
                    (subject.finish)();
                    (subject.detach)();
                });
                producer.unwrap().join().unwrap();
                (subject.settle)();
                let (name, freed) = (subject.name, freed::count() - before);
                match verb.silent {
                    None => assert_eq!((freed, freed::take_delays().len()), (301, 1), "{name}"),
                    Some(held) => assert_eq!((freed, held().0), (0, 0), "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_thread_that_stays_in_a_section_leaves_it_when_stopped() {
        let _alone = ALONE.lock().unwrap();
        for subject in deferral::all() {
            let Some(hold) = subject.hold else { continue };
            let control = ReaderControl::default();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    (subject.attach)();
                    hold(&control);
                    (subject.detach)();
                });
                while control.heartbeat.0.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
                control.stop.0.store(1, Ordering::Release);
            });
        }
    }
}
