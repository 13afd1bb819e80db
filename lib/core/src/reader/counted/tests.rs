use super::*;
use crate::testing::{Program, program};

fn noted(program: &'static Program, counted: &'static Counted) -> Option<*const Tally> {
    program.local().noted_tally(counted)
}

#[test]
fn numbers_map_to_consecutive_places() {
    let mut next = (0, 0);
    for number in 0..200_000u32 {
        let (leaf, at) = place(number, FIRST);
        assert_eq!((leaf, at), next, "{number}");
        next = match at + 1 == (FIRST as usize) << leaf {
            true => (leaf + 1, 0),
            false => (leaf, at + 1),
        };
    }
    let last = (crate::prim::MAX_LEAVES * crate::prim::LEAF_SLOTS) as u32 - 1;
    assert!(place(last, FIRST).0 < LEAVES);
}

fn is_fenced(program: &Program) -> bool {
    program.env.threads.mode.resolve() == crate::reader::mode::FenceMode::Fenced
}

/// A section writes only to its thread's tally: no cache line is written by two threads.
#[test]
fn every_tally_has_cache_lines_of_its_own() {
    let program = program();
    if is_fenced(program) {
        return; // sections take the slow path there, and nothing is noted
    }
    assert_eq!((size_of::<Tally>(), align_of::<Tally>()), (128, 128));
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    let both = std::sync::Barrier::new(2); // so that the second thread does not get the first one's number
    let section = || {
        let count = program.enter(counted);
        assert!(!program.leave(counted, count));
        both.wait();
        let own = noted(program, counted).expect("noted at the first end, at the latest");
        let shared = || {
            let unregistered = counted
                .unregistered
                .locks
                .iter()
                .chain(&counted.unregistered.unlocks);
            let words = unregistered.map(|count| count.load(Ordering::Relaxed));
            words.collect::<Vec<_>>()
        };
        let before = shared();
        let count = program.enter(counted);
        assert!(!program.leave(counted, count));
        assert_eq!(shared(), before);
        both.wait();
        own.addr()
    };
    let (one, other) = std::thread::scope(|scope| {
        let [one, other] = [scope.spawn(section), scope.spawn(section)];
        (
            one.join().expect("no panic"),
            other.join().expect("no panic"),
        )
    });
    assert_eq!((one % 128, other % 128), (0, 0));
    assert!(one.abs_diff(other) >= 128);
    assert!(counted.is_empty(0) && counted.is_empty(1));
}

#[test]
fn a_thread_notes_the_tally_it_used_last() {
    let program = program();
    if is_fenced(program) {
        return;
    }
    let new = || -> &'static Counted { Box::leak(Box::new(Counted::new())) };
    let (one, other) = (new(), new());
    std::thread::spawn(move || {
        for _ in 0..3 {
            let outer = program.enter(one);
            let inner = program.enter(other);
            assert!(!one.is_empty(outer) && !other.is_empty(inner));
            assert!(!program.leave(one, outer));
            assert!(noted(program, one).is_some() && noted(program, other).is_none());
            assert!(one.is_empty(outer) && !other.is_empty(inner));
            assert!(!program.leave(other, inner) && noted(program, other).is_some());
            assert!(other.is_empty(inner));
        }
        program.local().forget_notes(&program.env.threads.nowhere);
        assert!(noted(program, one).is_none() && noted(program, other).is_none());
        let count = program.enter(other);
        assert!(!other.is_empty(count) && !program.leave(other, count) && other.is_empty(count));
    })
    .join()
    .expect("no panic");
}

#[test]
fn a_section_ends_in_the_count_that_it_joined_on_any_thread() {
    let program = program();
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    assert!(counted.is_empty(0) && counted.is_empty(1) && counted.is_alone(&program.env.threads));
    let count = program.enter(counted);
    assert_eq!(
        (count, counted.is_empty(0), counted.is_empty(1)),
        (0, false, true)
    );
    assert!(counted.is_alone(&program.env.threads));
    let begun: Vec<_> = counted.begun_on(0).collect();
    assert_eq!(begun.len(), 1);
    counted.join(1);
    let other = program.enter(counted);
    assert_eq!((other, counted.is_empty(1)), (1, false));
    std::thread::spawn(move || assert!(!program.leave(counted, count)))
        .join()
        .expect("no panic");
    assert!(counted.is_empty(0) && !counted.is_alone(&program.env.threads));
    counted.flag(1).expect("two").store(1, Ordering::Relaxed);
    assert!(program.leave(counted, other), "a driver waits for it");
    assert!(counted.is_empty(1) && counted.unflag(1) && !counted.unflag(1));
}

#[test]
fn a_section_in_either_count_is_inside() {
    let program = program();
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    assert!(!counted.is_inside());
    for count in [0, 1] {
        counted.join(count as u32);
        let joined = program.enter(counted);
        assert_eq!(joined & 1, count);
        assert!(counted.is_inside(), "{count}");
        assert!(!program.leave(counted, joined));
        assert!(!counted.is_inside(), "{count}");
    }
}

#[test]
fn a_flag_is_that_of_its_count_and_a_scan_of_an_empty_count_clears_it() {
    let program = program();
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    let view = CountedView(counted, &program.env.threads);
    assert!(!counted.is_flagged(0) && !counted.is_flagged(1));
    for count in [0usize, 1] {
        counted.join(count as u32);
        let joined = program.enter(counted);
        counted.flags[count].store(FLAG_CLEAR + 1, Ordering::Relaxed);
        assert!(counted.is_flagged(count) && !counted.is_flagged(1 - count));
        assert!(!view.observe(count as u32).outside);
        assert!(counted.is_flagged(count), "a section is left");
        assert!(program.leave(counted, joined), "a driver waits");
        assert!(view.observe(count as u32).outside);
        assert!(!counted.is_flagged(count));
    }
}

/// Each thread is named by the number of its slot, also behind the first leaf.
#[test]
fn sections_are_those_of_their_threads() {
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    let numbers = [0, FIRST - 1, FIRST, 3 * FIRST, 7 * FIRST + 5];
    for number in numbers {
        assert!(counted.of_slot_if_any(number).is_none() || number == FIRST - 1);
        let tally = counted.of_slot(number).expect("memory");
        tally.locks[1].store(u64::from(number) + 3, Ordering::Relaxed);
        tally.unlocks[1].store(1, Ordering::Relaxed);
    }
    let begun: Vec<_> = counted.begun_on(1).collect();
    let expected = numbers.map(|number| (Some(number), u64::from(number) + 2));
    assert_eq!(begun, expected);
    assert_eq!(counted.begun_on(0).count(), 0);
}
