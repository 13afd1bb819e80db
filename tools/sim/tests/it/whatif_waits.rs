//! `whatif`: expedited waits and barriers. What is read out of written lines; and in a closed loop, since the
//! recorded traces have neither: a run of the machine is recorded, the record is replayed as recorded and
//! with a change, and the machine runs under that change itself.

use quiescent_sim::whatif::doings::{Awaited, Step, Waited};
use quiescent_sim::whatif::{self, Line, Trace};
use quiescent_sim::{Arrivals, settings};
use quiescent_sim::{Churn, IdleLoop, Machine, Op, Options, Queued, Stats, Work};
use quiescent_trace::{Options as Known, Window};

const MS: u64 = 1_000_000;

/// When the window of the closed loop begins and ends.
const FROM: u64 = 100 * MS;
const UNTIL: u64 = 2_100 * MS;

fn read(text: &[u8], from: u64, to: u64) -> Trace {
    let known = Known {
        hz: Some(1000),
        window: Some(Window {
            start_ns: from,
            end_ns: to,
        }),
    };
    whatif::read("text", text, known).unwrap()
}

fn steps(trace: &Trace, name: &str) -> Vec<Step> {
    let lives = trace.doings.lives.iter();
    let those = lives.filter(|it| it.name.starts_with(name));
    let runs = those.flat_map(|it| &it.runs);
    runs.flat_map(|it| it.steps.clone()).collect()
}

/// `a` waits for an expedited grace period that a work item drives; `b` finds one done; `c` makes a barrier,
/// for which it sleeps twice; interrupts queue a callback where `a` and `c` wait.
const LINES: &str = "\
x-5 [000] d..2. 0.001000: sched_switch: prev_comm=x prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=a \
next_pid=7 next_prio=120
a-7 [000] ..... 0.001010: rcu_exp_grace_period: rcu_preempt 40 snap
a-7 [000] d.s2. 0.001011: rcu_callback: rcu_preempt rhp=ff10 func=file_free 1
a-7 [000] ..... 0.001012: rcu_exp_grace_period: rcu_preempt 40 start
a-7 [000] d..2. 0.001013: sched_wakeup: comm=kworker/0:1 pid=9 prio=120 target_cpu=000
a-7 [000] d..2. 0.001015: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=kworker/0:1 next_pid=9 next_prio=120
kworker/0:1-9 [000] ..... 0.001018: rcu_exp_grace_period: rcu_preempt 40 reset
kworker/0:1-9 [000] d..2. 0.001020: sched_switch: prev_comm=kworker/0:1 prev_pid=9 prev_prio=120 prev_state=D ==> next_comm=a next_pid=7 next_prio=120
a-7 [000] d..2. 0.001022: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] dNh4. 0.001030: sched_wakeup: comm=kworker/0:1 pid=9 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.001031: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=kworker/0:1 next_pid=9 next_prio=120
kworker/0:1-9 [000] ..... 0.001032: rcu_exp_grace_period: rcu_preempt 40 end
kworker/0:1-9 [000] d..2. 0.001033: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000
kworker/0:1-9 [000] d..2. 0.001036: sched_switch: prev_comm=kworker/0:1 prev_pid=9 prev_prio=120 prev_state=I ==> next_comm=a next_pid=7 next_prio=120
a-7 [000] ..... 0.001040: rcu_exp_grace_period: rcu_preempt 40 done
b-8 [001] ..... 0.001041: rcu_exp_grace_period: rcu_preempt 40 snap
b-8 [001] ..... 0.001042: rcu_exp_grace_period: rcu_preempt 40 done
a-7 [000] d..2. 0.001070: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=c next_pid=11 next_prio=120
c-11 [000] ..... 0.001080: rcu_barrier: rcu_preempt Begin cpu -1 remaining 0 # 8
c-11 [000] d..2. 0.001081: sched_switch: prev_comm=c prev_pid=11 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] dNh4. 0.002000: sched_wakeup: comm=c pid=11 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.002001: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=11 next_prio=120
c-11 [000] ..... 0.002002: rcu_barrier: rcu_preempt Inc1 cpu -1 remaining 2 # 5
c-11 [000] d.h2. 0.002003: rcu_callback: rcu_preempt rhp=ff20 func=rcu_barrier_callback 1
c-11 [000] ..... 0.002004: rcu_barrier: rcu_preempt OnlineQ cpu 0 remaining 3 # 5
c-11 [000] d..2. 0.002008: sched_switch: prev_comm=c prev_pid=11 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] ..s1. 0.006000: rcu_invoke_callback: rcu_preempt rhp=ff30 func=rcu_barrier_callback
<idle>-0 [000] d.s2. 0.006001: sched_wakeup: comm=c pid=11 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.006005: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=11 next_prio=120
c-11 [000] ..... 0.006009: rcu_barrier: rcu_preempt Inc2 cpu -1 remaining 0 # 5
c-11 [000] d..2. 0.006020: sched_switch: prev_comm=c prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn expedited_waits_and_barriers_are_read() {
    let trace = read(LINES.as_bytes(), 0, 9 * MS);
    let us = |it: u64| it * 1000;
    let wait = |what, until| Step::Wait {
        what,
        until: Some(us(until)),
    };
    // Nothing of what happens in a wait is the thread's.
    let (expedited, callbacks) = (Awaited::Expedited, Awaited::Callbacks);
    let a = [
        Step::Busy(us(10)),
        wait(expedited, 1040),
        Step::Busy(us(30)),
    ];
    assert_eq!(steps(&trace, "a-7"), a);
    assert_eq!(steps(&trace, "b-8")[1], wait(expedited, 1042));
    let c = [
        Step::Busy(us(10)),
        wait(callbacks, 6009),
        Step::Busy(us(11)),
    ];
    assert_eq!(steps(&trace, "c-11"), c);
    let waited = |what, from, until| Waited {
        what,
        from: us(from),
        until: us(until),
    };
    let waits = [
        waited(expedited, 1010, 1040),
        waited(expedited, 1041, 1042),
        waited(callbacks, 1080, 6009),
    ];
    assert_eq!(trace.doings.waits, waits);
    assert_eq!(trace.waits(expedited).0, 2);
    assert_eq!(trace.expedited(), 1);
    // The work item is RCU's, and the barrier's callbacks are the model's; an interrupt's callback is not.
    let lives = &trace.doings.lives;
    assert!(lives.iter().all(|it| !it.name.starts_with("kworker")));
    assert_eq!(trace.doings.driver, [(us(1018), 0)]);
    let call = &steps(&trace, "interrupts/0")[1];
    assert!(matches!(call, Step::Call { index: 0, .. }), "{call:?}");
    assert_eq!(trace.doings.calls(), 1);
    assert_eq!(
        (trace.doings.barrier_callbacks, trace.recorded.unseen),
        (1, 0)
    );
}

#[test]
fn a_wait_whose_end_is_lost_was_over_when_the_thread_ran_again() {
    let lost: String = LINES
        .lines()
        .filter(|it| !it.ends_with("40 done"))
        .map(|it| format!("{it}\n"))
        .collect();
    let trace = read(lost.as_bytes(), 0, 9 * MS);
    // It was preempted at first: that was no sleep, and the grace period had not ended.
    let wait = Step::Wait {
        what: Awaited::Expedited,
        until: Some(1_036_000),
    };
    let a = [Step::Busy(10_000), wait, Step::Busy(34_000)];
    assert_eq!(steps(&trace, "a-7"), a);
}

/// Sleeps, computes, queues, and waits, again and again.
struct Waiter {
    op: Op,
    pause: u64,
    func: Option<usize>,
    step: u64,
}

impl Work for Waiter {
    fn next(&mut self, now: u64) -> Op {
        self.step += 1;
        match self.step % 4 {
            // Not always the same, and never in step with the ticks.
            1 => Op::SleepUntil(now + self.pause + (self.step * 7919) % self.pause),
            2 => Op::Kernel(20_000),
            3 => match self.func {
                Some(func) => Op::Call(Queued::of(func).lazy(false)),
                None => Op::Kernel(5_000),
            },
            _ => self.op.clone(),
        }
    }
}

/// A machine of four CPUs on which tasks wait in this way, on two CPUs, and another queues callbacks. Its
/// trace, if asked for: twice as long as the window, for threads that are faster with a change.
fn simulated(ops: &[Op], sets: &[(&str, &str)], trace: bool) -> (Stats, Vec<u8>) {
    let mut machine = Machine::new(options(sets));
    if trace {
        machine.keep_trace();
    }
    let func = machine.func("file_free");
    for (n, op) in ops.iter().enumerate() {
        let waiter = Waiter {
            op: op.clone(),
            pause: (7 + 4 * n as u64) * MS,
            func: Some(func).filter(|_| *op == Op::Barrier),
            step: 0,
        };
        machine.spawn(&format!("waiter/{n}"), n as u32 % 2, MS, waiter);
    }
    let arrivals = (0..140).map(|n| Arrivals {
        at: 5 * MS + n * 31 * MS + n * 1000,
        calls: vec![Queued::of(func).lazy(false)],
    });
    machine.spawn("churn", 2, 0, Churn::new(arrivals.collect()));
    machine.window(FROM, UNTIL);
    machine.run(2 * UNTIL);
    let mut text = Vec::new();
    if trace {
        machine.write_trace(&mut text).unwrap();
    }
    (machine.stats(), text)
}

fn options(sets: &[(&str, &str)]) -> Options {
    let mut options = Options {
        idle_loop: IdleLoop::Retain,
        ..Options::kernel_6_12(4, 1000)
    };
    settings::apply(&mut options, sets).unwrap();
    options
}

/// What a recorded run becomes under these settings.
fn again(trace: &Trace, sets: &[(&str, &str)]) -> Stats {
    let mut options = Options {
        smp: options(&[]).smp,
        idle_loop: IdleLoop::Retain,
        ..trace.options()
    };
    settings::apply(&mut options, sets).unwrap();
    trace.run(&options, 1, || false).unwrap()
}

fn replayed(trace: &Trace, sets: &[(&str, &str)]) -> Vec<Line> {
    lines_of(trace, &again(trace, sets))
}

/// The figures of a run, taken as those of a replay are.
fn lines_of(trace: &Trace, stats: &Stats) -> Vec<Line> {
    whatif::lines(trace, stats, stats)
}

/// All figures are as near to those as this, but for few of a kind.
fn near(found: &[Line], wanted: &[Line], share: f64) {
    let names = |all: &[Line]| all.iter().map(|it| it.metric).collect::<Vec<_>>();
    assert!(!wanted.is_empty());
    for line in wanted {
        let it = found.iter().find(|it| it.metric == line.metric);
        let it = it.unwrap_or_else(|| panic!("no {}: {:?}", line.metric, names(found)));
        let off = it.modelled - line.modelled;
        let few = if it.count.is_some() { 1.5 } else { 0.003 };
        assert!(
            off.abs() <= share * line.modelled + few,
            "{}: {} instead of {}",
            it.metric,
            it.modelled,
            line.modelled
        );
    }
}

const WAITS: [Op; 4] = [
    Op::SynchronizeExpedited,
    Op::Barrier,
    Op::SynchronizeExpedited,
    Op::Synchronize,
];

#[test]
fn a_recorded_run_is_replayed_as_it_was() {
    let wake_from_gp = ("rcu_normal_wake_from_gp", "1");
    for sets in [&[][..], &[wake_from_gp], &[("rcu", "offload")]] {
        let (stats, text) = simulated(&WAITS, sets, true);
        let trace = read(&text, FROM, UNTIL);
        assert!(trace.waits(Awaited::Expedited).0 > 200);
        assert!(trace.waits(Awaited::Callbacks).0 > 50);
        let again = replayed(&trace, sets);
        near(&again, &lines_of(&trace, &stats), 0.03);
    }
}

#[test]
fn a_change_of_how_waits_are_done_comes_near_to_the_run_that_had_it() {
    use Op::{Barrier, Synchronize, SynchronizeExpedited};
    let expedited = [SynchronizeExpedited, SynchronizeExpedited, Barrier];
    let normal = [Synchronize, Barrier, Synchronize];
    for (ops, key) in [(expedited, "rcu_normal"), (normal, "rcu_expedited")] {
        let (before, text) = simulated(&ops, &[], true);
        let trace = read(&text, FROM, UNTIL);
        near(&replayed(&trace, &[]), &lines_of(&trace, &before), 0.03);
        let (after, _) = simulated(&ops, &[(key, "1")], false);
        near(
            &replayed(&trace, &[(key, "1")]),
            &lines_of(&trace, &after),
            0.1,
        );
    }
}

#[test]
fn a_run_is_over_when_the_last_that_waits_is_through() {
    let ops = [Op::Synchronize, Op::Synchronize];
    let (_, text) = simulated(&ops, &[], true);
    let trace = read(&text, FROM, UNTIL);
    let took = |sets: &[_]| again(&trace, sets).seconds();
    assert!((took(&[]) - 2.0).abs() < 0.03, "{}", took(&[]));
    // Both pause, 11 and 17 ms on average; the second waits for a smaller part of its time.
    let faster = took(&[("rcu_expedited", "1")]);
    assert!((1.0..1.5).contains(&faster), "{faster}");
}
