use super::*;
use crate::prim::FIRST_TALLIES as FIRST;
use crate::testing::{Program, program};

fn noted(program: &'static Program, counted: &'static Counted) -> Option<*const Tally> {
    program.local().noted_tally(counted)
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
                .sent
                .locks
                .iter()
                .chain(&counted.unregistered.sent.unlocks);
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
    assert!(!counted.is_flagged(0) && !counted.is_flagged(1));
    for count in [0usize, 1] {
        counted.join(count as u32);
        let joined = program.enter(counted);
        counted.flags[count].store(FLAG_CLEAR + 1, Ordering::Relaxed);
        assert!(counted.is_flagged(count) && !counted.is_flagged(1 - count));
        assert!(!counted.look(count));
        assert!(counted.is_flagged(count), "a section is left");
        assert!(program.leave(counted, joined), "a driver waits");
        assert!(counted.look(count));
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
        tally.here.locks[1].store(u64::from(number) + 2, Ordering::Relaxed);
        tally.sent.locks[1].store(2, Ordering::Relaxed);
        for counts in [&tally.here, &tally.sent] {
            counts.unlocks[1].store(1, Ordering::Relaxed);
        }
    }
    let begun: Vec<_> = counted.begun_on(1).collect();
    let expected = numbers.map(|number| (Origin::Slot(number), u64::from(number) + 2));
    assert_eq!(begun, expected);
    assert_eq!(counted.begun_on(0).count(), 0);
}

/// A section here is counted where it began, and its thread is inside until it ends; one that may be sent
/// says nothing about its thread.
#[test]
fn a_thread_is_inside_the_sections_that_it_has_to_end() {
    let program = program();
    let (local, threads) = (program.local(), &program.env.threads);
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    let is_inside = || {
        let any = threads.in_any_section(&local);
        assert_eq!(counted.is_inside_here(&local, threads), any);
        assert!(!any || !local.may_run());
        any
    };
    let sent = program.enter(counted);
    assert!(!is_inside());
    counted.join(1 - sent as u32);
    let first = program.enter_here(counted);
    assert!(is_inside() && first.count() != sent);
    counted.join(sent as u32);
    let second = program.enter_here(counted); // nested, in the other count
    assert_eq!(second.count(), sent);
    assert!(!program.leave_here(counted, first) && is_inside());
    assert!(counted.is_empty(1 - sent) && !counted.is_empty(sent));
    assert!(!program.leave_here(counted, second) && !is_inside());
    assert!(!program.leave(counted, sent) && !counted.is_inside());
}

/// A thread that ends inside a section here keeps its slot, and a later one does not.
#[test]
fn a_thread_keeps_its_slot_until_its_sections_here_end() {
    let program = program();
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    std::thread::spawn(move || {
        let section = program.enter_here(counted);
        let slot = program.env.own_slot().expect("registered");
        assert!(!program.env.leave_thread(slot));
        assert!(program.env.own_slot().is_some());
        assert!(!program.leave_here(counted, section));
        assert!(program.env.leave_thread(slot) && program.env.own_slot().is_none());
    })
    .join()
    .expect("no panic");
}

/// Without a slot a thread has no tally: its sections here are counted among those of the unregistered.
#[test]
fn a_thread_without_a_slot_is_inside_too() {
    let program = program();
    program.env.threads.slots.limit_leaves(1);
    while program.env.threads.slots.claim().is_some() {}
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    let (local, threads) = (program.local(), &program.env.threads);
    assert!(threads.own_slot(&local).is_none());
    let [first, second] = [(); 2].map(|()| program.enter_here(counted));
    let begun: Vec<_> = counted.begun_on(0).collect();
    assert_eq!(begun, [(Origin::Unregistered, 2)]);
    counted.forked(&local, None, |_| true);
    assert!(!program.leave_here(counted, first));
    assert!(counted.is_inside_here(&local, threads) && !local.may_run());
    assert!(!program.leave_here(counted, second) && !counted.is_inside());
    assert!(!counted.is_inside_here(&local, threads));
    // Of another one that the child does not have.
    counted.unregistered.here.locks[0].fetch_add(1, Ordering::Relaxed);
    counted.forked(&local, None, |_| true);
    assert!(counted.is_empty(0));
}

/// The tallies of a thread that is not in the child of a fork: sections that it has begun here, and those
/// that it has begun and ended among the sent ones.
fn other(counted: &'static Counted, number: u32, count: usize, here: u64, sent: [u64; 2]) {
    let tally = counted.of_slot(number).expect("memory");
    tally.here.initialize();
    tally.sent.initialize();
    (0..here).for_each(|_| tally.here.enter(count));
    (0..sent[0]).for_each(|_| tally.sent.enter(count));
    (0..sent[1]).for_each(|_| tally.sent.leave(count));
}

/// In the child of a fork, in each count: `own` and `others` are the sections that the forking thread and
/// another one have begun and ended, of those that are sent; then what is reported.
#[test]
fn in_the_child_sections_here_of_others_have_ended_and_sent_ones_have_not() {
    let program = program();
    let cases = [
        ([0, 0], [0, 0], (0, 0)),
        ([2, 1], [3, 1], (1, 2)),
        ([0, 2], [5, 0], (0, 3)), // ended by the forking thread
        ([5, 0], [0, 2], (3, 0)), // ended by the other
        ([1, 1], [4, 4], (0, 0)),
        ([0, 4], [4, 0], (0, 0)),
    ];
    for (case, count) in cases.iter().flat_map(|case| [(case, 0), (case, 1)]) {
        let (own, others, (own_open, others_open)) = *case;
        let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
        counted.join(count as u32);
        let section = program.enter_here(counted);
        let me = program.env.own_slot().expect("registered").cpu();
        let tally = counted.of_slot(me).expect("used");
        (0..own[0]).for_each(|_| tally.sent.enter(count));
        (0..own[1]).for_each(|_| tally.sent.leave(count));
        other(counted, me + 1, count, 7, others);
        counted.forked(&program.local(), Some(me), |_| true);
        let reported = |own: u64, others: u64| {
            let all = [(Origin::Parent, others), (Origin::Slot(me), own)];
            let expected: Vec<_> = all.into_iter().filter(|(_, open)| *open > 0).collect();
            assert_eq!(
                counted.begun_on(count).collect::<Vec<_>>(),
                expected,
                "{case:?}"
            );
        };
        reported(own_open + 1, others_open);
        counted.forked(&program.local(), Some(me), |_| true); // a child of the child
        reported(own_open + 1, others_open);
        assert!(!counted.of_slot(me + 1).expect("kept").is_used());
        assert!(!program.leave_here(counted, section));
        (0..own_open).for_each(|_| assert!(!program.leave(counted, count)));
        assert_eq!(counted.is_empty(count), others_open == 0, "{case:?}");
        reported(0, others_open);
        assert_eq!(counted.forget_sent(), others_open);
        assert!(counted.is_empty(0) && counted.is_empty(1));
        let next = program.enter(counted);
        assert!(!counted.is_empty(next));
        reported(1, 0);
        assert!(!program.leave(counted, next) && !counted.is_inside());
    }
}

/// Lane thread has begun a section is not known once others have ended theirs on it; how many are open is.
#[test]
fn no_more_sections_are_reported_than_are_open() {
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    other(counted, 0, 0, 0, [9, 0]);
    other(counted, 1, 0, 2, [0, 8]);
    let begun: Vec<_> = counted.begun_on(0).collect();
    assert_eq!(begun, [(Origin::Slot(0), 1), (Origin::Slot(1), 2)]);
    other(counted, 1, 0, 0, [0, 1]);
    let begun: Vec<_> = counted.begun_on(0).collect();
    assert_eq!(begun, [(Origin::Slot(1), 2)]);
}
