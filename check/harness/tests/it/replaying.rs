//! Record and replay: the engine reads nothing but its inputs.

mod callbacks;
mod rig;

use quiescent_harness::host::TestHost;
use quiescent_harness::replay::{Answer, Entry, Input, Output, replay};
use quiescent_kernel::{Config, EarlyQs, Global};

/// Knuth's MMIX generator: the same numbers on every system.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// A run of `steps` random actions; the host and its configuration.
fn run(seed: u64, steps: u32) -> (TestHost, Config) {
    let mut random = Lcg(seed);
    let early_qs = [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init][random.below(3) as usize];
    let config = Config {
        early_qs,
        direct_wakes_max: 1,
        ..Config::kernel_6_12(4, 1000)
    };
    let mut host = TestHost::kernel_with(4, config);
    host.record();
    let (mut depth, mut here) = (vec![0; 4], vec![true; 4]);
    let mut cookies = Vec::new();
    for _ in 0..steps {
        let cpu = random.below(4) as usize;
        let n = cpu as u32;
        // The CPU of the grace-period thread does not leave.
        let stays = cpu == 0;
        match random.below(12) {
            0 | 1 if here[cpu] && depth[cpu] < 2 => {
                host.enter(n);
                depth[cpu] += 1;
            }
            2..=4 if depth[cpu] > 0 => {
                host.exit(n);
                depth[cpu] -= 1;
            }
            5 if here[cpu] && depth[cpu] == 0 && !stays => {
                host.unregister(n);
                here[cpu] = false;
            }
            6 if here.contains(&false) => here[host.register() as usize] = true,
            7 => drop(host.wait_for_gp(n)),
            8 => cookies.push(host.start_poll(n)),
            9 if here[cpu] => {
                host.note(n);
                host.report(n);
            }
            10 if host.run_work() => {}
            _ => drop(host.help(3)),
        }
    }
    (host, config)
}

#[test]
fn a_random_run_is_replayed_bit_for_bit() {
    let (mut entries, mut grace_periods) = (0, 0);
    for seed in 0..40 {
        let (host, config) = run(seed, 2000);
        let recording = host.recording().expect("it was switched on");
        let mut fresh = Global::new(config);
        assert_eq!(replay(&mut fresh, recording), Ok(()), "seed {seed}");
        assert_eq!(&fresh, host.engine(), "the engines end up alike");
        entries += recording.len();
        grace_periods += host.engine().counts().grace_periods;
    }
    assert!(
        entries > 50_000 && grace_periods > 500,
        "{entries} entries, {grace_periods}"
    );
}

#[test]
fn the_same_run_twice_is_the_same_recording() {
    let (one, _) = run(7, 2000);
    let (two, _) = run(7, 2000);
    assert_eq!(one.recording(), two.recording());
}

#[test]
fn a_changed_answer_is_detected() {
    let (host, config) = run(3, 2000);
    let recording = host.recording().expect("it was switched on");
    let mut caught = 0;
    let mut changed = 0;
    for (at, entry) in recording.iter().enumerate() {
        // A reader that was seen inside is reported outside: a credit that was not due.
        let lie = |a: &Answer| matches!(a, Answer::Observe(_, seen) if !seen.outside);
        let Some(which) = entry.answers.iter().position(lie) else {
            continue;
        };
        let mut forged = recording.to_vec();
        if let Answer::Observe(_, seen) = &mut forged[at].answers[which] {
            seen.outside = true;
        }
        changed += 1;
        caught += u32::from(replay(&mut Global::new(config), &forged).is_err());
        if changed == 30 {
            break;
        }
    }
    // A credit one scan earlier than the true one may not change any output.
    assert!(changed == 30 && caught > 15, "{caught} of {changed}");
}

#[test]
fn a_changed_output_and_another_question_are_named() {
    let (host, config) = run(5, 500);
    let recording = host.recording().expect("it was switched on");
    let at = recording
        .iter()
        .position(|e| e.answers.len() > 1)
        .expect("some call makes two queries");
    let mut forged = recording.to_vec();
    forged[at].output = Output::Done(true);
    let diverged = replay(&mut Global::new(config), &forged).expect_err("it differs");
    assert_eq!((diverged.at, diverged.recorded), (at, Output::Done(true)));
    assert_eq!(
        (diverged.replayed, diverged.other_questions),
        (recording[at].output, false)
    );

    let mut forged = recording.to_vec();
    forged[at].answers.swap_remove(0);
    let diverged = replay(&mut Global::new(config), &forged).expect_err("a question is missing");
    assert!(diverged.at == at && diverged.other_questions);

    let mut forged = recording.to_vec();
    forged[at].answers.push(Answer::Cpus(9));
    let diverged = replay(&mut Global::new(config), &forged).expect_err("one is left over");
    assert!(diverged.at == at && diverged.other_questions);
}

#[test]
fn a_call_that_is_not_in_the_recording_shows() {
    let (host, config) = run(11, 300);
    let mut forged = host.recording().expect("it was switched on").to_vec();
    let waits = |e: &Entry| matches!(e.input, Input::WaitForGp { .. });
    assert!(forged.iter().filter(|e| waits(e)).count() > 1);
    let at = forged
        .iter()
        .position(waits)
        .expect("a waiter was recorded");
    forged.remove(at);
    assert!(replay(&mut Global::new(config), &forged).is_err());
}
