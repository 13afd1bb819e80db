use super::*;

/// The grace period with this number, around the wrap: negative ones are before zero.
fn gp(n: i32) -> Seq {
    Seq::from_raw((n * 4) as crate::seq::Word)
}

/// One segment of a table row: how many callbacks, and their stamp.
type Part = Option<(u64, i32)>;

/// The request of every row.
const S: i32 = 1;

/// A list with these segments; all weigh 10 a piece and were queued at the time of their position.
fn list(done: u64, wait: Part, ready: Part, next: u64) -> CbList {
    let mut list = CbList::new();
    let push = |list: &mut CbList, n: u64| {
        let end = list.end() + n;
        list.enqueue_to(end, 10 * n, list.end());
    };
    if done > 0 {
        push(&mut list, done);
        assert!(list.accelerate(gp(-50)));
        assert_eq!(list.advance(gp(-50)), done);
    }
    for (n, stamp) in [wait, ready].into_iter().flatten() {
        push(&mut list, n);
        assert!(list.accelerate(gp(stamp)));
    }
    push(&mut list, next);
    list
}

/// Counts and stamps of all segments.
fn shape(list: &CbList) -> (u64, Part, Part, u64) {
    let part = |segment| {
        let (n, stamp) = list.segment(segment);
        stamp.map(|stamp| (n, (stamp.signed() / 4) as i32))
    };
    (
        list.segment(Segment::Done).0,
        part(Segment::Wait),
        part(Segment::NextReady),
        list.segment(Segment::Next).0,
    )
}

/// WAIT, NEXT_READY and NEXT before; the answer, and the three after.
struct Row((Part, Part, u64), (bool, (Part, Part, u64)), &'static str);

const LOW: i32 = -1;
const LOWER: i32 = -2;
const HIGH: i32 = 2;
const HIGHER: i32 = 3;

/// Every row of the boundary table. Where a column says "any", each possible content has a line.
const TABLE: &[Row] = &[
    Row(
        (None, None, 3),
        (true, (Some((3, S)), None, 0)),
        "the first ones get the first slot",
    ),
    Row((None, None, 0), (false, (None, None, 0)), "nothing pending"),
    Row(
        (Some((2, LOW)), None, 3),
        (true, (Some((2, LOW)), Some((3, S)), 0)),
        "the second slot",
    ),
    Row(
        (Some((2, LOW)), None, 0),
        (false, (Some((2, LOW)), None, 0)),
        "no useless grace period",
    ),
    Row(
        (Some((2, S)), None, 3),
        (true, (Some((5, S)), None, 0)),
        "the same one does for both",
    ),
    Row(
        (Some((2, S)), None, 0),
        (true, (Some((2, S)), None, 0)),
        "asked again: the funnel stops it",
    ),
    Row(
        (Some((2, HIGH)), None, 0),
        (true, (Some((2, S)), None, 0)),
        "the stamp was too late",
    ),
    Row(
        (Some((2, HIGH)), None, 3),
        (true, (Some((5, S)), None, 0)),
        "too late, and new ones",
    ),
    Row(
        (Some((2, LOWER)), Some((4, LOW)), 0),
        (false, (Some((2, LOWER)), Some((4, LOW)), 0)),
        "no slot and nothing new",
    ),
    Row(
        (Some((2, LOWER)), Some((4, LOW)), 3),
        (false, (Some((2, LOWER)), Some((4, LOW)), 3)),
        "no slot: they stay unstamped",
    ),
    Row(
        (Some((2, LOW)), Some((4, S)), 3),
        (true, (Some((2, LOW)), Some((7, S)), 0)),
        "joins the second slot",
    ),
    Row(
        (Some((2, LOW)), Some((4, S)), 0),
        (true, (Some((2, LOW)), Some((4, S)), 0)),
        "asked again, second slot",
    ),
    Row(
        (Some((2, LOW)), Some((4, HIGH)), 0),
        (true, (Some((2, LOW)), Some((4, S)), 0)),
        "the second stamp was too late",
    ),
    Row(
        (Some((2, LOW)), Some((4, HIGH)), 3),
        (true, (Some((2, LOW)), Some((7, S)), 0)),
        "the second too late, and new ones",
    ),
    Row(
        (Some((2, S)), Some((4, HIGH)), 0),
        (true, (Some((6, S)), None, 0)),
        "both may use the first",
    ),
    Row(
        (Some((2, S)), Some((4, HIGH)), 3),
        (true, (Some((9, S)), None, 0)),
        "all may use the first",
    ),
    Row(
        (Some((2, HIGH)), Some((4, HIGHER)), 0),
        (true, (Some((6, S)), None, 0)),
        "both were too late",
    ),
    Row(
        (Some((2, HIGH)), Some((4, HIGHER)), 3),
        (true, (Some((9, S)), None, 0)),
        "both were too late, and new ones",
    ),
];

#[test]
fn stamping_follows_the_boundary_table() {
    for Row((wait, ready, next), (answer, after), why) in TABLE {
        for done in [0, 7] {
            let mut it = list(done, *wait, *ready, *next);
            let before = it.clone();
            assert_eq!(it.accelerate(gp(S)), *answer, "{why}");
            assert_eq!(shape(&it), (done, after.0, after.1, after.2), "{why}");
            assert_eq!(it.bytes(), before.bytes(), "{why}");
            assert_eq!(it.since(), before.since(), "{why}");
            if !answer {
                assert_eq!(it, before, "refused, hence unchanged: {why}");
            }
            let once = it.clone();
            let _ = it.accelerate(gp(S));
            assert_eq!(it, once, "stamping again changes nothing: {why}");
        }
    }
}

#[test]
fn advancing_stops_at_the_first_later_stamp_and_slides() {
    let full = list(1, Some((2, 1)), Some((4, 2)), 8);
    // The number shown, how many are newly done, and what is left.
    let rows = [
        (gp(0), 0, (1, Some((2, 1)), Some((4, 2)), 8)),
        (gp(0).start(), 0, (1, Some((2, 1)), Some((4, 2)), 8)),
        (gp(1), 2, (3, Some((4, 2)), None, 8)),
        (gp(1).start(), 2, (3, Some((4, 2)), None, 8)),
        (gp(2), 6, (7, None, None, 8)),
        (gp(3), 6, (7, None, None, 8)),
    ];
    for (seq, newly, after) in rows {
        let mut it = full.clone();
        assert_eq!(it.advance(seq), newly, "{seq}");
        assert_eq!(shape(&it), after, "{seq}");
        assert_eq!(it.done_end(), 1 + newly);
        assert_eq!(it.advance(seq), 0, "again at {seq}");
        assert_eq!(shape(&it), after);
    }
    let mut it = full;
    assert_eq!(it.advance(gp(1)) + it.advance(gp(2)), 6);
    assert!(it.accelerate(gp(3)), "there is room again");
    assert_eq!(shape(&it), (7, Some((8, 3)), None, 0));
    assert_eq!(CbList::new().advance(gp(5)), 0, "nothing pending");
}

/// Whatever it waits for, in its order; what is out stays out.
#[test]
fn without_readers_everything_is_done() {
    let mut list = list(2, Some((3, 1)), Some((4, 2)), 5);
    assert_eq!(list.extract_done(1), 0..1);
    list.finish();
    assert_eq!(shape(&list), (13, None, None, 0));
    assert_eq!((list.out(), list.bytes(), list.done().bytes), (1, 140, 130));
    assert_eq!((list.since(), list.pending()), (Some(0), false));
    assert_eq!(list.extract_done(99), 1..14);
    list.ran(0..14);
    list.finish();
    assert!(list.is_empty() && shape(&list) == (0, None, None, 0));
}

#[test]
fn stamps_are_reported_only_where_they_mean_something() {
    let it = list(1, None, None, 3);
    assert_eq!((it.next_gp(), it.last_gp()), (None, None));
    let it = list(1, Some((1, 5)), None, 3);
    assert_eq!((it.next_gp(), it.last_gp()), (Some(gp(5)), Some(gp(5))));
    let it = list(1, Some((1, 5)), Some((1, 6)), 3);
    assert_eq!((it.next_gp(), it.last_gp()), (Some(gp(5)), Some(gp(6))));
    assert_eq!((it.unstamped(), it.unstamped_bytes()), (3, 30));
    assert!(it.pending() && it.ready() == 1);
    assert!(!list(4, None, None, 0).pending());
}

#[test]
fn an_entrained_callback_waits_for_those_before_it() {
    assert!(!CbList::new().entrain(1), "nothing to wait for");
    let part = |n| Some((n, 5));
    let rows = [
        (list(3, None, None, 0), (4, None, None, 0)),
        (list(3, part(2), None, 0), (3, part(3), None, 0)),
        (
            list(3, Some((2, 4)), part(2), 0),
            (3, Some((2, 4)), part(3), 0),
        ),
        (list(3, part(2), None, 1), (3, part(2), None, 2)),
        (list(0, None, None, 1), (0, None, None, 2)),
    ];
    for (mut it, after) in rows {
        let (len, bytes, since) = (it.len(), it.bytes(), it.since());
        assert!(it.entrain(7));
        assert_eq!(shape(&it), after);
        assert_eq!(
            (it.len(), it.bytes(), it.since()),
            (len + 1, bytes + 7, since)
        );
    }
    // All are out: it is done at once, since those are.
    let mut it = list(3, None, None, 0);
    let _ = it.extract_done(u64::MAX);
    assert!(it.entrain(0));
    assert_eq!((shape(&it), it.len()), ((1, None, None, 0), 4));
    assert_eq!(it.since(), Some(0), "not newer than those out");
}

#[test]
fn what_is_out_counts_until_it_has_run() {
    let mut it = list(10, Some((1, 5)), None, 2);
    assert_eq!(it.extract_done(4), 0..4);
    assert_eq!((it.len(), it.out(), it.ready(), it.head()), (13, 4, 6, 4));
    assert_eq!(it.bytes(), 130);
    it.put_back(1..4);
    assert_eq!((it.len(), it.out(), it.ready(), it.head()), (13, 1, 9, 1));
    it.ran(0..1);
    assert_eq!((it.len(), it.out(), it.bytes()), (12, 0, 120));
    assert_eq!(it.extract_done(u64::MAX), 1..10);
    assert_eq!(it.extract_done(5), 10..10, "nothing is left in DONE");
    it.ran(1..10);
    assert_eq!(shape(&it), (0, Some((1, 5)), None, 2));
    // The owner consumes by itself.
    let _ = it.advance(gp(5));
    it.freed_to(10);
    assert_eq!((it.len(), it.bytes()), (3, 30));
    it.freed_to(11);
    assert_eq!((it.len(), it.bytes()), (2, 20));
    assert!(!it.is_empty());
}

#[test]
fn a_part_takes_its_share_of_the_bytes_and_the_last_takes_the_rest() {
    let mut it = CbList::new();
    it.enqueue_to(3, 100, 0);
    assert!(it.accelerate(gp(1)));
    assert_eq!(it.advance(gp(1)), 3);
    let _ = it.extract_done(1);
    it.ran(0..1);
    assert_eq!(it.bytes(), 67);
    it.freed_to(3);
    assert_eq!(it.bytes(), 0);
    // No overflow, whatever is weighed.
    it.enqueue_to(5, u64::MAX, 0);
    it.enqueue_to(6, u64::MAX, 0);
    assert!(it.accelerate(gp(2)));
    let _ = it.advance(gp(2));
    let _ = it.extract_done(2);
    assert_eq!(it.bytes(), u64::MAX);
}

#[test]
fn the_time_of_the_oldest_moves_with_its_segment() {
    let mut it = CbList::new();
    assert_eq!(it.since(), None);
    it.enqueue_to(1, 0, 50);
    it.enqueue_to(1, 9, 40);
    assert_eq!((it.since(), it.bytes()), (Some(50), 0), "nothing was new");
    it.enqueue_to(2, 0, 60);
    assert_eq!(it.since(), Some(50), "the older value stays");
    assert!(it.accelerate(gp(1)));
    it.enqueue_to(3, 0, 70);
    assert_eq!(it.advance(gp(1)), 2);
    let _ = it.extract_done(2);
    assert_eq!(it.since(), Some(70), "of what is queued, not out");
    it.put_back(1..2);
    assert_eq!(it.since(), Some(50), "a lower bound");
    it.ran(0..1);
    it.freed_to(2);
    assert_eq!(it.since(), Some(70));
}

#[test]
fn the_mark_is_past_when_what_was_owed_then_has_been_invoked() {
    let mut it = list(8, None, None, 0);
    assert!(it.is_past_mark(), "without a waiter");
    let (first, second) = (it.extract_done(2), it.extract_done(2));
    it.mark();
    it.enqueue_to(12, 0, 0);
    assert!(it.accelerate(gp(1)) && it.advance(gp(1)) == 4);
    // Three of what was noted and one newer; they come back in another order, and in parts.
    let (third, fourth) = (it.extract_done(4), it.extract_done(1));
    it.ran(second);
    it.ran(third.start..third.start + 1);
    it.put_back(fourth);
    assert!(!it.is_past_mark());
    it.ran(third.start + 1..third.end);
    assert!(!it.is_past_mark(), "the first two are out");
    let newer = it.extract_done(4);
    it.ran(first);
    assert!(it.is_past_mark(), "the newer ones do not matter");
    it.ran(newer);
    assert!(it.is_past_mark() && it.is_empty());
}

#[test]
fn a_merge_puts_done_ones_in_front_and_starts_the_others_over() {
    let mut dst = list(3, Some((2, 4)), Some((1, 5)), 6);
    let mut src = list(5, Some((2, 4)), Some((1, 7)), 4);
    let _ = src.extract_done(1);
    let moved = dst.merge(&mut src);
    assert_eq!(
        moved,
        Merged {
            done: 4,
            pending: 7
        }
    );
    assert_eq!(shape(&dst), (7, Some((2, 4)), Some((1, 5)), 13));
    assert_eq!(dst.head(), 0u64.wrapping_sub(4), "before position 0");
    assert_eq!((dst.len(), dst.bytes()), (23, 230));
    assert_eq!((src.len(), src.out(), src.bytes()), (1, 1, 10));
    assert_eq!((src.head(), src.end()), (12, 12), "goes on at its end");
    src.ran(0..1);
    assert!(src.is_empty() && src.since().is_none());
    let range = 0u64.wrapping_sub(4)..1;
    assert_eq!(dst.extract_done(5), range);
    dst.ran(range);
    assert_eq!((dst.head(), dst.ready()), (1, 2));
    let nothing = Merged {
        done: 0,
        pending: 0,
    };
    assert_eq!(dst.clone().merge(&mut src), nothing);
}

#[test]
#[should_panic(expected = "only 1 are done")]
fn consuming_what_is_not_done_is_refused() {
    list(1, None, None, 1).freed_to(2);
}

#[test]
#[should_panic(expected = "went back")]
fn the_end_never_goes_back() {
    list(0, None, None, 3).enqueue_to(2, 0, 0);
}

#[test]
#[should_panic(expected = "only 0 are out")]
fn more_cannot_come_back_than_are_out() {
    list(3, None, None, 0).put_back(0..1);
}

#[test]
fn an_empty_list_remembers_nothing_of_what_was_in_it() {
    let drained = |since: u64, stamp: i32, bytes: u64| {
        let mut list = CbList::new();
        list.enqueue_to(3, bytes, since);
        assert!(list.accelerate(gp(stamp)));
        assert_eq!(list.advance(gp(stamp)), 3);
        let range = list.extract_done(u64::MAX);
        list.ran(range);
        list
    };
    assert_eq!(drained(7, 1, 30), drained(9000, 5, 1));
}

#[test]
fn what_has_no_stamp_waits_for_nothing_whatever_is_coming() {
    let it = list(1, Some((2, -10)), None, 3);
    let held = |count, bytes| Held { count, bytes };
    assert_eq!(it.idle(|_| true), held(3, 30));
    assert_eq!(it.idle(|_| false), held(5, 50));
}

#[test]
fn the_oldest_that_waits_is_not_the_oldest() {
    // The time of each is its position.
    let it = list(2, Some((1, -10)), None, 3);
    assert_eq!((it.since(), it.waiting_since()), (Some(0), Some(2)));
    let done = list(2, None, None, 0);
    assert_eq!((done.since(), done.waiting_since()), (Some(0), None));
}

/// A waiter waits for what an owner was found to run, as it waits for what was taken out.
#[test]
fn a_mark_waits_for_what_the_owner_still_runs() {
    for (marked, past_before) in [(4, false), (3, false), (2, true)] {
        let mut it = CbList::new();
        it.enqueue_to(marked, 0, 0);
        it.mark();
        it.enqueue_to(4, 0, 0);
        let stamp = Seq::ZERO.snap();
        assert!(it.accelerate(stamp));
        assert_eq!(it.advance(stamp), 4);
        it.freed_to(4);
        it.reopen(2, 0);
        assert_eq!(it.is_past_mark(), past_before, "{marked}");
        it.ran(2..4);
        assert!(it.is_past_mark() && it.is_empty(), "{marked}");
    }
}
