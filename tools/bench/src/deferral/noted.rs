//! Blocks that report their end, for `bench trickle`, `bench flood` and `bench stall`.
//!
//! A [`Noted`] is a block of 64 bytes with a destructor that reports to [`crate::measure::freed`]. A library
//! that frees plain memory without running code of the program (`quiescent` retires such blocks on a path of
//! their own) has counters instead, [`Verb::silent`]. C libraries free through a callback, which reports as
//! well: `one`, `many` and `hold` in `shims/retire.h` are the counterparts of the functions of this file.

use super::loops::{Defer, all_in};
use super::swap::{Swap, Value};
use super::{BLOCK, Verb};
use crate::measure::{clock, freed};
use crate::subjects::ReaderControl;
use crate::subjects::loops::used;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A block that reports when it is freed.
#[derive(Debug)]
pub(crate) struct Noted {
    handed_over: u64,
    _rest: MaybeUninit<[u64; 7]>,
}

impl Value for Noted {
    #[inline(always)]
    fn new(_: u64) -> Self {
        Self::handed_over(0)
    }

    #[inline(always)]
    fn handed_over(at: u64) -> Self {
        Noted {
            handed_over: at,
            _rest: MaybeUninit::uninit(),
        }
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.handed_over
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        freed::note(self.handed_over);
    }
}

/// The verb that hands over objects of this type in that way.
pub(crate) const fn verb<P: Defer<T>, T: Value>(name: &'static str) -> Verb {
    Verb {
        name,
        one: one::<P, T>,
        many: all_in::<P, T>,
        silent: None,
        massed: true,
        bytes: BLOCK,
        trickled: true,
    }
}

#[inline(never)]
fn one<P: Defer<T>, T: Value>(handed_over: u64) -> u64 {
    let peer = P::new();
    let object = P::make(T::handed_over(handed_over));
    let begin = clock::stamp();
    // SAFETY: just made, not shared yet.
    unsafe { peer.retire(object) };
    clock::stamp().saturating_sub(begin)
}

/// The one verb of another library.
#[cfg(feature = "peers")]
pub(crate) const fn retire<P: Defer<Noted>>() -> Verb {
    verb::<P, Noted>(super::RETIRE)
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
