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
    let counted: &'static Counted = Box::leak(Box::new(Counted::new()));
    for (set, cpus) in [
        (ReaderSet::Threads(&threads.slots), &claimed[..]),
        (ReaderSet::Counted(counted, threads), &[0, 1]),
    ] {
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
    let set = ReaderSet::Threads(slots);
    let cpus = (0..9).map(|_| slots.claim().expect("a slot").cpu());
    assert!(cpus.into_iter().all(|cpu| set.words(cpu).is_some()));
    assert!((0..UNREGISTERED.count_ones()).all(|cpu| set.words(cpu).is_none()));
}

#[test]
fn unregistered_readers_of_records_are_named_while_they_are_inside() {
    let program = program();
    let slots = &program.env.threads.slots;
    let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
    let set = ReaderSet::Records(records);
    assert_eq!(set.named(0, 0, slots).len(), 0);
    let _ = records.enter_unregistered(0);
    assert_eq!(set.named(0, 0, slots).len(), 1);
    assert_eq!(set.named(1, 0, slots).len(), 0);
}
