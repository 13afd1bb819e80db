//! What a callback does after it has completed its entry, sometimes: what callbacks may do, such as read,
//! queue itself again in another way, panic.

use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::time::Duration;

use quiescent::{Global, Retired, intrusive};

use super::reader;
use crate::book::ending::{head_of_entry, ran};
use crate::book::entry::{Entry, OLDEST};
use crate::book::kind::Kind;
use crate::book::numbers::Numbers;
use crate::book::periods::{Own, Periods, Whose};
use crate::book::world::World;

/// It continues under the same grace periods, if it keeps them or they always exist.
pub fn follow(world: &'static World, entry: &'static Entry, own: Own) {
    let under = entry.under();
    let always = Own::of_static(under);
    // A dropped target can no longer be asked for its count.
    let counted = !matches!(always, Own::None);
    let may_panic = world.options.panics && !entry.kind().waits() && counted;
    let mut numbers = draw(world.options.seed, entry);
    if numbers.once_in(16) {
        reader::glance(world, &mut numbers);
    }
    let asks = may_panic && world.options.broken.is_none();
    match if counted { always } else { own } {
        Own::None => entry.release(),
        Own::Process => go_on(world, entry, &Whose::Static(&Global), asks, &mut numbers),
        Own::Srcu(srcu) => go_on(world, entry, &srcu, asks, &mut numbers),
        Own::Domain(domain) => go_on(world, entry, &domain, asks, &mut numbers),
    }
    if may_panic && numbers.once_in(500) && !std::thread::panicking() {
        world.count_panic(under, entry.kind());
        panic();
    }
}

/// What this callback draws. Elements without a number have the same word; each has a birth of its own.
fn draw(seed: u64, entry: &Entry) -> Numbers {
    Numbers::new(seed, entry.word() ^ entry.birth().rotate_left(32))
}

/// Panics without the hook, which would print.
pub fn panic() {
    resume_unwind(Box::new(()));
}

fn go_on<P: Periods>(
    world: &'static World,
    entry: &'static Entry,
    own: &Whose<P>,
    asks: bool,
    numbers: &mut Numbers,
) {
    if asks {
        ask_for_too_much(world, &**own, numbers);
    }
    // Only where other actors let callbacks run elsewhere: otherwise no such thread may exist yet.
    let kinds = &world.options.kinds;
    let elsewhere = kinds.iter().any(|kind| !kind.waits() && !kind.plain());
    if elsewhere && numbers.once_in(4) && entry.age() < OLDEST && !world.stopped() {
        queue_again(world, entry, own, numbers);
    } else {
        entry.release();
    }
}

/// Calls that wait are refused inside a callback; `drain` does what it can without waiting.
fn ask_for_too_much<P: Periods>(world: &World, own: &P, numbers: &mut Numbers) {
    match numbers.below(256) {
        0 => assert!(
            own.try_barrier().is_err(),
            "waited for a barrier in a callback"
        ),
        1 => assert!(
            own.try_synchronize().is_err(),
            "waited for a grace period in a callback"
        ),
        2 if world.may_drain(P::READER) => {
            own.drain(Duration::from_micros(numbers.next() % 2000));
        }
        3 => _ = own.start_grace_period().is_done(),
        _ => {}
    }
}

/// Completes an entry when it is dropped.
struct Ager {
    entry: &'static Entry,
    word: u64,
    own: Own,
}

impl Drop for Ager {
    fn drop(&mut self) {
        let own = std::mem::replace(&mut self.own, Own::None);
        ran(self.entry, self.word, own);
    }
}

fn queue_again<P: Periods>(
    world: &World,
    entry: &'static Entry,
    own: &Whose<P>,
    numbers: &mut Numbers,
) {
    let word = entry.queue_again(world.now());
    world.count_queued(entry.kind());
    // Made where it is used: when one is dropped, the entry is completed.
    let ager = || Ager {
        entry,
        word,
        own: P::own(own.clone()),
    };
    let callback = || {
        let ager = ager();
        move || drop(ager)
    };
    let retired = || {
        let ager = NonNull::from(Box::leak(Box::new(ager())));
        // SAFETY: just made, never published.
        unsafe { Retired::from_raw_in(ager, P::clone(own)) }
    };
    let (head, run) = (entry.head(), head_of_entry);
    // In a scenario without hurried kinds callbacks are not hurried either.
    let hurried = world.options.kinds.contains(&Kind::DeferHurry);
    match numbers.below(if hurried { 8 } else { 3 }) {
        0 => own.defer_lazy(callback()),
        1 => retired().retire(),
        // SAFETY: entries live for ever; the thread that completed the entry holds its free head.
        2 => unsafe { intrusive::defer_lazy_in(&**own, head, run) },
        3 => own.defer(callback()),
        4 => own.defer_hurry(callback()),
        // SAFETY: as for the other head.
        5 => unsafe { intrusive::defer_in(&**own, head, run) },
        // SAFETY: as for the other head.
        6 => unsafe { intrusive::defer_hurry_in(&**own, head, run) },
        _ => retired().retire_hurry(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::entry::{DOMAIN, NO_NUMBER};

    #[test]
    fn callbacks_draw_each_for_itself() {
        for seed in 0..20 {
            let panics = |birth| {
                let entry = Entry::default();
                assert!(entry.take(birth, Kind::Mapped, DOMAIN));
                entry.queue(NO_NUMBER, 0);
                draw(seed, &entry).once_in(500)
            };
            let times = (0..10_000).filter(|&birth| panics(birth)).count();
            assert!((5..60).contains(&times), "seed {seed}: {times}");
        }
    }
}
