//! A whole kernel machine in the test host: sections, ticks, soft interrupts, idle CPUs, floods, hotplug, and
//! escalation, in a random order with fixed seeds. No grace period is too short, no callback is lost, and
//! every run is replayed from its recording.

mod rig;

use crate::chance::Random;
use quiescent_harness::replay::{Answer, CpuInput, Entry, Input, Output, World};
use quiescent_kernel::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::limits::Limits;
use quiescent_kernel::tick::Settings;
use quiescent_kernel::urgency::Escalation;
use quiescent_kernel::{Config, EarlyQs, Global};
use rig::{CPUS, Rig, Seldom};

/// Seconds are short: so many ticks.
const HZ: u32 = 10;

/// Five CPUs in three leaves; every time and every mark is small, so that all of them are reached.
fn config(random: &mut Random) -> Config {
    let idle = [
        IdleRule::Tick,
        IdleRule::FastNoHz(FastNoHz::v5_6(HZ)),
        IdleRule::FastNoHz(FastNoHz::v5_10(HZ)),
    ];
    Config {
        geometry: GeometryParams {
            leaf_fanout: 2,
            inner_fanout: 2,
            exact: true,
        },
        early_qs: [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init][random.below(3)],
        escalation: Some(Escalation {
            sched_qs: Some(4),
            stall: 24,
            cpu_time: true,
            ..Escalation::kernel_6_12(HZ)
        }),
        tick: Settings {
            preemptible: random.below(2) == 0,
            patience: [0, 3][random.below(2)],
            ..Settings::kernel_6_12()
        },
        idle: idle[random.below(3)],
        limits: Limits {
            blimit: 2,
            qhimark: 6,
            qlowmark: 1,
            qovld: [0, 5][random.below(2)],
            ..Limits::kernel_6_12()
        },
        ..Config::kernel_6_12(CPUS as u32, HZ)
    }
}

/// A run of so many actions, and then of what is left until nothing is pending.
fn run(seed: u64, deeds: u32, record: bool) -> (Rig, Config) {
    let mut random = Random::new(seed);
    let config = config(&mut random);
    let mut rig = Rig::new(config, random, record);
    for _ in 0..deeds {
        rig.deed();
        rig.check();
    }
    rig.settle();
    (rig, config)
}

#[test]
fn no_grace_period_is_too_short_and_no_callback_is_lost() {
    let mut sum = Seldom::default();
    for seed in 0..400 {
        let (rig, _) = run(seed, 1500, false);
        sum.add(&rig.seldom);
    }
    println!("{sum:?}");
    for (name, count) in sum.named() {
        assert!(count >= 30, "{name} is hardly ever reached: {count}");
    }
}

/// The name of a call, without its parameters.
fn kind(input: &Input) -> String {
    match input {
        Input::Cpu(_, input) => format!("{:?}", std::mem::discriminant(input)),
        input => format!("g {:?}", std::mem::discriminant(input)),
    }
}

#[test]
fn every_run_is_replayed_bit_for_bit() {
    let mut kinds = Vec::new();
    for seed in 0..60 {
        let (rig, config) = run(seed, 1000, true);
        let recording = rig.host.recording().expect("it was switched on");
        let mut world = World::new(Global::new(config));
        assert_eq!(world.replay(recording), Ok(()), "seed {seed}");
        assert_eq!(&world, rig.host.world(), "the same state");
        for Entry { input, .. } in recording {
            let kind = kind(input);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    assert!(kinds.len() >= 26, "{}: {kinds:?}", kinds.len());
}

#[test]
fn a_changed_recording_is_detected() {
    let (rig, config) = run(3, 1500, true);
    let recording = rig.host.recording().expect("it was switched on");
    let replays = |forged: &[Entry]| World::new(Global::new(config)).replay(forged).is_ok();
    // A changed output: of every kind of call, the first.
    let mut kinds = Vec::new();
    for (at, entry) in recording.iter().enumerate() {
        if !kinds.contains(&kind(&entry.input)) {
            kinds.push(kind(&entry.input));
            let mut forged = recording[..=at].to_vec();
            forged[at].output = Output::Elsewhere;
            assert!(!replays(&forged));
        }
    }
    // A missing call. Often that changes nothing: there was no edge, or nothing to note.
    let kinds: [fn(&Entry) -> bool; 2] = [
        |e| matches!(e.input, Input::Cpu(_, CpuInput::Core)),
        |e| matches!(e.input, Input::Cpu(_, CpuInput::Tick { .. })),
    ];
    for kind in kinds {
        let of_kind = (0..recording.len()).filter(|&at| kind(&recording[at]));
        let caught = of_kind.take(30).filter(|&at| {
            let mut forged = recording.to_vec();
            forged.remove(at);
            !replays(&forged)
        });
        let caught = caught.count();
        assert!(caught >= 5, "{caught} of 30");
    }
    // A missing answer.
    let asked = |e: &Entry| {
        let new = |a: &Answer| matches!(a, Answer::NohzFull(..) | Answer::OwedCallbacks(..));
        e.answers.iter().position(new)
    };
    let mut forged = recording.to_vec();
    let (entry, which) = forged
        .iter_mut()
        .find_map(|entry| asked(entry).map(|which| (entry, which)))
        .expect("some holdout was pressed");
    entry.answers.remove(which);
    assert!(!replays(&forged));
}
