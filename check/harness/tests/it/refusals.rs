//! An input makes the call that it stands for, with its arguments in the right places. Of two equal worlds
//! one gets the input and the other the call; outputs and end states are equal. The tests here cover the
//! calls that no recording of the replaying tests contains.

use quiescent_engine::Interest;
use quiescent_engine::config::Config;
use quiescent_engine::cpu::LANES;
use quiescent_engine::cpu::Lane;
use quiescent_engine::credit::{Queued, Urgency};
use quiescent_engine::exp::Expedite;
use quiescent_engine::host::Now;
use quiescent_engine::pool::TurnId;
use quiescent_engine::takeover::Look;
use quiescent_engine::{Cpu, Global};
use quiescent_harness::host::Silent;
use quiescent_harness::replay::*;

/// Two equal worlds.
struct Twins {
    world: World,
    twin: World,
}

impl Twins {
    fn new(config: Config) -> Twins {
        let world = World::new(Global::new(config));
        let twin = world.clone();
        Twins { world, twin }
    }

    /// Gives one world the input and makes the call on the other; compares their outputs.
    fn same(&mut self, input: Input, call: impl FnOnce(&mut World) -> Output) -> Output {
        let answer = self.world.apply(input, &Silent);
        assert_eq!(answer, call(&mut self.twin), "{input:?}");
        assert_eq!(self.world, self.twin, "after {input:?}");
        answer
    }

    /// The same, for a CPU's queue.
    fn queue(
        &mut self,
        input: CpuInput,
        call: impl FnOnce(&mut Cpu, &mut Global) -> Output,
    ) -> Output {
        self.same(Input::Cpu(1, input), |twin| {
            let cpu = twin.cpus.entry(1).or_insert_with(|| Cpu::new(1));
            call(cpu, &mut twin.global)
        })
    }
}

#[test]
fn who_drives_and_who_takes_the_role() {
    let mut twins = Twins::new(Config::threads());
    let leaf = 0;
    for world in [&mut twins.world, &mut twins.twin] {
        let _ = world.apply(Input::StartPoll { leaf }, &Silent);
    }
    let (cpu, interest) = (Some(1), Interest::Poller);
    twins.same(Input::TryDrive { cpu, interest }, |it| {
        Output::Done(it.global.try_drive(cpu, interest))
    });
    let before = twins.world.global.driver_epoch();
    let mut taken = false;
    for now_ns in [5, 1_000_000_005, 9_000_000_005] {
        let take_over = Input::TakeOver {
            cpu: None,
            interest: Interest::Passing,
            now_ns,
            sleeping: false,
        };
        let answer = twins.same(take_over, |it| {
            Output::Look(it.global.take_over(None, Interest::Passing, now_ns, false))
        });
        taken |= matches!(answer, Output::Look(Look::TakenOver));
        if taken {
            break;
        }
    }
    let after = twins.world.global.driver_epoch();
    assert!(taken && after != before, "the role was taken");
    for (epoch, resumes) in [(before, false), (after, true)] {
        let answer = twins.same(Input::Resume { epoch }, |it| {
            Output::Done(it.global.resume(epoch))
        });
        assert_eq!(answer, Output::Done(resumes));
    }
}

#[test]
fn workers_and_their_turns() {
    let mut twins = Twins::new(Config::threads());
    twins.same(Input::SetWorkers { workers: 2 }, |it| {
        it.global.set_workers(2);
        Output::Done(true)
    });
    let mut queued = [Queued::default(); LANES];
    queued[Lane::Code as usize].end = 1 << 20;
    let now = Now::default();
    twins.queue(
        CpuInput::Refill {
            queued,
            urgency: Urgency::Lazy,
            now,
        },
        |cpu, global| Output::Refill(cpu.refill(global, &queued, Urgency::Lazy, now, &Silent)),
    );
    twins.queue(CpuInput::Hurry, |cpu, _| {
        cpu.hurry();
        Output::Done(true)
    });
    twins.queue(CpuInput::Tell, |cpu, global| {
        cpu.tell(global);
        Output::Done(true)
    });
    for number in [1, 2] {
        let turn = TurnId::new(number).expect("not 0");
        twins.queue(CpuInput::TakeTurn { who: turn }, |cpu, global| {
            Output::Done(cpu.take_turn(global, turn))
        });
        twins.queue(CpuInput::EndTurn { who: turn }, |cpu, global| {
            cpu.end_turn(global, turn);
            Output::Done(true)
        });
    }
    twins.same(Input::CallsOverflow, |it| {
        Output::Done(it.global.calls_overflow())
    });
    for idle in [false, true] {
        twins.same(Input::StandDown { idle }, |it| {
            Output::Done(it.global.stand_down(idle))
        });
    }
    let forked = CpuInput::Forked {
        queued,
        run_code: false,
        now,
    };
    let dropped = twins.queue(forked, |cpu, global| {
        Output::Count(cpu.forked(global, &queued, false, now))
    });
    assert_eq!(dropped, Output::Count(1 << 20), "all of its closures");
}

#[test]
fn another_policy_and_a_barrier_that_is_forked() {
    let mut twins = Twins::new(Config::kernel_6_12(4, 1000));
    let hasty = Expedite {
        expedited: true,
        ..twins.world.global.expedite()
    };
    let before = twins.world.clone();
    twins.same(Input::Exp(ExpInput::SetExpedite(hasty)), |it| {
        it.global.set_expedite(hasty);
        Output::Done(true)
    });
    assert_ne!(twins.world, before, "it was another policy");
    let snap = twins.twin.barrier.snap();
    twins.same(Input::Barrier(BarrierInput::Start { snap }), |it| {
        Output::Begin(it.barrier.start(snap))
    });
    twins.same(Input::Barrier(BarrierInput::Forked), |it| {
        it.barrier.forked();
        Output::Done(true)
    });
}
