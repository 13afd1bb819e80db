//! The engine's credit becomes the owner's words, and the owner's progress is reported.

use super::*;

/// The limit of a lane that ends here: the owner of a new queue stops at each destructor.
fn stops(lane: usize, end: u64, limit: u64) -> u64 {
    match lane {
        OWN => limit.min(end + 1),
        _ => limit,
    }
}

#[test]
fn credit_becomes_limits() {
    // With none ahead, the end of the block is the end of all blocks.
    let queue = owned(5, 0);
    let _ = settle(queue, &mut queue.lock(), 1000);
    for (lane, words) in queue.lanes.iter().enumerate() {
        let is = (get(&words.limit), get(&words.reach), linked_to(queue, lane));
        assert_eq!(is, (stops(lane, 5, N), N, N));
    }
    // End, credit: the limit, the value it may be raised to, and the end of the linked blocks.
    for (end, until, limit, reach, linked) in [
        (0, 1000, N, 3 * N, 3 * N),
        (0, 2 * N + 5, N, 2 * N + 5, 3 * N),
        (0, N, N, N, N),
        (0, 7, 7, 7, N),
        (N - 1, 2 * N, N, 2 * N, 2 * N),
        (5, 5, 5, 5, N), // no credit
    ] {
        let queue = owned(end, 2);
        let mut core = queue.lock();
        let _ = settle(queue, &mut core, until);
        for (lane, words) in queue.lanes.iter().enumerate() {
            let is = (get(&words.limit), get(&words.reach), linked_to(queue, lane));
            assert_eq!(
                is,
                (stops(lane, end, limit), reach, linked),
                "{end} {until}"
            );
            assert_eq!(
                words.next.load(Ordering::Relaxed).is_null(),
                linked <= end / N * N + N
            );
        }
        let mut garbage = Garbage::new();
        queue.settle(&mut core, &[credit(until); LANES], true, &mut garbage);
        for words in &queue.lanes {
            assert_eq!(
                get(&words.reach),
                limit,
                "it waits for something: {end} {until}"
            );
        }
    }
}

#[test]
fn without_credit_blocks_ahead_are_removed() {
    let queue = owned(0, 2);
    let mut core = queue.lock();
    let mut garbage = settle(queue, &mut core, 4 * N);
    assert_eq!((core.chains[PLAIN].end(), count(&mut garbage)), (3 * N, 0));
    let mut garbage = settle(queue, &mut core, 0);
    // Two in each lane. The second and the third lane keep one of them as a spare.
    assert_eq!((core.chains[PLAIN].end(), count(&mut garbage)), (N, 4));
    let words = &queue.lanes[PLAIN];
    assert!(words.next.load(Ordering::Relaxed).is_null());
    assert_eq!((get(&words.limit), linked_to(queue, PLAIN)), (0, N));
}

#[test]
fn without_memory_the_limit_is_zero() {
    let queue = queue();
    let mut core = queue.lock();
    core.owned = true;
    let _ = settle(queue, &mut core, 1000);
    for lane in [PLAIN, CODE] {
        let words = &queue.lanes[lane];
        assert!(queue.is_starved(lane) && words.next.load(Ordering::Relaxed).is_null());
        assert_eq!((get(&words.limit), get(&words.reach)), (0, 0));
    }
}

#[test]
fn settle_sets_the_owner_s_words() {
    let queue = owned(9, 0);
    let mut core = queue.lock();
    let mut give = |done, behind, bytes| {
        let one = Credit {
            until: N,
            bytes,
            done,
            behind,
            batch: N,
        };
        queue.settle(&mut core, &[one; LANES], false, &mut Garbage::new());
        let words = &queue.lanes[PLAIN];
        assert_eq!(core.chains[PLAIN].given, bytes);
        assert_eq!((get(&words.left), get(&words.done)), (bytes, done));
        (get(&words.until), words.step.load(Ordering::Relaxed))
    };
    assert_eq!(give(4, false, 77), (4, 1));
    assert_eq!(give(N, true, 5), (N, 2));
    assert_eq!(give(N + 9, false, 5), (N, 1));
    let words = &queue.lanes[PLAIN];
    assert_eq!(
        words.head_block.load(Ordering::Relaxed),
        core.chains[PLAIN].first
    );
    assert!(!core.is_taken() && core.chains[CODE].taken);
    assert_eq!(get(&queue.lanes[CODE].until), 0); // code is never popped
}

#[test]
fn settle_decides_who_consumes() {
    let mut engine = Engine::new();
    let reclaims = |change: &mut dyn FnMut(&Queue, &mut QueueCore)| {
        let queue = owned(9, 0);
        let mut core = queue.lock();
        let _ = settle(queue, &mut core, N);
        assert!(!core.is_taken());
        change(queue, &mut core);
        let all = Credit {
            until: N,
            done: 9,
            ..Credit::default()
        };
        queue.settle(&mut core, &[all; LANES], false, &mut Garbage::new());
        assert_eq!(core.is_taken(), get(&queue.lanes[PLAIN].until) == 0);
        !core.is_taken()
    };
    assert!(reclaims(&mut |_, _| ()));
    assert!(!reclaims(&mut |_, core| core.owned = false));
    assert!(!reclaims(&mut |_, core| core.hands_off = true));
    let mut hurry = |queue: &Queue, core: &mut QueueCore| {
        let queued = queue.report(core, false);
        let cpu = &mut core.cpu;
        let _ = cpu.refill(&mut engine.global, &queued, Urgency::Hurry, NOW);
    };
    assert!(!reclaims(&mut hurry));
}

#[test]
fn report_contains_the_owner_s_progress() {
    let queue = owned(9, 3);
    let mut core = queue.lock();
    let _ = settle(queue, &mut core, 4 * N);
    for lane in [PLAIN, CODE] {
        core.chains[lane].given = 50;
        set(&queue.lanes[lane].left, 20);
        set(&queue.lanes[lane].head, 2);
    }
    let queued = queue.report(&mut core, false);
    let plain = Queued {
        end: 9,
        bytes: 30,
        freed_to: Some(2),
        credit: true,
        offload: false,
        reach: 4 * N,
        running: 0,
        owes: false,
        grown: false,
    };
    assert_eq!(queued[PLAIN], plain);
    assert_eq!(
        queued[CODE],
        Queued {
            freed_to: None,
            ..plain
        }
    );
    assert!(!core.hands_off);
    core.owned = false;
    let queued = queue.report(&mut core, true);
    assert!(core.hands_off);
    assert_eq!(
        queued[PLAIN],
        Queued {
            bytes: 0,
            credit: false,
            offload: true,
            ..plain
        }
    );
}

#[test]
fn keep_drops_entries_that_were_taken_over() {
    let queue = owned(9, 0);
    let mut core = queue.lock();
    let _ = settle(queue, &mut core, N);
    let kept = |core: &QueueCore, at, count| {
        let kept = queue.keep(core, PLAIN, Popped { at, count });
        kept.map(|entry| entry.map(|entry| entry.what))
    };
    assert_eq!(kept(&core, 4, 0), [None, None]);
    assert_eq!(kept(&core, 4, 1), [Some(4), None]);
    assert_eq!(kept(&core, 4, 2), [Some(4), Some(5)]);
    core.chains[PLAIN].taken = true;
    core.chains[PLAIN].seen = 5;
    assert_eq!(kept(&core, 4, 1), [Some(4), None]); // before it was taken
    assert_eq!(kept(&core, 5, 1), [None, None]);
    assert_eq!(kept(&core, 6, 2), [None, None]);
}
