//! What an owner borrows who reaches far, and when the total has to hear of what was run.

use super::*;

const KIB: u64 = 1024;

/// The owner has pushed one object of so many bytes and reaches for 2048: how far its credit goes, and what it has been
/// lent.
fn reaches(bytes: u64, budget_bytes: u64, budget_count: u64) -> (u64, Held) {
    let mut rig = Rig::new(1, budget_bytes, budget_count);
    rig.queued[0][PLAIN].reach = 2048;
    let refill = rig.retire(0, 1, bytes);
    (refill.credit[PLAIN].until - 1, rig.cpus[0].lent())
}

#[test]
fn who_reaches_far_borrows_all_of_it_or_one_look() {
    // With one object of 100 KiB queued: 2047 more until the batch is full, and 92 KiB of its 192. Before a look
    // at the bytes, 256 objects of 512 bytes each may be queued beyond that. The other lane takes a look: 192 KiB.
    let all = Held {
        count: 2047 + 256,
        bytes: (92 + 128 + 192) * KIB,
    };
    let look = Held {
        count: 256 + 256,
        bytes: (128 + 192) * KIB,
    };
    // A sixteenth of the budget is for a lane of the only borrower.
    let enough = (16 * 220 * KIB, 16 * 2047);
    for (bytes, count, until, lent) in [
        (64 * KIB * KIB, 1 << 20, 2047, all),
        (enough.0, enough.1, 2047, all),
        (enough.0 - 16, enough.1, 256, look),
        (enough.0, enough.1 - 16, 256, look),
    ] {
        let case = (bytes, count);
        assert_eq!(reaches(100 * KIB, bytes, count), (until, lent), "{case:?}");
    }
}

#[test]
fn who_may_not_have_a_look_borrows_for_less() {
    // A sixteenth is 120 KiB: 240 objects of 512 bytes.
    let both = Held {
        count: 240 + 240,
        bytes: 2 * 120 * KIB,
    };
    let lent = reaches(100 * KIB, 16 * 120 * KIB, 1 << 20);
    assert_eq!(lent, (240, both));
}

#[test]
fn nothing_is_untold_before_something_was_run() {
    let mut rig = Rig::new(1, 64 << 20, 1 << 20);
    assert!(!rig.cpus[0].untold(), "there is nothing");
    let _ = rig.retire(0, 3, 24);
    assert!(!rig.cpus[0].untold(), "nothing was run");
}

#[test]
fn a_kernel_has_no_budget() {
    let none = Budget::none();
    assert_eq!((none.bytes, none.count), (u64::MAX, u64::MAX));
}
