//! What locks and unlocks make of a word, and the crowd's counts of one thread.

use super::*;

fn reader(word: u64) -> &'static Reader {
    Box::leak(Box::new(Reader::new(word, FLAG_CLEAR)))
}

fn word(reader: &Reader) -> (u64, u64) {
    let word = reader.word.load(Ordering::Relaxed);
    (nesting(word), generation(word))
}

/// In a thread of its own, whose cells are as new; and with no grace periods of other tests, which would wait for it.
fn alone(what: impl FnOnce() + Send + 'static) {
    let _alone = crate::inner::gp::calls::recording::nobody_records();
    std::thread::spawn(what).join().expect("no panic");
}

#[test]
fn a_word_is_two_numbers() {
    assert_eq!((nesting(0x5_0003), generation(0x5_0003)), (3, 5));
    assert_eq!((nesting(0xffff), generation(0xffff)), (0xffff, 0));
    assert_eq!(word(&Reader::new_dummy()), (0xffff, 0));
}

#[test]
fn a_section_is_a_generation_and_a_level() {
    let reader = reader(0);
    for generation in 1..3 {
        assert!(begin(reader));
        assert_eq!(word(reader), (1, generation));
        assert!(begin(reader));
        assert_eq!(word(reader), (2, generation));
        assert_eq!(reader.nesting(), 2);
        assert!(!end(reader));
        assert_eq!(word(reader), (1, generation));
        assert!(!end(reader));
        assert_eq!(word(reader), (0, generation));
    }
    reader.word.store(NEST_LIMIT - 1, Ordering::Relaxed);
    assert!(begin(reader));
    assert!(!begin(reader), "the slow way is for that");
    assert_eq!(word(reader), (NEST_LIMIT, 0));
    reader.flag.store(FLAG_WAKE, Ordering::Relaxed);
    assert!(end(reader), "somebody waits");
}

#[test]
fn where_a_thread_is_in_the_crowd() {
    alone(|| {
        prim::tls_set(CELL_CROWD, (5 << 32) | 3);
        let sections = [crowd_sections(CELL_CROWD, 0), crowd_sections(CELL_CROWD, 1)];
        prim::tls_set(CELL_CROWD, 0);
        assert_eq!(sections, [3, 5]);
        assert_eq!([crowd_unit(0), crowd_unit(1)], [1, 1 << 32]);
    });
}

/// All of a thread's sections are on one side, wherever newcomers go meanwhile.
#[test]
fn a_thread_stays_on_its_side_of_the_crowd() {
    alone(|| {
        let domain = prim::domain();
        for round in 0..4 {
            let first = lock_crowd(domain);
            let side = first.flag.load(Ordering::Relaxed) - SINK_CROWD;
            assert!(in_section());
            assert_eq!(
                (
                    crowd_sections(CELL_CROWD, side),
                    crowd_sections(CELL_CROWD, 1 - side)
                ),
                (1, 0)
            );
            assert_eq!(domain.slots.look(side), (false, 0));
            assert_eq!(domain.slots.crowd_side(), 1 - side, "{round}");
            let second = lock_crowd(domain);
            assert!(std::ptr::eq(second, first));
            assert_eq!(
                (
                    crowd_sections(CELL_CROWD, side),
                    crowd_sections(CELL_CROWD, 1 - side)
                ),
                (2, 0)
            );
            unlock(first);
            assert_eq!(crowd_sections(CELL_CROWD, side), 1);
            unlock(second);
            assert!(!in_section());
        }
    });
}

/// A section that somebody waits for goes on as a new one, if it is the only one.
#[test]
fn a_section_that_is_waited_for_ends_when_it_is_repinned() {
    alone(|| {
        drop(crate::read_lock()); // registers
        let domain = prim::domain();
        let Some(slot) = domain.own_slot() else {
            return;
        };
        let own = &slot.seat.reader;
        if !std::ptr::eq(prim::reader(), own) {
            return; // fenced mode: the sink's business
        }
        let flag = |flag| own.flag.store(flag, Ordering::Relaxed);
        let first = lock();
        assert!(in_section() && std::ptr::eq(first, own));
        let (_, before) = word(own);
        assert!(std::ptr::eq(repin(first), first));
        assert_eq!(word(own), (1, before), "nobody waits");
        let second = lock();
        flag(FLAG_WAKE);
        assert!(std::ptr::eq(repin(second), own));
        assert_eq!(word(own), (2, before), "another one is open");
        flag(FLAG_CLEAR);
        unlock(second);
        flag(FLAG_WAKE);
        assert!(std::ptr::eq(repin(first), own));
        assert_eq!(word(own), (1, before + 1));
        assert_eq!(own.flag.load(Ordering::Relaxed), FLAG_CLEAR);
        unlock(first);
        assert!(!in_section());
    });
}

/// The same in the crowd, on both of its sides.
#[test]
fn a_section_in_the_crowd_is_repinned_to_the_other_side() {
    for _ in 0..2 {
        alone(|| {
            let domain = prim::domain();
            let first = lock_crowd(domain);
            let side = first.flag.load(Ordering::Relaxed) - SINK_CROWD;
            let counter = domain.slots.slot(side).expect("the crowd's");
            let flag = |flag| counter.seat.reader.flag.store(flag, Ordering::Relaxed);
            assert!(std::ptr::eq(repin(first), first), "nobody waits");
            let second = lock_crowd(domain);
            flag(FLAG_WAKE);
            assert!(std::ptr::eq(repin(second), second), "another one is open");
            flag(FLAG_CLEAR);
            unlock(second);
            assert_eq!(crowd_sections(CELL_CROWD, side), 1);
            domain.slots.look(side); // newcomers go to the other side
            assert_eq!(domain.slots.crowd_side(), 1 - side);
            flag(FLAG_WAKE);
            let again = repin(first);
            assert!(!std::ptr::eq(again, first), "it begins as any other one");
            flag(FLAG_CLEAR);
            assert_eq!(crowd_sections(CELL_CROWD, side), 0);
            unlock(again);
            assert!(!in_section());
        });
    }
}

/// A handler has registered the thread between the look for a slot and here.
#[test]
fn who_has_a_slot_by_now_is_not_in_the_crowd() {
    alone(|| {
        drop(crate::read_lock()); // registers
        let domain = prim::domain();
        let Some(slot) = domain.own_slot() else {
            return;
        };
        if !std::ptr::eq(prim::reader(), &slot.seat.reader) {
            return; // fenced mode: a sink of its own
        }
        let reader = lock_crowd(domain);
        assert!(std::ptr::eq(reader, &slot.seat.reader));
        assert_eq!((prim::tls_get(CELL_CROWD), reader.nesting()), (0, 1));
        unlock(reader);
    });
}

/// Whoever waited has gone between the look that found a flag and this.
#[test]
fn a_flag_that_is_clear_again_is_nobody_s() {
    let reader = reader(1);
    assert!(std::ptr::eq(repin_slow(reader), reader));
}

/// A thread in fenced mode is known by a cell of its own, since its word's is the dummy's.
#[test]
fn a_thread_in_fenced_mode_knows_its_slot() {
    alone(|| {
        assert!(own_fenced_slot().is_none());
        let slots: &'static crate::inner::reader::threads::Slots =
            Box::leak(Box::new(crate::inner::reader::threads::Slots::new()));
        let slot = slots.claim().expect("it is empty");
        prim::tls_set(CELL_FENCED, std::ptr::from_ref(slot).expose_provenance());
        let found = own_fenced_slot();
        let outside = in_section();
        let sink = slot.seat.lock_fenced();
        let inside = in_section();
        prim::tls_set(CELL_FENCED, 0);
        assert!(found.is_some_and(|found| std::ptr::eq(found, slot)));
        assert!(!outside && inside && !std::ptr::eq(sink, &slot.seat.reader));
    });
}
