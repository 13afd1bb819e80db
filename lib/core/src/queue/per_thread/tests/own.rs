//! The lane of code that its owner runs: the entries that takers find the owner running.

use super::*;

/// An attached queue with nine entries in the lane that its owner consumes; it has popped those below `head`.
fn consuming(head: u64) -> &'static Queue {
    let queue = queue();
    let mut core = queue.lock();
    core.owned = true;
    queue.provide(OWN);
    for at in 0..9 {
        assert!(queue.put(&mut core, OWN, entry(at), 0));
    }
    let words = &queue.lanes[OWN];
    core.chains[OWN].taken = false;
    let block = core.chains[OWN].first;
    words.head_block.store(block, Ordering::Relaxed);
    set(&words.head, head);
    drop(core);
    queue
}

#[test]
fn a_taker_finds_what_the_owner_runs_once() {
    let queue = consuming(4);
    let (words, mut core) = (&queue.lanes[OWN], queue.lock());
    words.set_running(2, 2);
    assert!(queue.revoke(&mut core));
    let queued = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!((queued[OWN].freed_to, queued[OWN].running), (Some(4), 2));
    assert!(queue.revoke(&mut core));
    let again = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!((again[OWN].freed_to, again[OWN].running), (None, 0));
    // The owner is asked, and answers once.
    assert!(words.end_running());
    assert_eq!(queue.answer(&mut core), 2..4);
    assert!(queue.answer(&mut core).is_empty());
    assert!(!words.end_running(), "no taker asks any more");
}

#[test]
fn a_pop_that_is_undone_was_never_running() {
    let queue = consuming(4);
    let (words, mut core) = (&queue.lanes[OWN], queue.lock());
    assert!(queue.revoke(&mut core));
    words.set_running(4, 1); // the taker sees the note, and not the head
    let queued = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!((queued[OWN].freed_to, queued[OWN].running), (Some(4), 0));
    set(&words.head, 5);
    let kept = queue.keep(&core, OWN, Popped { at: 4, count: 1 });
    assert!(kept.iter().all(Option::is_none) && words.running().is_empty());
    assert!(queue.answer(&mut core).is_empty());
}

#[test]
fn a_pop_before_the_take_over_is_kept_and_running() {
    let queue = consuming(4);
    let (words, mut core) = (&queue.lanes[OWN], queue.lock());
    assert!(queue.revoke(&mut core));
    words.set_running(4, 1);
    set(&words.head, 5);
    let queued = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!((queued[OWN].freed_to, queued[OWN].running), (Some(5), 1));
    let kept = queue.keep(&core, OWN, Popped { at: 4, count: 1 });
    assert_eq!(kept[0].map(|entry| entry.what), Some(4));
    assert!(!words.running().is_empty());
}

/// A taker that has begun may find what the owner runs next: the owner stays asked.
#[test]
fn an_answer_during_a_take_over_is_not_the_last_one() {
    let queue = consuming(4);
    let (words, mut core) = (&queue.lanes[OWN], queue.lock());
    words.set_running(3, 1);
    assert!(queue.revoke(&mut core));
    assert!(words.end_running());
    assert!(queue.answer(&mut core).is_empty());
    words.set_running(4, 1);
    set(&words.head, 5);
    let queued = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!(queued[OWN].running, 1);
    assert!(words.end_running(), "still asked");
}

#[test]
fn the_owner_pops_two_under_the_lock() {
    let queue = consuming(0);
    let (words, mut core) = (&queue.lanes[OWN], queue.lock());
    set(&words.done, 3);
    set(&words.until, 3);
    let whats = |popped: [Option<Entry>; 2]| popped.map(|entry| entry.map(|entry| entry.what));
    assert_eq!(whats(queue.pop_own(&core)), [Some(0), Some(1)]);
    assert_eq!(words.running(), 0..2);
    assert!(!words.end_running());
    assert_eq!(whats(queue.pop_own(&core)), [Some(2), None]);
    assert_eq!(words.running(), 2..3);
    assert!(!words.end_running());
    assert_eq!(whats(queue.pop_own(&core)), [None; 2]);
    assert!(words.running().is_empty());
    core.chains[OWN].taken = true;
    set(&words.until, 9);
    assert_eq!(whats(queue.pop_own(&core)), [None; 2]);
}

#[test]
fn the_child_of_a_fork_forgets_what_others_run() {
    for (run_code, own, goes_on) in [
        (false, false, false),
        (false, true, false),
        (true, false, false),
        (true, true, true),
    ] {
        let queue = consuming(4);
        let (words, mut core) = (&queue.lanes[OWN], queue.lock());
        words.set_running(2, 2);
        let queued = queue.forked(&mut core, run_code, own);
        assert_eq!(queued[OWN].running, 2, "not inherited");
        assert_eq!(words.running().is_empty(), !goes_on);
        assert!(!words.end_running(), "no taker asks");
        assert!(core.out.is_empty());
    }
}
