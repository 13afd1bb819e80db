use super::*;

/// Lists of one CPU with so many callbacks each; the first `done` of every lane are done.
fn lists(counts: [u64; LANES], done: u64) -> [CbList; LANES] {
    counts.map(|n| {
        let mut list = CbList::new();
        list.enqueue_to(n.min(done), 0, 0);
        list.accelerate(Seq::ZERO);
        list.advance(Seq::ZERO);
        list.enqueue_to(n, 0, 0);
        list
    })
}

/// A barrier in flight, begun for a caller of its own.
fn begun() -> Barrier {
    let mut barrier = Barrier::new();
    let snap = barrier.snap();
    assert!(matches!(barrier.start(snap), Begin::Started { .. }));
    barrier
}

#[test]
fn a_caller_is_covered_by_a_barrier_that_began_after_it() {
    let mut barrier = Barrier::new();
    let first = barrier.snap();
    let second = barrier.snap();
    let Begin::Started { seq } = barrier.start(first) else {
        panic!("no barrier was made before");
    };
    assert!(barrier.in_flight() && barrier.seq() == seq);
    let during = barrier.snap();
    assert!(barrier.visited_all());
    barrier.end();
    assert_eq!(barrier.start(second), Begin::Covered);
    assert_eq!(barrier.start(first), Begin::Covered);
    // A caller that came while it was in progress may have been visited before it queued.
    assert!(matches!(barrier.start(during), Begin::Started { .. }));
}

#[test]
fn shares_that_are_done_early_do_not_complete_it() {
    let mut barrier = begun();
    let mut marks = [CpuMark::new(), CpuMark::new(), CpuMark::new()];
    let mut full = lists([0, 1, 0, 0], 1);
    let mut empty = lists([0; LANES], 0);
    assert_eq!(
        barrier.visit_positions(&mut marks[0], &mut full),
        Visit::Noted,
        "something is queued"
    );
    assert_eq!(
        barrier.visit_positions(&mut marks[0], &mut full),
        Visit::Already
    );
    full[1].freed_to(1);
    assert!(marks[0].ran(&full) && !barrier.one_done());
    assert!(!marks[0].ran(&full), "once only");
    assert_eq!(
        barrier.visit_positions(&mut marks[1], &mut empty),
        Visit::Empty
    );
    assert_eq!(
        barrier.visit_positions(&mut marks[1], &mut full),
        Visit::Already,
        "what is queued after the visit is not waited for"
    );
    let mut full = lists([1, 0, 0, 0], 0);
    assert_eq!(
        barrier.visit_positions(&mut marks[2], &mut full),
        Visit::Noted
    );
    assert!(!barrier.visited_all());
    assert_eq!(barrier.remaining(), 1);
    assert!(barrier.one_done());
    barrier.end();
    let snap = barrier.snap();
    assert!(matches!(barrier.start(snap), Begin::Started { .. }));
    assert_eq!(
        barrier.visit_positions(&mut marks[1], &mut full),
        Visit::Noted
    );
}

#[test]
fn a_share_is_done_when_everything_noted_in_every_lane_has_run() {
    let mut barrier = begun();
    let mut mark = CpuMark::new();
    let mut all = lists([2, 3, 1, 0], 3);
    assert_eq!(barrier.visit_positions(&mut mark, &mut all), Visit::Noted);
    all[0].freed_to(2);
    assert!(!mark.ran(&all), "two lanes are left");
    all[2].freed_to(1);
    let two = all[1].extract_done(2);
    all[1].ran(two);
    assert!(!mark.ran(&all), "one callback is left");
    let last = all[1].extract_done(1);
    assert!(!mark.ran(&all), "it is out, and has not run");
    all[1].put_back(last);
    assert!(!mark.ran(&all), "it was put back");
    let last = all[1].extract_done(1);
    // A newcomer that does not matter.
    all[1].enqueue_to(4, 0, 0);
    all[1].ran(last);
    assert!(mark.is_open() && mark.ran(&all) && !mark.is_open());
}

#[test]
fn what_came_later_does_not_hold_it_up_though_it_is_out_as_well() {
    let mut barrier = begun();
    let mut mark = CpuMark::new();
    let mut all = lists([0, 4, 0, 0], 2);
    let old = all[1].extract_done(2);
    assert_eq!(barrier.visit_positions(&mut mark, &mut all), Visit::Noted);
    all[1].enqueue_to(5, 0, 0);
    assert!(all[1].accelerate(Seq::ZERO) && all[1].advance(Seq::ZERO) > 0);
    let (noted, newer) = (all[1].extract_done(2), all[1].extract_done(1));
    all[1].ran(noted);
    assert!(!mark.ran(&all), "two from before the visit are out");
    all[1].ran(old);
    assert!(mark.ran(&all), "the newer one is still out");
    assert!(!barrier.visited_all() && barrier.one_done());
    barrier.end();
    // It holds up the next one, as it must.
    let snap = barrier.snap();
    assert!(matches!(barrier.start(snap), Begin::Started { .. }));
    assert_eq!(barrier.visit_positions(&mut mark, &mut all), Visit::Noted);
    assert!(!mark.ran(&all));
    all[1].ran(newer);
    assert!(mark.ran(&all));
}

#[test]
fn an_entrained_callback_is_counted_once_a_cpu() {
    let mut barrier = Barrier::new();
    let mut mark = CpuMark::new();
    let mut all = lists([0, 2, 0, 0], 0);
    assert_eq!(
        barrier.visit_entrain(&mut mark, &mut all[1]),
        Visit::Already,
        "no barrier is in flight"
    );
    assert_eq!(all[1].len(), 2);
    let snap = barrier.snap();
    assert!(matches!(barrier.start(snap), Begin::Started { .. }));
    let visits = [Visit::Noted, Visit::Already];
    for visit in visits {
        assert_eq!(barrier.visit_entrain(&mut mark, &mut all[1]), visit);
        assert_eq!((all[1].len(), barrier.remaining()), (3, 3));
    }
    let mut other = CpuMark::new();
    assert_eq!(barrier.visit_entrain(&mut other, &mut all[0]), Visit::Empty);
    assert!(!barrier.visited_all() && barrier.one_done());
}

#[test]
#[should_panic(expected = "1 shares open")]
fn it_does_not_end_before_it_is_complete() {
    let mut barrier = begun();
    let mut all = lists([1, 0, 0, 0], 0);
    let _ = barrier.visit_positions(&mut CpuMark::new(), &mut all);
    let _ = barrier.visited_all();
    barrier.end();
}

#[test]
#[should_panic(expected = "more shares")]
fn a_share_is_not_done_twice() {
    let mut barrier = begun();
    assert!(barrier.visited_all());
    let _ = barrier.one_done();
}
