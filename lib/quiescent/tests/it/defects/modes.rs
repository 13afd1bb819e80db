//! The fence mode changes while no grace period of any domain or `Srcu` is in progress, and none begins
//! meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use quiescent::{FenceMode, Options, Srcu, statistics};

use crate::common::{isolated, until};

/// Inspecting so many takes most of the time of a change.
const SRCUS: usize = 2000;
const ROUNDS: u32 = 50;

fn mode() -> FenceMode {
    statistics().fence_mode
}

/// While a thread that has not read needs a grace period, the mode does not change.
#[test]
fn a_grace_period_begins_while_the_mode_changes() {
    isolated(|| {
        let srcus: Vec<Srcu> = (0..SRCUS).map(|_| Srcu::new()).collect();
        srcus.iter().for_each(Srcu::synchronize);
        let (tries, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        let (mut changed, mut refused) = (0, 0);
        let wrong = thread::scope(|scope| {
            let wants = scope.spawn(|| {
                let mut wrong = 0;
                for n in 0..ROUNDS {
                    // One that is inspected first, last, or in between.
                    let srcu = &srcus[[SRCUS - 1, SRCUS / 2, 0][n as usize % 3]];
                    let cookie = srcu.start_grace_period();
                    let before = mode();
                    let tried = tries.load(Ordering::Acquire);
                    until("it is tried twice", || {
                        tries.load(Ordering::Acquire) > tried + 1
                    });
                    wrong += u32::from(mode() != before);
                    until("it ends", || cookie.is_done());
                    let tried = tries.load(Ordering::Acquire);
                    until("it may change", || {
                        tries.load(Ordering::Acquire) > tried + 1
                    });
                }
                is_over.store(true, Ordering::Release);
                wrong
            });
            for mode in [FenceMode::Fenced, FenceMode::Membarrier].iter().cycle() {
                match Options::new().memory_pressure(false).fence(*mode).apply() {
                    Ok(()) => changed += 1,
                    Err(_) => refused += 1,
                }
                tries.fetch_add(1, Ordering::AcqRel);
                if is_over.load(Ordering::Acquire) || wants.is_finished() {
                    break;
                }
            }
            wants.join().expect("no panic")
        });
        assert_eq!(wrong, 0, "of {ROUNDS}, with {changed} changes");
        assert!(
            refused > 0 && changed > 0,
            "{refused} refused, {changed} not"
        );
    });
}
