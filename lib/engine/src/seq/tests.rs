//! Arithmetic of sequence numbers, exhaustive where 16 bits allow.

use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;

fn seq(raw: Word) -> Seq {
    Seq::from_raw(raw)
}

/// Every value of the narrow word; of the wide one, the surroundings of every boundary.
fn all_values() -> Vec<Word> {
    if Word::BITS == 16 {
        return (0..=Word::MAX).collect();
    }
    near_boundaries(40)
}

fn near_boundaries(reach: Word) -> Vec<Word> {
    let quarter = Word::MAX / 4;
    let anchors = [0, quarter, quarter * 2, quarter * 3, Seq::INITIAL.raw()];
    let mut out = Vec::new();
    for anchor in anchors {
        for d in 0..=2 * reach {
            out.push(anchor.wrapping_sub(reach).wrapping_add(d));
        }
    }
    out
}

/// Distance from `b` forward to `a`, in exact arithmetic.
fn ahead(a: Word, b: Word) -> u128 {
    let space = Word::MAX as u128 + 1;
    (a as u128 + space - b as u128) % space
}

#[test]
fn order_is_half_the_space_and_its_exact_complement() {
    let half = 1_u128 << (Word::BITS - 1);
    for x in all_values() {
        for y in near_boundaries(12) {
            for y in [y, x.wrapping_add(y)] {
                let want = ahead(x, y) < half;
                assert_eq!(seq(x).ge(seq(y)), want, "{x} >= {y}");
                assert_eq!(seq(x).lt(seq(y)), !want, "{x} < {y}");
            }
        }
    }
}

#[test]
fn snap_table() {
    // Phase 0..3 of grace period k, and the k of the cookie relative to it.
    for (phase, later) in [(0, 1), (1, 2), (2, 2), (3, 2)] {
        for k in all_values() {
            let base = k.wrapping_mul(Seq::GP);
            let want = k.wrapping_add(later).wrapping_mul(Seq::GP);
            assert_eq!(
                seq(base.wrapping_add(phase)).snap(),
                seq(want),
                "phase {phase}"
            );
        }
    }
    assert_ne!(Seq::COMPLETED.raw() % 2, seq(7).snap().raw() % 2);
}

#[test]
fn a_cookie_is_done_after_exactly_one_full_grace_period() {
    for base in all_values() {
        let idle = seq(base & !Seq::STATE_MASK);
        let cookie = idle.snap();
        let running = idle.start();
        assert!(!idle.started(cookie) && !idle.done(cookie) && !idle.done_exact(cookie));
        assert!(running.started(cookie) && !running.done(cookie));
        assert_eq!((running.state(), running.end().state()), (1, 0));
        assert!(running.end().done(cookie) && running.end().done_exact(cookie));

        let late = running.snap();
        assert!(
            !running.end().done(late),
            "the grace period in flight cannot be trusted"
        );
        assert!(!running.started(late) && !running.end().started(late));
        let second = running.end().start();
        assert!(second.started(late) && second.end().done(late));
        assert_eq!(
            second.end().ctr(),
            second.ctr().wrapping_add(1) & (Word::MAX >> 2)
        );
    }
}

#[test]
fn every_phase_ends_at_the_next_multiple_of_four() {
    for phase in 1..=3 {
        assert_eq!(
            seq(Word::MAX - 3 + phase).end(),
            Seq::ZERO,
            "wraps through zero"
        );
        assert_eq!(seq(400 + phase).end(), seq(404));
    }
}

#[test]
fn done_exact_is_false_only_in_the_guard_band() {
    let guard = Seq::GUARD as u128;
    let half = 1_u128 << (Word::BITS - 1);
    let cookies = [0, 4, Word::MAX - 3, Word::MAX / 2 + 1, Seq::INITIAL.raw()];
    for cookie in cookies {
        for x in all_values() {
            for x in [x, x.wrapping_add(cookie)] {
                let behind = ahead(cookie, x);
                let done = seq(x).done_exact(seq(cookie));
                assert_eq!(done, behind == 0 || behind > guard, "{x} polls {cookie}");
                assert_eq!(seq(x).done(seq(cookie)), behind == 0 || behind > half);
            }
        }
    }
}

#[test]
fn the_guard_is_as_small_as_a_lagging_copy_allows() {
    for base in all_values() {
        let copy = seq(base & !Seq::STATE_MASK);
        let cookie = copy.start().snap();
        assert!(!copy.done_exact(cookie), "the copy lags by one start");
        // With a band one smaller the same poll would end a grace period too early.
        let smaller = seq(cookie.raw().wrapping_sub(Seq::GUARD - 1));
        assert!(copy.lt(smaller));
    }
}

#[test]
fn ends_and_starts_between_two_looks() {
    // (steps from 4k to the older look, to the newer look, a gp ended, a gp started)
    let table = [
        (0, 0, false, false),
        (0, 1, false, true),
        (0, 4, true, true),
        (0, 5, true, true),
        (1, 1, false, false),
        (1, 4, true, false),
        (1, 5, true, true),
        (1, 2, false, false),
        (4, 4, false, false),
    ];
    for base in all_values() {
        let at = |steps: Word| seq((base & !Seq::STATE_MASK).wrapping_add(steps));
        for (old, new, ended, started) in table {
            assert_eq!(at(old).completed_gp(at(new)), ended, "{old} to {new}");
            assert_eq!(at(old).new_gp(at(new)), started, "{old} to {new}");
        }
    }
}

#[test]
fn a_quarter_of_the_space_is_the_limit_of_a_nap() {
    let quarter = Word::MAX / 4;
    for x in all_values() {
        for (lag, want) in [
            (0, false),
            (4, false),
            (quarter, false),
            (quarter + 1, true),
            (Word::MAX / 2, true),
            (Word::MAX, false),
        ] {
            assert_eq!(
                seq(x).lags_quarter(seq(x.wrapping_add(lag))),
                want,
                "lag {lag}"
            );
        }
    }
}

#[test]
fn the_initial_value_wraps_after_300_grace_periods() {
    let mut now = Seq::INITIAL;
    let mut cookies = Vec::new();
    assert_eq!(now.to_string(), "-1200");
    for gp in 0..600 {
        assert_eq!(now == Seq::ZERO, gp == 300, "grace period {gp}");
        cookies.push(now.snap());
        now = now.start().end();
    }
    assert!(cookies.iter().all(|&c| now.done(c) && now.done_exact(c)));
    assert_eq!(now.signed(), 1200);
}

#[test]
#[should_panic(expected = "another is in flight")]
fn two_starts_are_refused() {
    let _ = Seq::ZERO.start().start();
}

#[test]
#[should_panic(expected = "never started")]
fn an_end_without_a_start_is_refused() {
    let _ = Seq::INITIAL.end();
}

#[test]
fn a_number_comes_back_from_its_bits() {
    for seq in [
        Seq::ZERO,
        Seq::COMPLETED,
        Seq::ZERO.start(),
        Seq::ZERO.snap(),
    ] {
        assert_eq!(Seq::from_bits(seq.to_bits()), seq);
    }
    assert_eq!(Seq::ZERO.snap().to_bits(), 4);
}
