//! The effort of `try_retire` before it refuses, as its page says: it drives the grace period as far as
//! possible without waiting, and frees what has become free.

use std::sync::atomic::Ordering::Relaxed;

use crate::domain::life::Domain;
use crate::domain::run;
use crate::domain::state::State;
use crate::queue::kind::{OWN, PLAIN};
use crate::queue::lane::Entry;
use crate::reader::set::DomainReaders;
use crate::reader::word;
use crate::testing::{Program, counter, counting, memory, program};

/// Whether one more fits.
fn fits(state: &'static State, lane: usize) -> bool {
    let Entry { object, what } = match lane {
        PLAIN => memory(),
        _ => {
            run::note_code();
            counting(counter())
        }
    };
    let fits = state.try_deliver(lane, Entry { object, what }, 64).is_ok();
    if !fits && lane == PLAIN {
        // SAFETY: `memory` made it, and it was not queued.
        drop(unsafe { Box::from_raw(object.cast::<u64>()) });
    }
    fits
}

/// Fills the domain up to its budget while a reader is inside.
fn full(program: &'static Program, domain: Option<&'static Domain>, lane: usize, most: u64) {
    let state = domain.map_or(&program.env.state, Domain::state);
    let local = program.local();
    state.lock().engine.set_budget(u64::MAX, most);
    let fill = || {
        let held = (0..=most).take_while(|_| fits(state, lane)).count() as u64;
        assert_eq!(held, most, "no more than the budget, and no less");
        assert!(!fits(state, lane));
    };
    match domain.map(|domain| (domain, &domain.readers)) {
        None => {
            let reader = program.lock();
            fill();
            program.unlock(reader);
        }
        Some((_, DomainReaders::Counted(counted))) => {
            let count = program.enter(counted);
            fill();
            if program.leave(counted, count) {
                state.may_be_empty(counted, count);
            }
        }
        Some((domain, _)) => {
            let reader = domain.lock_anew(&local);
            fill();
            if word::end(reader) {
                domain.unlock_slowly(&local, reader);
            }
        }
    }
}

/// One call is enough, however much is held and whether the grace period is over or still to be driven, once
/// the last section has ended: for memory, and for destructors, which the thread runs itself. No other thread
/// takes part.
#[test]
fn a_full_budget_of_what_can_be_freed_admits_the_next_at_once() {
    let cases = [PLAIN, OWN].into_iter().flat_map(|lane| {
        let most = [1, 2, 3, 4, 9, 100, 1000].into_iter();
        most.flat_map(move |most| (0..6).map(move |case| (lane, most, case % 3, case >= 3)))
    });
    for (lane, most, kind, is_over) in cases {
        let program = program();
        program.asked.has_no_worker.store(1, Relaxed);
        program.unlock(program.lock());
        let domain = [
            None,
            Some(Domain::found(&program.env)),
            Some(program.domain()),
        ][kind];
        let state = domain.map_or(&program.env.state, Domain::state);
        full(program, domain, lane, most);
        if is_over {
            assert_eq!(state.synchronize(Default::default()), Ok(()));
        }
        let what = format!("lane {lane}, {most} held, kind {kind}, over {is_over}");
        assert!(fits(state, lane), "{what}");
    }
}
