//! Blocks: allocated as spares, linked ahead, removed.

use super::*;

#[test]
fn put_appends_an_entry() {
    let queue = queue();
    let mut core = queue.lock();
    let words = &queue.lanes[PLAIN];
    assert!(!queue.put(&mut core, PLAIN, entry(7), 5)); // no block
    assert!(queue.is_starved(PLAIN));
    assert_eq!((get(&words.end), get(&words.left)), (0, 0));
    assert!(queue.provide(PLAIN));
    assert!(queue.put(&mut core, PLAIN, entry(7), 5));
    assert!(!queue.is_starved(PLAIN) && queue.is_starved(CODE));
    assert_eq!(
        (get(&words.end), get(&words.left)),
        (1, 5_u64.wrapping_neg())
    );
    assert!(queue.put(&mut core, PLAIN, entry(8), 0)); // in the same block
    let block = core.chains[PLAIN].first;
    // SAFETY: in the chain.
    let what = |at| unsafe { (*block).get(at) }.what;
    assert_eq!([what(0), what(1)], [7, 8]);
    queue.unpush(PLAIN, 2);
    assert_eq!(
        (get(&words.end), get(&words.left)),
        (1, 3_u64.wrapping_neg())
    );
}

/// Many threads share the queue, and have used the caller's spare block.
#[test]
fn put_among_others_allocates_another_block() {
    let queue = queue();
    for at in 0..N + 1 {
        let (core, was_put) = queue.put_among_others(queue.lock(), CODE, entry(at), 0);
        assert!(was_put);
        drop(core);
    }
    assert_eq!(get(&queue.lanes[CODE].end), N + 1);
    assert_eq!(queue.lock().chains[CODE].end(), 2 * N);
}

/// As many blocks are allocated as will be needed, minus those that are linked or have been emptied.
#[test]
fn prepare_allocates_the_missing_blocks() {
    struct Case {
        end: u64,
        reach: u64,
        linked: u64,
        freed: u64,
        head: u64,
        ahead: u32,
    }
    let all_used = |end, ahead| Case {
        end,
        reach: end,
        linked: end,
        freed: 0,
        head: 0,
        ahead,
    };
    let cases = [
        (all_used(0, 0), 1, 2),
        (all_used(N, 1), 4, 5),
        (all_used(5 * N, 4), 8, 9),
        (all_used(9 * N, 8), 8, 9),
        // Its blocks are not used up: the number stays.
        (
            Case {
                reach: N + 1,
                ..all_used(N, 1)
            },
            1,
            2,
        ),
        // Two whole blocks were emptied since: three are missing.
        (
            Case {
                freed: N,
                head: 3 * N,
                ..all_used(5 * N, 1)
            },
            4,
            3,
        ),
        (
            Case {
                freed: N,
                head: 3 * N - 1,
                ..all_used(5 * N, 1)
            },
            4,
            4,
        ),
        // At least one is allocated.
        (
            Case {
                freed: 0,
                head: 5 * N,
                ..all_used(5 * N, 1)
            },
            4,
            1,
        ),
        (
            Case {
                linked: 30 * N,
                ..all_used(5 * N, 1)
            },
            4,
            1,
        ),
        // The head has been set back since.
        (
            Case {
                freed: 2 * N,
                ..all_used(5 * N, 1)
            },
            4,
            5,
        ),
    ];
    for (number, (case, ahead, brought)) in cases.into_iter().enumerate() {
        let queue = queue();
        let words = &queue.lanes[PLAIN];
        set(&words.end, case.end);
        set(&words.reach, case.reach);
        queue.linked[PLAIN].store(case.linked, std::sync::atomic::Ordering::Relaxed);
        set(&words.freed, case.freed);
        set(&words.head, case.head);
        words.ahead.store(case.ahead, Ordering::Relaxed);
        queue.most_ahead[PLAIN].store(8, std::sync::atomic::Ordering::Relaxed);
        queue.prepare(PLAIN);
        assert_eq!(words.ahead.load(Ordering::Relaxed), ahead, "{number}");
        assert_eq!(spares(queue, PLAIN), brought, "{number}");
    }
}

#[test]
fn prepare_allocates_nothing_within_a_block() {
    let queue = owned(3, 2);
    let words = &queue.lanes[PLAIN];
    set(&words.reach, N);
    assert_ne!(spares(queue, PLAIN), 0);
    queue.prepare(PLAIN);
    assert_eq!(spares(queue, PLAIN), 0);
    words.block.store(queue.nothing(), Ordering::Relaxed);
    queue.prepare(PLAIN); // it has none
    assert_ne!(spares(queue, PLAIN), 0);
}

#[test]
fn spare_blocks_are_linked_up_to_the_reach() {
    for (reach, linked, spare, used_left) in [
        (1, 1, 1, 1),
        (N, 1, 1, 1),
        (N + 1, 2, 1, 0),
        (3 * N, 3, 0, 0),
    ] {
        let queue = queue();
        let mut core = queue.lock();
        assert!(queue.provide(PLAIN));
        let mut used = Garbage::new();
        used.push(crate::queue::chain::new_block());
        used.push(crate::queue::chain::new_block());
        assert!(queue.make_room(&mut core, PLAIN, reach, Some(&mut used)));
        let chain = &core.chains[PLAIN];
        assert_eq!(chain.end(), linked * N, "{reach}");
        let words = &queue.lanes[PLAIN];
        assert_eq!(words.block.load(Ordering::Relaxed), chain.first);
        let next = Chain::next(chain.first);
        assert_eq!(words.next.load(Ordering::Relaxed), next, "{reach}");
        assert_eq!(next.is_null(), linked == 1);
        assert_eq!(spares(queue, PLAIN), spare, "{reach}");
        assert_eq!(count(&mut used), used_left, "{reach}");
        // If there is room already, as many spare blocks stay as may be linked ahead, or one.
        let there = chain.end();
        for (ahead, stay) in [(3, 3), (2, 2), (0, 1)] {
            words.ahead.store(ahead, Ordering::Relaxed);
            (0..4).for_each(|_| queue.spares[PLAIN].add(crate::queue::chain::new_block()));
            assert!(queue.make_room(&mut core, PLAIN, there, Some(&mut used)));
            assert_eq!(spares(queue, PLAIN), stay, "{reach}");
            assert_eq!(count(&mut used), 4 - stay, "{reach}");
        }
        // Emptied ones become spare.
        words.ahead.store(2, Ordering::Relaxed);
        (0..3).for_each(|_| used.push(crate::queue::chain::new_block()));
        assert!(queue.make_room(&mut core, PLAIN, there, Some(&mut used)));
        assert_eq!((spares(queue, PLAIN), count(&mut used)), (2, 1), "{reach}");
    }
}

/// Without a `Garbage` for the rest, all spare blocks stay.
#[test]
fn spare_blocks_stay_without_garbage() {
    let queue = queue();
    let words = &queue.lanes[PLAIN];
    words.ahead.store(8, Ordering::Relaxed);
    queue.most_ahead[PLAIN].store(8, std::sync::atomic::Ordering::Relaxed);
    queue.prepare(PLAIN); // nine
    let mut core = queue.lock();
    assert!(queue.put(&mut core, PLAIN, entry(0), 0));
    assert_eq!(core.chains[PLAIN].end(), N);
    assert_eq!(spares(queue, PLAIN), 8);
}

#[test]
fn as_many_spares_are_kept_as_asked_for() {
    for (keep, kept, left) in [(0, 0, 3), (2, 2, 1), (3, 3, 0), (5, 3, 0)] {
        let (queue, mut used) = (queue(), Garbage::new());
        (0..3).for_each(|_| used.push(crate::queue::chain::new_block()));
        queue.keep_spares(PLAIN, keep, &mut used);
        assert_eq!((spares(queue, PLAIN), count(&mut used)), (kept, left));
    }
}
