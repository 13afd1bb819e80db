//! Readers without records, and what the engine is answered.

use super::*;

/// Sections of threads without a slot are counted by side; new ones leave alone the side that drains.
#[test]
fn unregistered_sections_are_counted_by_side() {
    let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
    assert!(!records.is_inside());
    let enter = |side| _ = records.enter_unregistered(side);
    let inside = || [0, 1].map(|side| records.unregistered_inside(side));
    enter(records.unregistered_side());
    enter(0);
    assert_eq!(inside(), [2, 0]);
    assert!(records.is_inside());
    assert_eq!(
        records.unregistered_side(),
        1,
        "a scan has found sections on the other one"
    );
    enter(1);
    assert_eq!((inside(), records.unregistered_inside(7)), ([2, 1], 0));
}

/// A driver waits for a side: the last section of that side wakes it.
#[test]
fn the_last_section_of_a_flagged_side_wakes_the_driver() {
    let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
    for side in [0, 1] {
        let flag = SINK_UNREGISTERED + side;
        assert!(!records.unregistered_flagged(flag));
        (0..2).for_each(|_| _ = records.enter_unregistered(side));
        assert!(records.leave_unregistered(flag).is_none(), "one is left");
        assert!(
            records.leave_unregistered(flag).is_none(),
            "no driver waits"
        );
        (0..2).for_each(|_| _ = records.enter_unregistered(side));
        let flagged = records.flag(side).expect("a counter");
        flagged.store(FLAG_CLEAR + 1, Ordering::Relaxed);
        let both = [0, 1].map(|side| records.unregistered_flagged(SINK_UNREGISTERED + side));
        assert_eq!(both, [side == 0, side == 1]);
        assert!(records.leave_unregistered(flag).is_none(), "one is left");
        let drained = records.leave_unregistered(flag).expect("a driver waits");
        assert!(std::ptr::eq(&raw const drained.flag, flagged));
        flagged.store(FLAG_CLEAR, Ordering::Relaxed);
        // Newcomers leave the side alone in which a scan finds sections.
        let _ = records.enter_unregistered(side);
        assert!(!records.scan(side).0);
        assert_eq!(records.unregistered_side(), 1 - side);
        assert!(records.leave_unregistered(flag).is_none() && records.scan(side).0);
    }
}

#[test]
fn leaves_are_occupied_as_far_as_there_are_records() {
    let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
    let occupied = |claimed| {
        records.claimed.store(claimed, Ordering::Relaxed);
        [0, 1, 2].map(|group| records.occupied(group))
    };
    let leaf = LEAF_SLOTS as u32;
    assert_eq!(occupied(0), [1, 0, 0]);
    assert_eq!(occupied(leaf - UNREGISTERED), [1, 0, 0]);
    assert_eq!(occupied(leaf - UNREGISTERED + 1), [3, 0, 0]);
    assert_eq!(occupied(64 * leaf), [u64::MAX, 1, 0]);
    assert_eq!(occupied(130 * leaf), [u64::MAX, u64::MAX, 7]);
}
