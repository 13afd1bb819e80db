//! Cookies against an oracle that knows which grace periods elapsed.

use super::*;
use alloc::vec::Vec;
use core::ops::Range;
use quiescent_engine::seq::Word;

const STEPS: usize = 12;

/// One history: the grace periods as the steps they start and end in, and what the model showed
/// after each step (index 0: before the first).
struct History<T> {
    gps: Vec<Range<usize>>,
    states: Vec<T>,
}

impl<T> History<T> {
    /// The oracle: how many grace periods, one after the other, fit between two points?
    /// (A step numbered `s` lies after point `s` and before point `s + 1`.) Greedy by end.
    fn full_between(&self, taken: usize, polled: usize) -> usize {
        let mut gps: Vec<_> = self.gps.iter().collect();
        gps.sort_by_key(|gp| gp.end);
        let (mut count, mut from) = (0, taken);
        for gp in gps {
            if gp.start >= from && gp.end < polled {
                count += 1;
                from = gp.end;
            }
        }
        count
    }
}

/// Bit `s` of `choice`: which kind moves in step `s`.
fn merged(choice: u32, start: Seq) -> History<Polled> {
    let mut polled = Polled {
        seq: start,
        ..Polled::new()
    };
    let mut open = [None; 2];
    let mut gps = Vec::new();
    let mut states = alloc::vec![polled.clone()];
    for step in 0..STEPS {
        let which = (choice >> step & 1) as usize;
        let kind = [GpKind::Normal, GpKind::Expedited][which];
        match open[which].take() {
            None => {
                polled.started(kind);
                open[which] = Some(step);
            }
            Some(began) => {
                polled.ended(kind);
                gps.push(began..step);
            }
        }
        for snap in [polled.norm_snap, polled.exp_snap] {
            let current = polled.seq.state() != 0 && snap == polled.seq;
            assert!(
                snap == Seq::ZERO || current,
                "a stale snapshot was kept: {polled:?}"
            );
        }
        states.push(polled.clone());
    }
    History { gps, states }
}

fn starts() -> [Seq; 3] {
    // The last two wrap on the way: through zero, and through the middle of the space.
    let middle = Word::MAX / 2 + 1;
    [
        Seq::ZERO,
        Seq::from_raw((0 as Word).wrapping_sub(8)),
        Seq::from_raw(middle - 8),
    ]
}

#[test]
fn never_too_early_and_two_always_suffice() {
    let mut missed = 0;
    for start in starts() {
        for choice in 0..1 << STEPS {
            let h = merged(choice, start);
            for taken in 0..=STEPS {
                let cookie = h.states[taken].state();
                for polled in taken..=STEPS {
                    let done = h.states[polled].poll(cookie);
                    match h.full_between(taken, polled) {
                        0 => assert!(!done, "{choice:b}: {taken} to {polled} too early"),
                        1 => missed += usize::from(!done),
                        _ => assert!(done, "{choice:b}: {taken} to {polled} two not enough"),
                    }
                }
            }
        }
    }
    assert!(missed > 0, "merging is expected to miss some grace periods");
}

#[test]
fn an_overlapping_pair_counts_once_and_one_is_missed() {
    let mut p = Polled::new();
    p.started(GpKind::Normal);
    let cookie = p.state();
    p.started(GpKind::Expedited);
    p.ended(GpKind::Normal);
    p.ended(GpKind::Expedited);
    assert_eq!(p.seq, Seq::from_raw(4), "two grace periods, counted once");
    assert!(
        !p.poll(cookie),
        "the expedited one was full, and was missed"
    );
    p.started(GpKind::Expedited);
    p.ended(GpKind::Expedited);
    assert!(p.poll(cookie));
}

#[test]
fn a_cookie_stays_done() {
    for choice in 0..1 << STEPS {
        let h = merged(choice, Seq::ZERO);
        for taken in 0..=STEPS {
            let cookie = h.states[taken].state();
            let done: Vec<bool> = h.states[taken..].iter().map(|p| p.poll(cookie)).collect();
            assert!(done.is_sorted(), "{choice:b} from {taken}: {done:?}");
        }
    }
}

#[test]
fn a_cookie_left_for_half_the_space_is_still_done() {
    let far = |cookie: Seq| Seq::from_raw(cookie.raw().wrapping_add(Word::MAX / 2 + 5));
    let mut p = Polled::new();
    let cookie = p.state();
    p.seq = far(cookie);
    assert!(!p.seq.done(cookie) && p.poll(cookie));

    let full = FullCookie::take(Seq::INITIAL, Seq::ZERO);
    assert!(full.done(far(full.norm), Seq::ZERO));
    assert!(full.done(Seq::INITIAL, far(full.exp)));
}

#[test]
fn the_completed_cookies_are_done_at_once() {
    assert!(Polled::new().poll(Seq::COMPLETED));
    let (root, exp) = (Seq::INITIAL, Seq::ZERO);
    assert!(FullCookie::COMPLETED.done(root, exp));
    assert!(!FullCookie::take(root, exp).done(root, exp));
}

#[test]
#[should_panic(expected = "two Normal grace periods")]
fn two_of_a_kind_are_refused() {
    let mut p = Polled::new();
    p.started(GpKind::Normal);
    p.started(GpKind::Normal);
}

/// Global `gp_seq`, the root's copy of it, and the expedited sequence.
#[derive(Clone, Copy)]
struct Numbers {
    global: Seq,
    root: Seq,
    exp: Seq,
}

/// A normal grace period takes four steps: global start, root start, root end, global end.
/// It is over when the root says so.
fn full(choice: u32, start: Seq) -> History<Numbers> {
    let mut now = Numbers {
        global: start,
        root: start,
        exp: start,
    };
    let (mut norm_phase, mut norm_from, mut exp_from) = (0, 0, None);
    let mut gps = Vec::new();
    let mut states = alloc::vec![now];
    for step in 0..STEPS {
        if choice >> step & 1 == 1 {
            match exp_from.take() {
                None => {
                    now.exp = now.exp.start();
                    exp_from = Some(step);
                }
                Some(began) => {
                    now.exp = now.exp.end();
                    gps.push(began..step);
                }
            }
        } else {
            match norm_phase {
                0 => {
                    now.global = now.global.start();
                    norm_from = step;
                }
                1 => now.root = now.global,
                2 => {
                    now.root = now.global.end();
                    gps.push(norm_from..step);
                }
                _ => now.global = now.root,
            }
            norm_phase = (norm_phase + 1) % 4;
        }
        states.push(now);
    }
    History { gps, states }
}

#[test]
fn the_full_form_is_exact_although_the_root_copy_lags_and_leads() {
    let (mut lags, mut leads) = (0, 0);
    for start in starts() {
        for choice in 0..1 << STEPS {
            let h = full(choice, start);
            for taken in 0..=STEPS {
                let at = h.states[taken];
                lags += usize::from(at.root.lt(at.global));
                leads += usize::from(at.global.lt(at.root));
                let cookie = FullCookie::take(at.global, at.exp);
                for polled in taken..=STEPS {
                    let seen = h.states[polled];
                    let want = h.full_between(taken, polled) > 0;
                    let got = cookie.done(seen.root, seen.exp);
                    assert_eq!(got, want, "{choice:b}: {taken} to {polled}");
                }
            }
        }
    }
    assert!(lags > 0 && leads > 0, "both windows must have been visited");
}

#[test]
fn a_cookie_from_the_root_copy_would_be_too_early() {
    let root = Seq::INITIAL;
    let global = root.start();
    // A reader may begin here, on a CPU that this grace period does not wait for.
    let wrong = FullCookie::take(root, Seq::ZERO);
    let right = FullCookie::take(global, Seq::ZERO);
    let root = global.end();
    assert!(wrong.done(root, Seq::ZERO));
    assert!(!right.done(root, Seq::ZERO));
}
