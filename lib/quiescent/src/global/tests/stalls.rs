//! A recording in which readers stall.

use std::sync::Barrier;
use std::time::Duration;

use quiescent_harness::replay::{Input, Output};

use super::find;
use super::recorder::Recorder;

const TIME: Duration = Duration::from_millis(1);

/// Rule R1: whether, when and how often a stall is reported is an output like any other.
#[test]
fn a_run_that_stalls_replays_bit_for_bit() {
    let recorder = Recorder::start();
    crate::report::set_stall_after(TIME);
    let (inside, end) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::read(|_| {
                inside.wait();
                end.wait();
            });
        });
        inside.wait();
        let stalls = crate::statistics().stalls;
        while crate::statistics().stalls < stalls + 3 {
            let _ = crate::synchronize_timeout(10 * TIME);
        }
        end.wait();
        crate::synchronize();
    });
    crate::report::set_stall_after(crate::report::STALL_AFTER);
    let run = recorder.stop();
    run.check();
    find(&run.entries, |e| {
        e.input == Input::SetStallNs { ns: 1_000_000 }
    });
    let stalled = find(
        &run.entries,
        |e| matches!(e.output, Output::Effects(effects) if effects.stall.is_some()),
    );
    run.must_diverge(stalled, |e| {
        if let Output::Effects(effects) = &mut e.output {
            effects.stall = None;
        }
    });
}
