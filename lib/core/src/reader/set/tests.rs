//! What the three kinds of readers answer.

use std::collections::HashSet;

use super::*;
use crate::reader::counted::Counted;
use crate::reader::word::FLAG_WAKE;
use crate::testing::program;

/// Sets the wake flags of these readers, a bit for each of `cpus`, and returns the number.
fn flagged(set: ReaderSet<'_>, cpus: &[CpuId], which: u32) -> u64 {
    for (bit, &cpu) in cpus.iter().enumerate() {
        let flag = if which >> bit & 1 == 0 {
            FLAG_CLEAR
        } else {
            FLAG_WAKE
        };
        set.flag(cpu)
            .expect("a reader")
            .store(flag, Ordering::Relaxed);
    }
    set.flagged(cpus.iter().copied())
}

#[test]
fn the_number_of_flagged_readers_changes_with_them() {
    let threads = &program().env.threads;
    let claimed: Vec<_> = (0..8)
        .map(|_| threads.slots.claim().expect("a slot").cpu())
        .collect();
    let counted = DomainReaders::Counted(Counted::new());
    for (readers, cpus) in [(&DomainReaders::Threads, &claimed[..]), (&counted, &[0, 1])] {
        let set = ReaderSet(readers, threads);
        let all = 1 << cpus.len();
        let numbers: HashSet<u64> = (0..all).map(|which| flagged(set, cpus, which)).collect();
        assert_eq!(numbers.len(), all as usize, "of {} readers", cpus.len());
        assert_eq!(flagged(set, cpus, 0), 0);
    }
}

#[test]
fn registered_threads_have_words_and_others_have_none() {
    let program = program();
    let slots = &program.env.threads.slots;
    let set = ReaderSet(&DomainReaders::Threads, &program.env.threads);
    let cpus = (0..9).map(|_| slots.claim().expect("a slot").cpu());
    assert!(cpus.into_iter().all(|cpu| set.words(cpu).is_some()));
    assert!((0..UNREGISTERED).all(|cpu| set.words(cpu).is_none()));
}

#[test]
fn unregistered_readers_are_named_while_they_are_inside() {
    let threads = &program().env.threads;
    let records = Box::leak(Box::new(DomainReaders::Records(ReaderRecords::new())));
    for readers in [&DomainReaders::Threads, records] {
        let set = ReaderSet(readers, threads);
        let them = set.unregistered().expect("not an `Srcu`");
        assert_eq!(set.named(0, 0).len(), 0);
        let _ = them.enter(0);
        assert_eq!(set.named(0, 0), [Holdout::new(0, 1)]);
        assert_eq!(set.named(1, 0).len(), 0);
        let lock = UnderLock::new();
        let outside = [0, 1].map(|side| set.under(&lock).observe(side).outside);
        assert_eq!((outside, them.side()), ([false, true], 1));
    }
}

/// A registered thread is outside or inside, and its word has a stamp; what is no reader is outside.
#[test]
fn a_scan_sees_nesting_and_generation() {
    let threads = &program().env.threads;
    let slot = threads.slots.claim().expect("a slot");
    let lock = UnderLock::new();
    let view = ReaderSet(&DomainReaders::Threads, threads).under(&lock);
    for (nesting, stamp) in [(0, 0), (0, 4), (2, 5)] {
        let word = stamp << 16 | nesting;
        slot.words.reader.word.store(word, Ordering::Relaxed);
        let outside = nesting == 0;
        assert_eq!(view.observe(slot.cpu()), Seen { outside, stamp });
    }
    assert!(view.observe(64).outside, "there is no such leaf");
    assert_eq!(threads.slots.unregistered.side(), 0);
}
