//! Recordings with callbacks, of the rig in `rig`.

use super::rig::{Rig, config};
use quiescent_harness::host::Silent;
use quiescent_harness::replay::{BarrierInput, CpuInput, Entry, Input, Output, World, apply};
use quiescent_kernel::Global;

#[test]
fn a_random_run_with_callbacks_is_replayed_bit_for_bit() {
    let (mut entries, mut barriers, mut grace_periods) = (0, 0, 0);
    for seed in 0..60 {
        let rig = Rig::new(seed).run(2000);
        let mut world = World::new(Global::new(config()));
        assert_eq!(world.replay(&rig.entries), Ok(()), "seed {seed}");
        assert_eq!(world, rig.world(), "the same state");
        entries += rig.entries.len();
        grace_periods += world.global.counts().grace_periods;
        let ends = |e: &&Entry| e.input == Input::Barrier(BarrierInput::End);
        barriers += rig.entries.iter().filter(ends).count();
    }
    println!("{entries} entries, {grace_periods}, {barriers}");
    assert!(entries > 50_000 && grace_periods > 200 && barriers > 100);
}

#[test]
fn a_changed_output_of_any_kind_of_call_is_detected() {
    let rig = Rig::new(1).run(1500);
    let mut kinds = Vec::new();
    for (at, entry) in rig.entries.iter().enumerate() {
        let kind = match entry.input {
            Input::Cpu(_, input) => format!("{:?}", std::mem::discriminant(&input)),
            Input::Barrier(input) => format!("b {:?}", std::mem::discriminant(&input)),
            input => format!("g {:?}", std::mem::discriminant(&input)),
        };
        if kinds.contains(&kind) {
            continue;
        }
        kinds.push(kind);
        let mut forged = rig.entries[..=at].to_vec();
        forged[at].output = Output::Elsewhere;
        let mut world = World::new(Global::new(config()));
        let diverged = world.replay(&forged).expect_err("it was changed");
        assert_eq!((diverged.at, diverged.replayed), (at, entry.output));
    }
    // All calls of CPUs and of barriers, and at least some of the rest.
    assert!(kinds.len() > 15, "{}: {kinds:?}", kinds.len());
}

#[test]
fn a_changed_input_is_detected() {
    let rig = Rig::new(2).run(3000);
    let (mut changed, mut caught) = (0, 0);
    for (at, entry) in rig.entries.iter().enumerate() {
        let Input::Cpu(cpu, CpuInput::Call { bytes, ns }) = entry.input else {
            continue;
        };
        // One more byte: it shows in the list, or (if all entries were extracted since) not at all.
        let bytes = bytes + 1;
        let mut forged = rig.entries.clone();
        forged[at].input = Input::Cpu(cpu, CpuInput::Call { bytes, ns });
        let mut world = World::new(Global::new(config()));
        changed += 1;
        caught += u32::from(world.replay(&forged).is_err() || world != rig.world());
    }
    println!("{caught} of {changed}");
    assert!(changed > 100 && caught > 0, "{caught} of {changed}");
}

#[test]
fn callbacks_are_no_business_of_the_global_state_alone() {
    let mut global = Global::new(config());
    for input in [
        Input::Cpu(0, CpuInput::Core),
        Input::Barrier(BarrierInput::VisitedAll),
    ] {
        assert_eq!(apply(&mut global, input, &Silent), Output::Elsewhere);
    }
    assert_eq!(global, Global::new(config()));
}
