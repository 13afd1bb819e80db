use std::cell::RefCell;

use quiescent_kernel::Phase;
use quiescent_kernel::barrier::Barrier;
use quiescent_kernel::cblist::Segment;
use quiescent_kernel::config::Config;
use quiescent_kernel::event::Event;

use quiescent_harness::host::TestHost;
use quiescent_kernel::EarlyQs;
use quiescent_kernel::limits::{Around, Context, Limits};
use quiescent_kernel::{Cpu, Host};

/// Keeps the trace of requests.
#[derive(Default)]
struct Traced(RefCell<Vec<String>>);

impl Traced {
    /// The last word of every event, with its number.
    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

impl Host for Traced {
    quiescent_harness::asked_by_the_driver_only!();

    fn trace(&self, event: &Event) {
        if let Event::GracePeriod { .. } = event {
            self.0.borrow_mut().push(event.text("r").to_string());
        }
    }
}

/// A machine of two CPUs that has ended one grace period (the numbers go on at -1196), and its trace.
fn machine(limits: Limits) -> (TestHost, Traced) {
    let config = Config {
        limits,
        ..Config::kernel_6_12(2, 1000)
    };
    let mut machine = TestHost::kernel_with(2, config);
    assert!(machine.try_drive(0));
    let _ = machine.wait_for_gp(0);
    assert!(machine.run_until(Phase::Fence, 10) && machine.run_until(Phase::Idle, 100));
    (machine, Traced::default())
}

/// CPU 1, up to date with `machine`.
fn cpu(machine: &mut TestHost, host: &Traced) -> Cpu {
    let mut cpu = Cpu::new(1);
    let _ = cpu.note_gp_changes(machine.engine_mut(), host);
    host.take();
    cpu
}

/// The grace-period thread continues until the engine is in that phase.
fn until(machine: &mut TestHost, phase: Phase) {
    machine.stray_wake();
    assert!(machine.run_until(phase, 100), "{phase:?}");
}

const TICKS: Phase = Phase::Wait;

#[test]
fn a_callback_goes_the_way_of_the_measured_traces() {
    let (mut machine, host) = machine(Limits::kernel_6_12());
    let mut cpu = cpu(&mut machine, &host);
    assert!(!cpu.core_pending(machine.engine()) && !cpu.needs_cpu());
    let called = cpu.call(machine.engine_mut(), 8, 0, &host);
    assert!(!called.wake_gp && host.take().is_empty(), "it only appends");
    assert!(cpu.needs_cpu() && cpu.core_pending(machine.engine()));
    // The tick, with no grace period in flight.
    assert!(cpu.core(machine.engine_mut(), &host).wake_gp);
    let request = ["r -1196 newreq", "r -1192 AccWaitCB"];
    assert_eq!(host.take(), request);
    assert!(!cpu.core_pending(machine.engine()), "asked for, not begun");
    // The next tick notices the start. The callback waits, and the CPU makes no further request.
    until(&mut machine, TICKS);
    let noticed = cpu.core(machine.engine_mut(), &host);
    assert!(noticed.began && !noticed.ended && !noticed.wake_gp);
    assert_eq!(host.take(), ["r -1188 AccWaitCB", "r -1195 cpustart"]);
    // A callback that is queued now is stamped at the next check, for the grace period after this one.
    let _ = cpu.call(machine.engine_mut(), 8, 0, &host);
    assert!(!cpu.stamp(machine.engine_mut(), &host));
    assert_eq!(host.take(), ["r -1188 AccReadyCB"]);
    until(&mut machine, Phase::Idle);
    let noticed = cpu.core(machine.engine_mut(), &host);
    assert!(noticed.ended && !noticed.began);
    assert_eq!(host.take(), ["r -1188 AccWaitCB", "r -1192 cpuend"]);
    let list = cpu.list();
    assert_eq!((list.ready(), list.segment(Segment::Wait).0), (1, 1));
    let (range, batch) = cpu
        .begin_batch(machine.engine(), Context::Softirq)
        .expect("one is ready");
    assert_eq!((range, batch.limit()), (0..1, 10));
    assert!(!cpu.end_batch(machine.engine(), 0..1, 1));
    assert!(
        cpu.begin_batch(machine.engine(), Context::Softirq)
            .is_none()
    );
}

#[test]
fn a_flood_asks_for_a_grace_period_and_then_forces_a_scan() {
    let limits = Limits {
        qhimark: 3,
        ..Limits::kernel_6_12()
    };
    let (mut machine, host) = machine(limits);
    let mut cpu = cpu(&mut machine, &host);
    for _ in 0..3 {
        assert!(!cpu.call(machine.engine_mut(), 0, 0, &host).wake_gp);
    }
    assert!(
        cpu.call(machine.engine_mut(), 0, 0, &host).wake_gp,
        "the fourth"
    );
    assert!(!cpu.batch().is_flooded(), "only a grace period was missing");
    machine.enter(0);
    until(&mut machine, TICKS);
    let scans = machine.engine().counts().scans;
    // The last scan belongs to the previous grace period: it does not count for this one.
    assert!(!cpu.call(machine.engine_mut(), 0, 0, &host).wake_gp);
    assert!(cpu.batch().is_flooded());
    let more: Vec<bool> = (0..4)
        .map(|_| cpu.call(machine.engine_mut(), 0, 0, &host).wake_gp)
        .collect();
    assert_eq!(more, [false, false, false, true], "at the next four");
    assert_eq!(machine.engine().counts().scans, scans);
    machine.stray_wake();
    let jiffies = machine.now().jiffies;
    assert!(machine.run_until(Phase::Scan(0), 3));
    assert_eq!(
        machine.now().jiffies,
        jiffies,
        "without waiting for the timer"
    );
}

#[test]
fn so_many_callbacks_set_the_overload_mark() {
    let limits = Limits {
        qovld: 2,
        ..Limits::kernel_6_12()
    };
    let (mut machine, host) = machine(limits);
    let mut cpu = cpu(&mut machine, &host);
    let marks: Vec<bool> = (0..3)
        .map(|_| cpu.call(machine.engine_mut(), 0, 0, &host).overloaded)
        .collect();
    assert_eq!(marks, [false, false, true], "before the new one counts");
}

#[test]
fn what_a_departed_cpu_leaves_keeps_what_it_has_waited_for() {
    let (mut machine, host) = machine(Limits::kernel_6_12());
    let (mut gone, mut dst) = (cpu(&mut machine, &host), Cpu::new(0));
    for _ in 0..3 {
        let _ = gone.call(machine.engine_mut(), 8, 0, &host);
    }
    let _ = gone.stamp(machine.engine_mut(), &host);
    until(&mut machine, TICKS);
    let _ = gone.call(machine.engine_mut(), 8, 0, &host);
    until(&mut machine, Phase::Idle);
    // The end is not noticed yet. All CPUs are brought up to date first: three callbacks run at once.
    let mut barrier = Barrier::new();
    let adopted = dst.adopt(&mut gone, &mut barrier, machine.engine_mut(), &host);
    assert_eq!((adopted.merged.done, adopted.merged.pending), (3, 1));
    assert!(!adopted.entrained && !adopted.overloaded && adopted.wake_gp);
    let list = dst.list();
    let snap = machine.engine().published().global.snap();
    assert_eq!((list.ready(), list.next_gp()), (3, Some(snap)));
    assert_eq!(list.unstamped(), 0, "and the last one is stamped again");
    assert!(gone.is_empty());
    // With a barrier in flight its callback is moved as well.
    let start = barrier.snap();
    assert!(matches!(
        barrier.start(start),
        quiescent_kernel::barrier::Begin::Started { .. }
    ));
    let adopted = gone.adopt(&mut dst, &mut barrier, machine.engine_mut(), &host);
    assert!(adopted.entrained);
    assert_eq!((adopted.merged.done, adopted.merged.pending), (3, 2));
    assert_eq!(barrier.remaining(), 3);
}

#[test]
fn the_soft_interrupt_requests_only_without_a_request_or_grace_period_in_flight() {
    let (mut machine, host) = machine(Limits::kernel_6_12());
    let mut cpu = Cpu::new(1);
    let _ = cpu.core(machine.engine_mut(), &host);
    let _ = cpu.call(machine.engine_mut(), 8, 0, &host);
    assert!(cpu.core(machine.engine_mut(), &host).wake_gp);
    host.take();
    assert!(!cpu.core(machine.engine_mut(), &host).wake_gp);
    assert_eq!(host.take(), [""; 0], "it has been requested");
    // While one is in flight, a callback that is queued now waits for the next edge.
    until(&mut machine, TICKS);
    let _ = cpu.core(machine.engine_mut(), &host);
    let _ = cpu.call(machine.engine_mut(), 8, 0, &host);
    let _ = cpu.core(machine.engine_mut(), &host);
    assert_eq!(cpu.list().unstamped(), 1);
}

#[test]
fn an_offloaded_cpu_asks_for_nothing_in_its_soft_interrupt() {
    let (mut machine, host) = machine(Limits::kernel_6_12());
    let mut cpu = Cpu::new(1);
    cpu.set_offloaded(true);
    let _ = cpu.core(machine.engine_mut(), &host);
    let _ = cpu.call(machine.engine_mut(), 8, 0, &host);
    assert!(!cpu.core(machine.engine_mut(), &host).wake_gp);
    assert_eq!(cpu.list().unstamped(), 1);
}

/// Keeps the trace, line by line.
#[derive(Default)]
struct Everything(RefCell<Vec<String>>);

impl Host for Everything {
    quiescent_harness::asked_by_the_driver_only!();

    fn trace(&self, event: &Event) {
        let line = format!("{}: {}", event.name(), event.text("r"));
        self.0.borrow_mut().push(line);
    }
}

#[test]
fn the_trace_of_a_batch_reads_like_the_kernels() {
    let mut host = TestHost::kernel(2, 1000, EarlyQs::Init);
    for _ in 0..12 {
        let _ = host.call(1);
    }
    let _ = host.core(1);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1000);
    let _ = host.core(1);
    let mut cpu = host.cpu(1).expect("it has had callbacks").clone();
    let (traced, engine) = (Everything::default(), host.engine_mut());
    let busy = Around {
        need_resched: true,
        ..Around::default()
    };
    let context = Context::Softirq;
    let begun = cpu.begin_batch_traced(engine, context, &traced);
    let (range, _) = begun.expect("12 are ready");
    assert!(cpu.end_batch_traced(engine, (range, context), 10, busy, &traced));
    let context = Context::Rcuop;
    let begun = cpu.begin_batch_traced(engine, context, &traced);
    let (range, _) = begun.expect("2 are left");
    assert!(!cpu.end_batch_traced(engine, (range, context), 2, busy, &traced));
    let context = Context::Softirq;
    assert!(cpu.begin_batch_traced(engine, context, &traced).is_none());
    let none = "SegCbDequeued seglen: (DONE=0, WAIT=0, NEXT_READY=0, NEXT=0) \
                gp_seq: (DONE=0, WAIT=0, NEXT_READY=0, NEXT=0)";
    let want = format!(
        "rcu_batch_start: r CBs=12 bl=10\nrcu_segcb_stats: {none}\n\
         rcu_batch_end: r CBs-invoked=10 idle=CS..\n\
         rcu_batch_start: r CBs=2 bl=10\nrcu_segcb_stats: {none}\n\
         rcu_batch_end: r CBs-invoked=2 idle=.S.R\n\
         rcu_batch_start: r CBs=0 bl=0\nrcu_batch_end: r CBs-invoked=0 idle=...."
    );
    assert_eq!(traced.0.take().join("\n"), want);
}
