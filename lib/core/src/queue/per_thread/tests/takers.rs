//! Takers: workers, barriers, exits, and the child of a fork.

use super::*;
use crate::domain::state::State;
use crate::queue::weight::Owned;

#[test]
fn a_take_over() {
    let queue = owned(9, 2);
    let mut core = queue.lock();
    let _ = settle(queue, &mut core, 3 * N);
    set(&queue.lanes[PLAIN].head, 4);
    core.chains[PLAIN].given = 50;
    set(&queue.lanes[PLAIN].left, 20);
    assert!(queue.revoke(&mut core));
    assert!(queue.lanes.iter().all(|words| get(&words.limit) == 0));
    let mut garbage = Garbage::new();
    let queued = queue
        .take(&mut core, Some(&mut garbage))
        .expect("it is revoked");
    let plain = Queued {
        end: 9,
        bytes: 30,
        freed_to: Some(4),
        ..Queued::default()
    };
    assert_eq!(queued[PLAIN], plain);
    assert_eq!((queued[CODE].end, queued[CODE].freed_to), (9, None));
    assert!(core.is_taken());
    assert_eq!(core.chains[PLAIN].seen, 4);
    let words = &queue.lanes[PLAIN];
    assert_eq!((core.chains[PLAIN].end(), linked_to(queue, PLAIN)), (N, N));
    assert_eq!(words.ahead.load(Ordering::Relaxed), 0); // little is queued
    // Once more: the owner does not consume any more.
    assert!(queue.revoke(&mut core));
    let again = queue.take(&mut core, None).expect("it was taken before");
    assert_eq!(again[PLAIN].freed_to, None);
}

#[test]
fn an_owner_completes_a_take_over_itself() {
    let queue = owned(9, 0);
    let mut core = queue.lock();
    let _ = settle(queue, &mut core, N);
    assert!(queue.revoke(&mut core));
    assert!(queue.revoked(&mut core) && !queue.revoked(&mut core));
    assert!(queue.take(&mut core, None).is_none()); // it consumes again
    core.hands_off = true;
    let _ = settle(queue, &mut core, N);
    let queued = queue.take(&mut core, None).expect("others consume");
    assert!(queued[PLAIN].credit && queued[CODE].credit);
    assert_eq!((queued[PLAIN].end, queued[PLAIN].bytes), (0, 0)); // as known to the engine
}

#[test]
fn a_queue_without_an_owner_is_taken_without_a_fence() {
    let queue = owned(9, 0);
    let mut core = queue.lock();
    core.owned = false;
    assert!(!queue.revoke(&mut core) && !core.revoking);
    let queued = queue
        .take(&mut core, None)
        .expect("no other thread is faster");
    assert_eq!((queued[PLAIN].end, queued[CODE].end), (9, 9));
}

/// An owner with more than a block queued keeps its number of blocks ahead.
#[test]
fn more_than_a_block_queued_keeps_blocks_ahead() {
    for (consumed, queued, ahead) in [(0, N, 0), (0, N + 1, 2), (7, N, 0), (7, N + 1, 2)] {
        let (queue, mut engine) = (owned(consumed + queued, 2), Engine::new());
        let mut core = queue.lock();
        engine.done(queue, &mut core);
        let mut places = vec![Entry::NONE; consumed as usize];
        let range = queue.extract(&mut core, PLAIN, &mut places, &mut Garbage::new());
        core.cpu.ran(Lane::Plain, range);
        assert!(queue.revoke(&mut core));
        let taken = queue.take(&mut core, None).expect("it is revoked");
        assert_eq!(taken[PLAIN].end, consumed + queued);
        let left = queue.lanes[PLAIN].ahead.load(Ordering::Relaxed);
        assert_eq!(left, ahead, "{consumed} {queued}");
    }
}

#[test]
fn a_push_into_the_dummy_block_does_not_count() {
    let queue = queue();
    let mut core = queue.lock();
    core.owned = true;
    assert!(queue.lanes[PLAIN].push_only(entry(1), 0)); // into the dummy block
    assert!(queue.revoke(&mut core));
    let queued = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!(queued[PLAIN].end, 0);
    // The same behind the last block.
    let queue = owned(N, 0);
    let mut core = queue.lock();
    set(&queue.lanes[PLAIN].end, N + 1);
    assert!(queue.revoke(&mut core));
    let queued = queue.take(&mut core, None).expect("it is revoked");
    assert_eq!(queued[PLAIN].end, N);
}

#[test]
fn bytes_of_an_entry_whose_push_is_not_over_are_counted_with_it() {
    let (queue, mut engine) = (owned(3, 0), Engine::new());
    let mut core = queue.lock();
    engine.done(queue, &mut core); // so that the engine knows of three
    let words = &queue.lanes[PLAIN];
    set(&words.left, get(&words.left).wrapping_sub(100)); // a push: its bytes, and then the new end
    assert!(queue.revoke(&mut core));
    let taken = queue.take(&mut core, None).expect("it was revoked");
    assert_eq!((taken[PLAIN].end, taken[PLAIN].bytes), (3, 0));
    set(&words.end, 4);
    let queued = queue.report(&mut core, false);
    assert_eq!((queued[PLAIN].end, queued[PLAIN].bytes), (4, 100));
}

#[test]
fn done_entries_are_taken_out() {
    let (queue, mut engine) = (owned(2 * N + 9, 0), Engine::new());
    let mut core = queue.lock();
    let mut places = [Entry::NONE; 300];
    let mut garbage = Garbage::new();
    assert_eq!(queue.unreported(&core).count, 3 * (2 * N + 9));
    engine.done(queue, &mut core);
    assert_eq!(queue.unreported(&core), Default::default());
    core.chains[PLAIN].taken = false;
    assert!(
        queue
            .extract(&mut core, PLAIN, &mut places, &mut garbage)
            .is_empty()
    );
    core.chains[PLAIN].taken = true;
    let range = queue.extract(&mut core, PLAIN, &mut places[..5], &mut garbage);
    assert_eq!(range, 0..5);
    assert_eq!(count(&mut garbage), 0);
    let range = queue.extract(&mut core, PLAIN, &mut places, &mut garbage);
    assert_eq!(range, 5..305);
    assert!(places.iter().zip(range).all(|(place, at)| place.what == at));
    assert_eq!(count(&mut garbage), 1);
    // The block of the entry that the owner popped last stays.
    core.chains[CODE].seen = N;
    let first = core.chains[CODE].first;
    let mut all = [Entry::NONE; 3 * BLOCK];
    let range = queue.extract(&mut core, CODE, &mut all, &mut garbage);
    assert_eq!(range, 0..2 * N + 9);
    assert!(all.iter().zip(range).all(|(place, at)| place.what == at));
    assert_eq!(count(&mut garbage), 1); // of two that are used up
    assert_eq!(core.chains[CODE].first, first);
    assert_eq!(core.chains[CODE].end(), 3 * N);
}

#[test]
fn without_an_owner_nothing_is_pinned() {
    for (is_owned, seen, gone) in [
        (false, N, 2),
        (true, N, 1),
        (true, 0, 2),
        (true, N + 1, 1),
        (true, 2 * N + 1, 2),
    ] {
        let (queue, mut engine) = (owned(2 * N + 9, 0), Engine::new());
        let mut core = queue.lock();
        engine.done(queue, &mut core);
        core.owned = is_owned;
        core.chains[PLAIN].seen = seen;
        let mut garbage = Garbage::new();
        queue.extract(
            &mut core,
            PLAIN,
            &mut [Entry::NONE; 3 * BLOCK],
            &mut garbage,
        );
        assert_eq!(count(&mut garbage), gone, "{is_owned} {seen}");
    }
}

/// A thread that consumes leaves the owner the emptied blocks, up to its number of blocks ahead; one, once
/// nothing is left.
#[test]
fn emptied_blocks_are_the_owners() {
    for (is_owned, ahead, spare) in [(true, 2, [2, 1]), (true, 0, [1, 1]), (false, 2, [0, 0])] {
        let (queue, mut engine) = (owned(3 * N + 9, ahead), Engine::new());
        let mut core = queue.lock();
        engine.done(queue, &mut core);
        core.owned = is_owned;
        let mut garbage = Garbage::new();
        queue.spares[CODE].trim(0, &mut garbage);
        queue.lanes[CODE].ahead.store(ahead, Ordering::Relaxed);
        let mut places = [Entry::NONE; 3 * BLOCK];
        for (consumed, spare) in [(3 * N, spare[0]), (9, spare[1])] {
            let range = queue.extract(&mut core, CODE, &mut places, &mut garbage);
            assert_eq!(range.end - range.start, consumed);
            assert_eq!(spares(queue, CODE), spare, "{is_owned} {ahead} {consumed}");
        }
    }
}

/// Also if each entry is taken out by itself.
#[test]
fn a_block_is_emptied_by_its_last_entry() {
    let (queue, mut engine) = (owned(3 * N + 9, 2), Engine::new());
    let mut core = queue.lock();
    engine.done(queue, &mut core);
    queue.spares[CODE].trim(0, &mut Garbage::new());
    queue.lanes[CODE].ahead.store(2, Ordering::Relaxed);
    for taken in 1..=2 * N {
        let mut garbage = Garbage::new();
        queue.extract(&mut core, CODE, &mut [Entry::NONE], &mut garbage);
        let is_last = taken.is_multiple_of(N);
        assert_eq!(spares(queue, CODE), usize::from(is_last), "{taken}");
    }
}

/// Other threads consume from the front, and the owner continues behind them.
#[test]
fn the_owner_continues_where_takers_ended() {
    let (queue, mut engine) = (owned(N + 9, 0), Engine::new());
    let mut core = queue.lock();
    engine.done(queue, &mut core);
    let mut places = [Entry::NONE; BLOCK + 2];
    let range = queue.extract(&mut core, PLAIN, &mut places, &mut Garbage::new());
    core.cpu.ran(Lane::Plain, range);
    let one = Credit {
        until: 2 * N,
        done: N + 9,
        ..Credit::default()
    };
    queue.settle(&mut core, &[one; LANES], false, &mut Garbage::new());
    let words = &queue.lanes[PLAIN];
    assert!(!core.is_taken());
    assert_eq!((get(&words.head), get(&words.freed)), (N + 2, N + 2));
    assert_eq!(get(&words.until), N + 9);
    let last = core.chains[PLAIN].last;
    assert_eq!(words.head_block.load(Ordering::Relaxed), last);
    // … until it hands off again.
    core.hands_off = true;
    queue.settle(&mut core, &[one; LANES], false, &mut Garbage::new());
    assert_eq!((core.chains[PLAIN].seen, get(&words.until)), (N + 2, 0));
}

#[test]
fn a_cleared_queue_has_no_blocks() {
    let queue = owned(9, 2);
    let mut core = queue.lock();
    queue.provide(CODE);
    let mut garbage = Garbage::new();
    queue.clear(&mut core, &mut garbage);
    assert!(count(&mut garbage) >= 3);
    for lane in [PLAIN, CODE] {
        let words = &queue.lanes[lane];
        assert!(queue.is_starved(lane) && queue.spares[lane].is_empty());
        assert!(words.next.load(Ordering::Relaxed).is_null());
        assert_eq!(words.ahead.load(Ordering::Relaxed), 0);
        assert_eq!(core.chains[lane].end(), 0);
    }
}

#[test]
fn ask_soon_lowers_the_limits() {
    let queue = owned(9, 0);
    let _ = settle(queue, &mut queue.lock(), N);
    queue.lanes[CODE].prompt.store(1, Ordering::Relaxed);
    queue.ask_soon();
    assert!(queue.lanes.iter().all(|words| get(&words.limit) == 0));
    assert_eq!(queue.lanes[CODE].prompt.load(Ordering::Relaxed), 0);
}

#[test]
fn an_idle_queue_is_empty_and_without_owner() {
    let (queue, mut engine) = (queue(), Engine::new());
    let mut core = queue.lock();
    assert!(core.is_idle() && core.is_taken());
    core.owned = true;
    assert!(!core.is_idle());
    core.owned = false;
    queue.provide(PLAIN);
    assert!(queue.put(&mut core, PLAIN, entry(1), 8));
    engine.done(queue, &mut core);
    assert!(!core.is_idle());
}

#[test]
fn the_child_of_a_fork_takes_everything() {
    for run_code in [false, true] {
        let queue = owned(9, 0);
        let mut core = queue.lock();
        let _ = settle(queue, &mut core, N);
        set(&queue.lanes[PLAIN].head, 2);
        core.offload = Some(true);
        unsafe fn run(_: std::ptr::NonNull<crate::queue::intrusive::Head>) {}
        let mut head = crate::queue::intrusive::Head::new();
        // SAFETY: it outlives the queue's use of it: it is taken out below, or forgotten.
        unsafe { core.heads.push((&mut head).into(), run) };
        let queued = queue.forked(&mut core, run_code, false);
        assert_eq!((queued[PLAIN].end, queued[PLAIN].freed_to), (9, Some(2)));
        assert!(!core.owned && !core.revoking && core.is_taken());
        assert_eq!(core.offload, None);
        assert_eq!(core.heads.pop().is_some(), run_code);
        assert_eq!(get(&queue.lanes[PLAIN].limit), 0);
    }
}

/// An owner without a block publishes an entry that is nowhere before it takes the lock. In the child it does
/// not come back for it.
#[test]
fn a_push_into_the_dummy_block_is_undone_in_the_child() {
    for own in [false, true] {
        let queue = queue();
        let mut core = queue.lock();
        core.owned = true;
        let words = &queue.lanes[PLAIN];
        let _ = settle(queue, &mut core, 0);
        assert!(queue.is_starved(PLAIN));
        assert!(words.push_only(entry(1), 8), "it takes the lock next");
        assert_eq!(queue.forked(&mut core, true, own)[PLAIN].end, 0);
        if own {
            queue.unpush(PLAIN, 8); // the forking thread was interrupted there, and continues
        }
        assert_eq!(get(&words.end), 0);
        assert_eq!(core.chains[PLAIN].spent(words), 0);
    }
}

/// An owner that helps with what was taken over takes it out under the lock, as others do: its own words
/// still say that the entries are its to pop.
#[test]
fn a_helping_owner_pops_nothing_that_was_taken_over() {
    let queue = queue();
    let mut core = queue.lock();
    core.owned = true;
    queue.provide(PLAIN);
    for value in 0..9u64 {
        // SAFETY: a new box.
        let entry = unsafe { Entry::plain(Box::into_raw(Box::new(value)), Owned::NOTHING) };
        assert!(queue.put(&mut core, PLAIN, entry, 0));
    }
    Engine::new().done(queue, &mut core);
    let words = &queue.lanes[PLAIN];
    let block = words.block.load(Ordering::Relaxed);
    words.head_block.store(block, Ordering::Relaxed);
    set(&words.until, 9);
    set(&words.done, 9);
    core.chains[PLAIN].taken = true;
    drop(core);
    assert_eq!(State::of(queue).help_along(queue, 5), 5);
    assert_eq!(queue.lock().cpu.list(Lane::Plain).ready(), 4);
    assert_eq!(get(&words.head), 0, "popped");
}
