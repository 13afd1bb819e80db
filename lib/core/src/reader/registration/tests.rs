//! Registered and unregistered threads, their sections, and their locals.

use super::*;
use crate::prim::Ordering;
use crate::reader::word::{FLAG_CLEAR, FLAG_WAKE, SINK_UNREGISTERED, generation, nesting};
use crate::testing::{Program, program};

fn word(reader: &Reader) -> (u64, u64) {
    let word = reader.word.load(Ordering::Relaxed);
    (nesting(word), generation(word))
}

/// A section of a thread that got no slot.
fn lock_unregistered(program: &'static Program) -> &'static Reader {
    program.env.threads.lock_unregistered(&program.local())
}

/// The calling thread's sections as an unregistered reader, on both sides.
fn sections(program: &Program) -> [u64; 2] {
    [0, 1].map(|side| program.local().unregistered.sections(side))
}

#[test]
fn unregistered_sections_are_counted_per_side() {
    let program = program();
    program
        .local()
        .unregistered
        .restore((5 << (usize::BITS / 2)) | 3);
    assert_eq!(sections(program), [3, 5]);
}

/// All sections of a thread are on one side, whichever side newcomers join meanwhile.
#[test]
fn a_thread_stays_on_its_side() {
    {
        let program = program();
        let slots = &program.env.threads.slots;
        for round in 0..4 {
            let first = lock_unregistered(program);
            let side = first.flag.load(Ordering::Relaxed) - SINK_UNREGISTERED;
            assert!(program.in_section());
            assert_eq!(
                (
                    sections(program)[side as usize],
                    sections(program)[1 - side as usize]
                ),
                (1, 0)
            );
            assert!(!slots.unregistered.scan(side));
            assert_eq!(slots.unregistered.side(), 1 - side, "{round}");
            let second = lock_unregistered(program);
            assert!(std::ptr::eq(second, first));
            assert_eq!(
                (
                    sections(program)[side as usize],
                    sections(program)[1 - side as usize]
                ),
                (2, 0)
            );
            program.unlock(first);
            assert_eq!(sections(program)[side as usize], 1);
            program.unlock(second);
            assert!(!program.in_section());
        }
    }
}

/// A section that a driver waits for is replaced by a new one, if it is the only one.
#[test]
fn repin_ends_a_section_that_a_driver_waits_for() {
    {
        let program = program();
        program.unlock(program.lock()); // registers
        let Some(slot) = program.env.own_slot() else {
            return;
        };
        let own = &slot.words.reader;
        if !std::ptr::eq(program.local().reader(), own) {
            return; // fenced mode: handled by the sink
        }
        let flag = |flag| own.flag.store(flag, Ordering::Relaxed);
        let first = program.lock();
        assert!(program.in_section() && std::ptr::eq(first, own));
        let (_, before) = word(own);
        assert!(std::ptr::eq(program.repin(first), first));
        assert_eq!(word(own), (1, before), "no thread waits");
        let second = program.lock();
        flag(FLAG_WAKE);
        assert!(std::ptr::eq(program.repin(second), own));
        assert_eq!(word(own), (2, before), "another one is open");
        flag(FLAG_CLEAR);
        program.unlock(second);
        flag(FLAG_WAKE);
        assert!(std::ptr::eq(program.repin(first), own));
        assert_eq!(word(own), (1, before + 1));
        assert_eq!(own.flag.load(Ordering::Relaxed), FLAG_CLEAR);
        program.unlock(first);
        assert!(!program.in_section());
    }
}

/// The same for the unregistered readers, on both of their sides.
#[test]
fn an_unregistered_section_is_repinned_to_the_other_side() {
    for _ in 0..2 {
        {
            let program = program();
            let slots = &program.env.threads.slots;
            let first = lock_unregistered(program);
            let side = first.flag.load(Ordering::Relaxed) - SINK_UNREGISTERED;
            let counter = slots.unregistered.counter(side).expect("one of two");
            let flag = |flag| counter.flag.store(flag, Ordering::Relaxed);
            assert!(std::ptr::eq(program.repin(first), first), "no thread waits");
            let second = lock_unregistered(program);
            flag(FLAG_WAKE);
            assert!(
                std::ptr::eq(program.repin(second), second),
                "another one is open"
            );
            flag(FLAG_CLEAR);
            program.unlock(second);
            assert_eq!(sections(program)[side as usize], 1);
            slots.unregistered.scan(side); // newcomers go to the other side
            assert_eq!(slots.unregistered.side(), 1 - side);
            flag(FLAG_WAKE);
            let again = program.repin(first);
            assert!(!std::ptr::eq(again, first), "it begins as any other one");
            flag(FLAG_CLEAR);
            assert_eq!(sections(program)[side as usize], 0);
            program.unlock(again);
            assert!(!program.in_section());
        }
    }
}

/// A handler has registered the thread between the search for a slot and here.
#[test]
fn a_thread_with_a_slot_is_not_unregistered() {
    {
        let program = program();
        program.unlock(program.lock()); // registers
        let Some(slot) = program.env.own_slot() else {
            return;
        };
        if !std::ptr::eq(program.local().reader(), &slot.words.reader) {
            return; // fenced mode: a sink of its own
        }
        let reader = lock_unregistered(program);
        assert!(std::ptr::eq(reader, &slot.words.reader));
        assert_eq!(
            (program.local().unregistered.count(), reader.nesting()),
            (0, 1)
        );
        program.unlock(reader);
    }
}

/// The flag was cleared between the load that found it set and this call.
#[test]
fn repin_ignores_a_flag_that_was_cleared() {
    let program = program();
    let reader = program.lock();
    let local = program.local();
    assert!(std::ptr::eq(
        program.env.repin_slowly(&local, reader),
        reader
    ));
    program.unlock(reader);
}

/// A slot that changes between the modes keeps no marks of the other, here and in the program's domains.
#[test]
fn a_slot_has_the_fences_of_its_thread() {
    let program = program();
    let slot = program.env.threads.slots.claim().expect("it is empty");
    for fenced in [true, true, false, true] {
        slot.set_fenced(fenced);
        assert_eq!(slot.words.reader.is_fenced(), fenced);
        assert!(!slot.is_inside());
        let reader = slot.words.lock();
        assert!(slot.is_inside() && std::ptr::eq(reader, &slot.words.reader));
        assert!(!crate::reader::word::end(reader));
    }
}
