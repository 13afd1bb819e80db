//! What a registration looks at, counted.

use std::cell::Cell;

use super::*;

thread_local! {
    /// Leaves that claims of this thread have looked at.
    pub(super) static LOOKS: Cell<u64> = const { Cell::new(0) };
}

fn looks_of<T>(what: impl FnOnce() -> T) -> (T, u64) {
    let before = LOOKS.get();
    let result = what();
    (result, LOOKS.get() - before)
}

fn claim(slots: &'static Slots) -> (&'static Slot, u64) {
    let (slot, looks) = looks_of(|| slots.claim());
    (slot.expect("there are 65 534"), looks)
}

fn fresh() -> &'static Slots {
    Box::leak(Box::new(Slots::new()))
}

#[test]
fn a_registration_looks_at_one_leaf_however_many_are_full() {
    let slots = fresh();
    let mut looks = 0;
    for number in 0..5_000 {
        let (slot, looked) = claim(slots);
        assert_eq!(slot.cpu(), number + 2, "the first two are the crowd's");
        assert!(looked <= 2, "{looked} leaves for registration {number}");
        looks += looked;
    }
    // One each, and one more for each leaf that was found full.
    assert_eq!(looks, 5_000 + 5_002 / 64);
    assert_eq!(slots.registered(), 5_000);
}

#[test]
fn slots_given_back_anywhere_are_found_at_once() {
    let slots = fresh();
    let all: Vec<_> = (0..5_000).map(|_| claim(slots).0).collect();
    // Back and forth between the two ends: the worst for a search that goes on where the last one ended.
    // A leaf that was freed and filled again is looked at once more before it is known to be full.
    for round in 0..100 {
        let slot = all[if round % 2 == 0 { 3 } else { 4_900 }];
        slots.release(slot);
        let (again, looked) = claim(slots);
        assert_eq!(again.cpu(), slot.cpu());
        assert!(looked <= 2, "{looked} leaves");
    }
    // Holes everywhere are filled before a leaf is added.
    let cpus = slots.cpus();
    all.iter().step_by(7).for_each(|slot| slots.release(slot));
    let (_, looked) = looks_of(|| {
        for _ in all.iter().step_by(7) {
            claim(slots);
        }
    });
    assert_eq!((slots.cpus(), slots.registered()), (cpus, 5_000));
    assert!(looked <= 5_000 / 7 + 80, "{looked}");
}

#[test]
fn no_slot_is_no_search() {
    let slots = fresh();
    slots.limit_leaves(2);
    let all: Vec<_> = std::iter::from_fn(|| slots.claim()).collect();
    assert_eq!(all.len(), 2 * LEAF_SLOTS - 2);
    let (none, looked) = looks_of(|| slots.claim());
    assert!(none.is_none() && looked == 0);
    slots.release(all[100]);
    assert_eq!(claim(slots).0.cpu(), all[100].cpu());
}

#[test]
fn leaves_are_occupied_from_the_first_claim_until_the_engine_says_so() {
    let slots = fresh();
    let all: Vec<_> = (0..200).map(|_| claim(slots).0).collect();
    assert_eq!((slots.occupied(0), slots.occupied(1)), (0b1111, 0));
    all.iter().for_each(|slot| slots.release(slot));
    assert_eq!(slots.occupied(0), 0b1111, "nobody has looked yet");
    (0..4).for_each(|leaf| slots.vacated(leaf));
    assert_eq!(slots.occupied(0), 0b0001, "the crowd's leaf stays");
    let _ = claim(slots);
    slots.vacated(0);
    assert_eq!(slots.occupied(0), 0b0001);
}
