//! How much an owner borrows for a large reach, and when executed entries leave the total.

use super::*;

const KIB: u64 = 1024;

/// The owner has pushed one object of so many bytes and asks for a reach of 2048: how far its credit goes,
/// and how much was lent to it.
fn reaches(bytes: u64, budget_bytes: u64, budget_count: u64) -> (u64, Held) {
    let mut rig = Rig::new(1, budget_bytes, budget_count);
    rig.queued[0][PLAIN].reach = 2048;
    let refill = rig.retire(0, 1, bytes);
    (refill.credit[PLAIN].until - 1, rig.cpus[0].lent())
}

#[test]
fn who_reaches_far_borrows_all_of_it_or_one_look() {
    // One object of 100 KiB is queued: 2047 more until the batch is full, and 92 KiB of its 192. Before a
    // check of the bytes up to 256 objects of 512 bytes each may be queued beyond that. Each of the other two
    // lanes takes 256, and bytes up to a batch or the whole loan, since each push there checks the bytes.
    let all = (2047, (92 + 128) * KIB);
    let look = (256, 128 * KIB);
    // A lane of the only borrower may have a 24th of the budget.
    let enough = (24 * 220 * KIB, 24 * 2047);
    for (bytes, count, plain) in [
        (64 * KIB * KIB, 1 << 20, all),
        (1 << 40, 1 << 20, all),
        (enough.0, enough.1, all),
        (enough.0 - 24, enough.1, look),
        (enough.0, enough.1 - 24, look),
    ] {
        let code = Defer::threads().code_batch_bytes.min(bytes / 24);
        let lent = Held {
            count: plain.0 + 2 * 256,
            bytes: plain.1 + 2 * code,
        };
        let case = (bytes, count);
        assert_eq!(
            reaches(100 * KIB, bytes, count),
            (plain.0, lent),
            "{case:?}"
        );
    }
}

#[test]
fn who_may_not_have_a_look_borrows_for_less() {
    // A 24th is 120 KiB: 240 objects of 512 bytes, or a look of code in each of the other two lanes.
    let all = Held {
        count: 240 + 2 * 256,
        bytes: 3 * 120 * KIB,
    };
    let lent = reaches(100 * KIB, 24 * 120 * KIB, 1 << 20);
    assert_eq!(lent, (240, all));
}

#[test]
fn nothing_is_untold_before_something_was_run() {
    let mut rig = Rig::new(1, 64 << 20, 1 << 20);
    assert!(!rig.cpus[0].unreported(), "there is nothing");
    let _ = rig.retire(0, 3, 24);
    assert!(!rig.cpus[0].unreported(), "nothing was run");
}

#[test]
fn what_is_always_there_is_for_small_objects() {
    let small = u64::from(Budget::threads().small);
    for floor in [LEAST, SLACK] {
        assert_eq!(floor.bytes, floor.count * small);
    }
}

#[test]
fn one_that_fits_counts_from_its_admission_on() {
    let mut rig = Rig::new(1, 1 << 20, 100);
    for count in 1..4 {
        assert!(rig.admit(0, 8));
        assert_eq!(
            (rig.global().held().count, rig.cpus[0].reported().count),
            (count, count)
        );
        let _ = rig.retire(0, 1, 8);
        assert_eq!(rig.global().held().count, count, "and once");
    }
}

#[test]
fn executed_entries_are_reported_once_they_are_many_or_large_or_all() {
    let each = SLACK.bytes / 8;
    for (count, bytes, run, reported) in [
        (200, 8, 1, false),
        (200, 8, SLACK.count - 1, false),
        (200, 8, SLACK.count, true),
        (200, each, 7, false),
        (200, each, 8, true),
        (3, 8, 3, true),
    ] {
        let mut rig = Rig::new(1, 1 << 30, 1 << 20);
        let _ = rig.retire(0, count, count * bytes);
        rig.grace_period();
        rig.cpus[0].advance(rig.machine.engine());
        let range = rig.cpus[0].extract(Lane::Plain, run);
        assert!(!rig.cpus[0].unreported(), "extracted entries still count");
        rig.cpus[0].ran(Lane::Plain, range);
        assert_eq!(
            rig.cpus[0].unreported(),
            reported,
            "{run} of {count} of {bytes}"
        );
    }
}

#[test]
fn who_is_refused_would_not_fit_beside_what_is_held_and_lent_to_others() {
    // By number, and by bytes.
    for (bytes, count, weight) in [(1 << 40, 1003, 8), (1 << 20, 1 << 30, 8 << 10)] {
        let mut rig = Rig::new(2, bytes, count);
        let _ = rig.retire(1, 1, weight);
        let fits = |rig: &Rig| {
            let (held, lent, own) = (rig.global().held(), rig.global().lent(), rig.cpus[0].lent());
            let counts = held.count + (lent.count - own.count).min(count / 8) + 1;
            let weighs = held.bytes + (lent.bytes - own.bytes).min(bytes / 8) + weight;
            counts <= count && weighs <= bytes
        };
        let mut admitted = 0;
        while fits(&rig) {
            assert!(rig.admit(0, weight), "after {admitted}");
            let _ = rig.retire(0, 1, weight);
            admitted += 1;
        }
        assert!(!rig.admit(0, weight), "after {admitted}");
        assert!(admitted > 100);
    }
}

#[test]
fn after_a_round_no_owner_has_more_than_its_share() {
    let reserve = (1 << 16) / 8;
    let mut rig = Rig::new(4, 1 << 40, 1 << 16);
    for cpu in &mut rig.queued {
        cpu.iter_mut().for_each(|lane| lane.reach = 1 << 20);
    }
    for _ in 0..2 {
        (0..4).for_each(|cpu| assert!(!rig.retire(cpu, 1, 8).over));
    }
    for cpu in &rig.cpus {
        assert!(cpu.lent().count <= reserve / 4, "{:?}", cpu.lent());
    }
}

#[test]
fn what_may_be_pushed_without_a_look_at_the_bytes_counts_as_lent() {
    let Budget { look, small, .. } = Budget::threads();
    let (batch, code) = (
        Defer::threads().batch_bytes,
        Defer::threads().code_batch_bytes,
    );
    let mut rig = Rig::new(1, 1 << 40, 1 << 30);
    // Nearly a batch of bytes: little credit in bytes is left, and as many small objects as before.
    let refill = rig.retire(0, 1, batch - 100);
    assert_eq!(refill.credit[PLAIN].bytes, 100);
    assert_eq!(rig.cpus[0].lent().bytes, u64::from(look * small) + 2 * code);
}

#[test]
fn near_the_budget_a_refill_asks_for_a_grace_period_for_its_sake() {
    let mut rig = Rig::new(1, 1 << 40, 1000);
    let _ = rig.retire(0, 700, 700);
    assert_eq!(rig.global().counts().flushes.of(Cause::Budget), 0);
    let _ = rig.retire(0, 100, 100);
    assert_eq!(rig.global().level(), Level::Near);
    assert_eq!(rig.global().counts().flushes.of(Cause::Budget), 1);
}
