use super::*;

#[test]
fn every_number_has_one_place() {
    let mut next = (0, 0);
    for number in 0..200_000u32 {
        let (leaf, at) = place(number, FIRST);
        assert_eq!((leaf, at), next, "{number}");
        next = match at + 1 == (FIRST as usize) << leaf {
            true => (leaf + 1, 0),
            false => (leaf, at + 1),
        };
    }
    let last = (crate::inner::prim::MAX_LEAVES * crate::inner::prim::LEAF_SLOTS) as u32 - 1;
    assert!(place(last, FIRST).0 < LEAVES);
}

fn is_fenced() -> bool {
    prim::domain().resolve_mode() == crate::FenceMode::Fenced
}

/// A section writes to its thread's tally and to nothing else: no line that two threads write.
#[test]
fn every_tally_has_cache_lines_of_its_own() {
    if is_fenced() {
        return; // sections come the slow way there, and nothing is noted
    }
    assert_eq!((size_of::<Tally>(), align_of::<Tally>()), (128, 128));
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    let both = std::sync::Barrier::new(2); // so that the second thread does not get the first one's number
    let section = || {
        let count = counted.enter();
        assert!(!counted.leave(count));
        both.wait();
        let own = counted
            .noted()
            .expect("noted at the first end, at the latest");
        let shared = || {
            let crowd = counted.crowd.locks.iter().chain(&counted.crowd.unlocks);
            let words = crowd.map(|count| count.load(Ordering::Relaxed));
            words.collect::<Vec<_>>()
        };
        let before = shared();
        let count = counted.enter();
        assert!(!counted.leave(count));
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
fn what_a_thread_has_noted_is_of_the_counts_it_used_last() {
    if is_fenced() {
        return;
    }
    let new = || -> &'static Counted { Box::leak(Box::new(Counted::new())) };
    let (one, other) = (new(), new());
    std::thread::spawn(move || {
        for _ in 0..3 {
            let outer = one.enter();
            let inner = other.enter();
            assert!(!one.is_empty(outer) && !other.is_empty(inner));
            assert!(!one.leave(outer));
            assert!(one.noted().is_some() && other.noted().is_none());
            assert!(one.is_empty(outer) && !other.is_empty(inner));
            assert!(!other.leave(inner) && other.noted().is_some());
            assert!(other.is_empty(inner));
        }
        prim::forget_tally();
        assert!(one.noted().is_none() && other.noted().is_none());
        let count = other.enter();
        assert!(!other.is_empty(count) && !other.leave(count) && other.is_empty(count));
    })
    .join()
    .expect("no panic");
}

#[test]
fn a_section_is_in_the_count_that_it_joined_until_it_ends_wherever_that_is() {
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    assert!(counted.is_empty(0) && counted.is_empty(1) && counted.is_alone());
    let count = counted.enter();
    assert_eq!(
        (count, counted.is_empty(0), counted.is_empty(1)),
        (0, false, true)
    );
    assert!(counted.is_alone());
    let begun: Vec<_> = counted.begun_on(0).collect();
    assert_eq!(begun.len(), 1);
    counted.join(1);
    let other = counted.enter();
    assert_eq!((other, counted.is_empty(1)), (1, false));
    std::thread::spawn(move || assert!(!counted.leave(count)))
        .join()
        .expect("no panic");
    assert!(counted.is_empty(0) && !counted.is_alone());
    counted.flag(1).expect("two").store(1, Ordering::Relaxed);
    assert!(counted.leave(other), "a driver waits for it");
    assert!(counted.is_empty(1) && counted.unflag(1) && !counted.unflag(1));
}
