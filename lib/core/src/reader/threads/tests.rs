//! The number of leaves that a registration inspects, and other tests of slots.

use std::cell::Cell;

use quiescent_engine::Seen;

use super::*;

thread_local! {
    /// Number of leaves that claims of this thread have inspected.
    pub(super) static INSPECTED: Cell<u64> = const { Cell::new(0) };
}

fn inspections_of<T>(what: impl FnOnce() -> T) -> (T, u64) {
    let before = INSPECTED.get();
    let result = what();
    (result, INSPECTED.get() - before)
}

fn claim(slots: &'static Slots) -> (&'static Slot, u64) {
    let (slot, inspected) = inspections_of(|| slots.claim());
    (slot.expect("there are 65 534"), inspected)
}

fn fresh() -> &'static Slots {
    Box::leak(Box::new(Slots::new(Box::leak(Box::new(SlotLeaves::new())))))
}

#[test]
fn a_registration_inspects_one_leaf_unless_it_is_full() {
    let slots = fresh();
    let mut inspected = 0;
    for number in 0..5_000 {
        let (slot, looked) = claim(slots);
        assert_eq!(
            slot.cpu(),
            number + 2,
            "the first two are the unregistered readers'"
        );
        assert!(looked <= 2, "{looked} leaves for registration {number}");
        inspected += looked;
    }
    // One for each registration, and one more for each leaf that was found full.
    assert_eq!(inspected, 5_000 + 5_002 / 64);
    assert_eq!(slots.registered(), 5_000);
}

#[test]
fn claimed_slots_are_listed_without_the_unregistered_readers() {
    let slots = fresh();
    let numbers = || slots.claimed().map(Slot::cpu).collect::<Vec<_>>();
    assert_eq!(numbers().len(), 0);
    slots.unregistered.enter(0);
    assert_eq!(slots.present(0), RESERVED);
    assert!(!slots.is_empty());
    let all: Vec<_> = (0..200).map(|_| claim(slots).0).collect();
    assert_eq!(numbers(), (2..202).collect::<Vec<_>>());
    all[..199].iter().for_each(|slot| slots.release(slot));
    assert_eq!(numbers(), [201]);
}

#[test]
fn released_slots_are_found_at_once() {
    let slots = fresh();
    let all: Vec<_> = (0..5_000).map(|_| claim(slots).0).collect();
    // Alternates between the two ends: the worst case for a search that continues where the last one ended. A
    // leaf that was freed and filled again is inspected once more before it is known to be full.
    for round in 0..100 {
        let slot = all[if round % 2 == 0 { 3 } else { 4_900 }];
        slots.release(slot);
        let (again, looked) = claim(slots);
        assert_eq!(again.cpu(), slot.cpu());
        assert!(looked <= 2, "{looked} leaves");
    }
    // Holes in all leaves are filled before a leaf is added.
    let cpus = slots.cpus();
    all.iter().step_by(7).for_each(|slot| slots.release(slot));
    let (_, looked) = inspections_of(|| {
        for _ in all.iter().step_by(7) {
            claim(slots);
        }
    });
    assert_eq!((slots.cpus(), slots.registered()), (cpus, 5_000));
    assert!(looked <= 5_000 / 7 + 80, "{looked}");
}

#[test]
fn a_claim_without_room_inspects_no_leaf() {
    let slots = fresh();
    slots.limit_leaves(2);
    let all: Vec<_> = std::iter::from_fn(|| slots.claim()).collect();
    assert_eq!(all.len(), 2 * LEAF_SLOTS - 2);
    let (none, looked) = inspections_of(|| slots.claim());
    assert!(none.is_none() && looked == 0);
    slots.release(all[100]);
    assert_eq!(claim(slots).0.cpu(), all[100].cpu());
}

#[test]
fn leaves_are_occupied_from_the_first_claim_until_vacated() {
    let (slots, lock) = (fresh(), &UnderLock::new());
    let all: Vec<_> = (0..200).map(|_| claim(slots).0).collect();
    assert_eq!(
        (slots.occupied(0, lock), slots.occupied(1, lock)),
        (0b1111, 0)
    );
    all.iter().for_each(|slot| slots.release(slot));
    assert_eq!(slots.occupied(0, lock), 0b1111, "no scan was made yet");
    (0..4).for_each(|leaf| slots.vacated(leaf, lock));
    assert_eq!(
        slots.occupied(0, lock),
        0b0001,
        "the unregistered readers' leaf stays"
    );
    let _ = claim(slots);
    slots.vacated(0, lock);
    assert_eq!(slots.occupied(0, lock), 0b0001);
}

fn word(reader: &Reader, nesting: u64, generation: u64) {
    reader
        .word
        .store(generation << 16 | nesting, Ordering::Relaxed);
}

#[test]
fn a_leaf_uses_the_lowest_bits() {
    // The models' leaves are small.
    for slots in 1..=64 {
        let bits = bits_of(slots);
        assert_eq!(bits.count_ones() as usize, slots);
        assert_eq!(bits.trailing_ones() as usize, slots);
    }
    assert_eq!(FULL, bits_of(LEAF_SLOTS));
}

#[test]
fn free_bits_are_claimed_from_below() {
    assert_eq!(free_bits(0b1010, 0b1), u64::MAX - 0b1011);
    assert_eq!(free_bits(0b1011, 0b1), u64::MAX - 0b1011);
    let bitmap = AtomicU64::new(0b1011);
    assert_eq!(claim_bit(&bitmap, 0), Some(2));
    assert_eq!(claim_bit(&bitmap, 0b11_0000), Some(6));
    assert_eq!(bitmap.load(Ordering::Relaxed), 0b100_1111);
    bitmap.store(u64::MAX - 0b11, Ordering::Relaxed);
    assert_eq!(claim_bit(&bitmap, 0b11), None);
}

#[test]
fn leaves_are_added_up_to_the_limit() {
    let slots = fresh();
    assert!(slots.is_empty() && slots.slot(64).is_none() && slots.slot(63).is_some());
    assert_eq!(
        (slots.cpus(), slots.present(1), slots.present(9999)),
        (64, 0, 0)
    );
    slots.count_leaf(0);
    assert_eq!(slots.cpus(), 64);
    slots.limit_leaves(0); // the limit is at least one
    assert!(slots.add_leaf(1).is_none());
    assert!(slots.claim().is_some());
    slots.limit_leaves(3);
    assert!(slots.add_leaf(3).is_none());
    let leaf = slots.add_leaf(2).expect("memory for a test");
    let again = slots.add_leaf(2).expect("it is there");
    assert!(std::ptr::eq(leaf, again));
    slots.count_leaf(2);
    slots.count_leaf(1);
    assert_eq!(slots.cpus(), 192);
}

#[test]
fn a_release_frees_one_slot_only() {
    let slots = fresh();
    let all: Vec<_> = (0..70).map(|_| claim(slots).0).collect();
    assert!(all.iter().all(|slot| slot.thread() == prim::thread_id()));
    let before = [slots.present(0), slots.present(1)];
    slots.release(all[65]);
    assert_eq!(
        [slots.present(0), slots.present(1)],
        [before[0], before[1] & !(1 << 3)]
    );
    assert_eq!(all[65].thread(), 0);
    assert_eq!(slots.registered(), 69);
    for slot in &all {
        // SAFETY: the word of a slot.
        let of = unsafe { Slot::of(&slot.words.reader) };
        assert!(std::ptr::eq(of, *slot));
        let found = slots.slot(slot.cpu()).expect("it was claimed");
        assert!(std::ptr::eq(found, *slot));
    }
}

#[test]
fn in_the_child_of_a_fork_one_thread_remains() {
    for (own, is_unregistered) in [(Some(3), false), (Some(67), true), (None, true)] {
        let slots = fresh();
        let all: Vec<_> = (0..70).map(|_| claim(slots).0).collect();
        if is_unregistered {
            slots.unregistered.enter(1);
        }
        for slot in &all {
            word(&slot.words.reader, 1, 9);
            slot.thread.store(77, Ordering::Relaxed);
        }
        let own = own.map(|own: usize| all[own]);
        slots.forked([0; 2], own, |_| true);
        assert_eq!(slots.registered(), u32::from(own.is_some()));
        assert_eq!(
            slots.present(0) & RESERVED,
            if is_unregistered { RESERVED } else { 0 }
        );
        for slot in &all {
            let is_own = own.is_some_and(|own| std::ptr::eq(own, *slot));
            assert_eq!(slot.is_inside(), is_own);
            let outside = !is_own;
            assert_eq!(slot.words.reader.scan(), Seen { outside, stamp: 9 });
            assert_eq!(slot.thread() != 0, is_own);
            if is_own {
                assert_eq!(slot.thread(), prim::thread_id());
                let bit = 1 << (slot.cpu() % 64);
                assert_ne!(slots.present(slot.cpu() as usize / 64) & bit, 0);
            }
        }
        assert!([0, 1].iter().all(|&side| slots.unregistered.scan(side)));
    }
}

#[test]
fn unfinished_queues_are_forgotten() {
    let slots = fresh();
    let [kept, lost, none] = [(); 3].map(|()| claim(slots).0);
    for slot in [kept, lost] {
        let queue = crate::testing::queue(slot.cpu());
        slot.queue.set(queue);
    }
    slots.forked([0; 2], None, |queue| queue.lock().cpu.id() == kept.cpu());
    assert!(
        kept.queue.queue().is_some()
            && lost.queue.queue().is_none()
            && none.queue.queue().is_none()
    );
}

#[test]
fn is_inside_somewhere_includes_the_process_domain() {
    let slot = claim(fresh()).0;
    assert!(!slot.is_inside() && !slot.is_inside_somewhere());
    word(&slot.words.reader, 1, 1);
    assert!(slot.is_inside() && slot.is_inside_somewhere());
}

#[test]
fn so_many_threads_are_asked_at_most() {
    let slots = fresh();
    for (set, most) in [(3, 3), (0, 0), (prim::MOST_ASKED + 1, prim::MOST_ASKED)] {
        slots.set_most_asked(set);
        assert_eq!(slots.most_asked(), most);
    }
}
