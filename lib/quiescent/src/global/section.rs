//! Sections of the process's domain: the fast path, and the slow calls, which take no arguments so that the
//! fast path needs no registers for them.

use super::{env, local, with_local};
use quiescent_core::reader::counted::{Counted, Entered};
use quiescent_core::reader::local::Local;
use quiescent_core::reader::word::{self, Reader};

/// Opens a section and returns the word that [`unlock`] closes.
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub fn lock() -> &'static Reader {
    let reader = with_local(Local::reader);
    match word::begin(reader) {
        true => reader,
        false => lock_slowly(),
    }
}

#[cfg_attr(feature = "locations", track_caller)]
#[cold]
#[inline(never)]
fn lock_slowly() -> &'static Reader {
    env().threads.lock_slowly(&local())
}

/// Closes the section that returned `reader`.
#[inline(always)]
pub fn unlock(reader: &'static Reader) {
    if word::end(reader) {
        unlock_slowly(reader);
    }
}

/// The rare part of [`unlock`]: a driver waits, the word is a sink, or the thread owes destructors.
#[cold]
#[inline(never)]
pub fn unlock_slowly(reader: &'static Reader) {
    env().unlock_slowly(&local(), reader);
}

/// Ends this section and begins another if a driver waits for that; returns the new word. Otherwise it only
/// loads the flag, and the section continues.
#[cfg_attr(feature = "locations", track_caller)]
#[inline(always)]
pub fn repin(reader: &'static Reader) -> &'static Reader {
    if word::is_flagged(reader) {
        return repin_slowly(reader);
    }
    reader
}

#[cfg_attr(feature = "locations", track_caller)]
#[cold]
#[inline(never)]
fn repin_slowly(reader: &'static Reader) -> &'static Reader {
    env().repin_slowly(&local(), reader)
}

/// A section of an `Srcu` begins, which ends on this thread.
#[inline(always)]
pub fn enter(counted: &'static Counted) -> Entered {
    let count = counted.joined();
    match with_local(|local| local.noted_tally(counted)) {
        // SAFETY: a tally that was noted is the thread's own and lives for ever.
        Some(tally) => Entered::on(unsafe { &*tally }, count),
        None => enter_anew(counted, count),
    }
}

/// It ends. True if a driver waits for its count.
#[inline(always)]
#[must_use = "a driver may be waiting"]
pub fn leave(counted: &'static Counted, section: Entered) -> bool {
    match section.leave() {
        Some(count) => counted.is_flagged(count),
        None => leave_slowly(counted, section),
    }
}

/// A section of an `Srcu` begins, which may end on any thread. The count that it has joined, which it has to
/// leave.
#[inline(always)]
pub fn enter_sent(counted: &'static Counted) -> usize {
    let count = counted.joined();
    match with_local(|local| local.noted_tally(counted)) {
        // SAFETY: as above.
        Some(tally) => unsafe { &*tally }.sent.enter(count),
        None => enter_sent_anew(counted, count),
    }
    count
}

/// It ends, on whatever thread. True if a driver waits for its count.
#[inline(always)]
#[must_use = "a driver may be waiting"]
pub fn leave_sent(counted: &'static Counted, count: usize) -> bool {
    match with_local(|local| local.noted_tally(counted)) {
        // SAFETY: as above.
        Some(tally) => unsafe { &*tally }.sent.leave(count & 1),
        None => return leave_sent_anew(counted, count & 1),
    }
    counted.is_flagged(count)
}

#[inline(never)]
fn enter_anew(counted: &'static Counted, count: usize) -> Entered {
    counted.enter_here_anew(count, &local(), &env().threads)
}

#[cold]
#[inline(never)]
fn leave_slowly(counted: &'static Counted, section: Entered) -> bool {
    counted.leave_here_slowly(section, &local())
}

#[inline(never)]
fn enter_sent_anew(counted: &'static Counted, count: usize) {
    counted.enter_anew(count, &local(), &env().threads);
}

#[inline(never)]
fn leave_sent_anew(counted: &'static Counted, count: usize) -> bool {
    counted.leave_anew(count, &local(), &env().threads)
}
