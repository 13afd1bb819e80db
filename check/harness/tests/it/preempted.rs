//! Preempted readers: the CPU is free, and the task blocks its leaf.

use quiescent_harness::host::TestHost;
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::{Config, EarlyQs, Phase, Tasks};

const HZ: u32 = 1000;

/// Two CPUs a leaf, two children a node.
fn small(cpus: u32) -> Config {
    Config {
        geometry: GeometryParams {
            leaf_fanout: 2,
            inner_fanout: 2,
            exact: true,
        },
        early_qs: EarlyQs::Init,
        ..Config::kernel_6_12(cpus, HZ)
    }
}

/// Requests a grace period and drives it into that phase.
fn in_phase(host: &mut TestHost, phase: Phase) -> u64 {
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 0); // takes the role
    assert!(host.run_until(phase, 100), "{phase:?}");
    ticket
}

fn blocked(host: &TestHost) -> Vec<u32> {
    host.engine().blocked_readers().collect()
}

fn queued(host: &TestHost) -> Vec<u32> {
    host.engine().queued_readers().collect()
}

fn holdouts(host: &TestHost) -> Vec<u32> {
    host.engine().holdouts().collect()
}

#[test]
fn a_reader_preempted_before_the_start_holds_the_grace_period_and_its_cpu_does_not() {
    for cpus in [1, 2, 4, 8, 13] {
        for cpu in 0..cpus {
            let mut host = TestHost::kernel_with(cpus, small(cpus));
            host.enter(cpu);
            let task = host.preempt(cpu);
            let ticket = host.wait_for_gp(0);
            host.drive(ticket, 500);
            assert!(!host.satisfied(ticket), "{cpus} CPUs, preempted on {cpu}");
            assert_eq!((holdouts(&host), blocked(&host)), (vec![], vec![task]));
            host.resume(task, cpu);
            host.exit(cpu);
            host.drive(ticket, 500);
            assert!(host.satisfied(ticket), "{cpus} CPUs, preempted on {cpu}");
            assert_eq!(queued(&host), []);
        }
    }
}

#[test]
fn a_reader_preempted_during_the_grace_period_takes_over_from_its_cpu() {
    let mut host = TestHost::kernel_with(4, small(4));
    host.enter(3);
    let ticket = in_phase(&mut host, Phase::Wait);
    let task = host.preempt(3);
    assert_eq!(
        blocked(&host),
        [task],
        "the CPU was a holdout, so the task blocks"
    );
    host.report(3);
    assert!(!holdouts(&host).contains(&3), "the CPU is free");
    host.drive(ticket, 300);
    assert!(!host.satisfied(ticket));
    host.resume(task, 1);
    host.exit(1);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_reader_preempted_on_a_cpu_that_has_reported_is_newer_and_blocks_nothing() {
    let mut host = TestHost::kernel_with(4, small(4));
    let ticket = in_phase(&mut host, Phase::Wait);
    host.set_ticking(3, true);
    host.note(3);
    host.report(3);
    host.enter(3);
    let task = host.preempt(3);
    assert_eq!((queued(&host), blocked(&host)), (vec![task], vec![]));
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
    // The next grace period has to wait for the task, too.
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(!host.satisfied(ticket));
    assert_eq!(blocked(&host), [task]);
    host.resume(task, 0);
    host.exit(0);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_reader_preempted_in_any_phase_is_waited_for_if_it_is_older() {
    let phases = [
        Phase::Fence,
        Phase::Hotplug(0),
        Phase::Hotplug(1),
        Phase::Init(0),
        Phase::Init(1),
        Phase::Init(2),
        Phase::Wait,
        Phase::Scan(0),
        Phase::Scan(1),
    ];
    for phase in phases {
        let mut host = TestHost::kernel_with(4, small(4));
        let first = host.wait_for_gp(0);
        host.drive(first, 500);
        host.enter(2);
        let ticket = in_phase(&mut host, phase);
        let task = host.preempt(2);
        host.report(2);
        host.drive(ticket, 500);
        assert!(!host.satisfied(ticket), "preempted in {phase:?}");
        assert_eq!(holdouts(&host), [], "preempted in {phase:?}");
        host.resume(task, 3);
        host.exit(3);
        host.drive(ticket, 500);
        assert!(host.satisfied(ticket), "preempted in {phase:?}");
    }
}

#[test]
fn the_last_reader_to_leave_wakes_the_grace_period_thread() {
    // A tree of two levels, and one whose root is its leaf.
    for fanout in [2, 4] {
        let mut config = small(4);
        config.geometry.leaf_fanout = fanout;
        let mut host = TestHost::kernel_with(4, config);
        let tasks = [2, 3].map(|cpu| {
            host.enter(cpu);
            host.preempt(cpu)
        });
        let ticket = host.wait_for_gp(0);
        host.drive(ticket, 300);
        assert_eq!(blocked(&host), [tasks[1], tasks[0]], "the newest first");
        assert!(host.run_until(Phase::Wait, 50));
        let (scans, now) = (host.engine().counts().scans, host.now());
        host.resume(tasks[1], 2);
        host.exit(2);
        assert_eq!(blocked(&host), [tasks[0]]);
        host.resume(tasks[0], 2);
        host.exit(2);
        host.drive(ticket, 20);
        assert!(host.satisfied(ticket), "fan-out {fanout}");
        let after = (host.engine().counts().scans, host.now());
        assert_eq!((scans, now), after, "no need to wait for the timer");
    }
}

#[test]
fn a_section_nested_and_preempted_twice_ends_once() {
    let mut host = TestHost::kernel_with(2, small(2));
    host.enter(1);
    host.enter(1);
    let task = host.preempt(1);
    host.resume(task, 0);
    host.exit(0);
    assert_eq!(host.preempt(0), task, "it is already queued");
    assert_eq!(queued(&host), [task]);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 200);
    assert!(!host.satisfied(ticket));
    host.resume(task, 1);
    host.exit(1);
    assert_eq!(queued(&host), []);
    host.drive(ticket, 200);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_task_that_moved_holds_the_leaf_where_it_was_preempted_first() {
    let mut host = TestHost::kernel_with(4, small(4));
    host.enter(0);
    let task = host.preempt(0);
    host.resume(task, 3);
    assert_eq!(host.preempt(3), task);
    assert_eq!(host.engine().tasks().leaf_of(task), Some(0));
}

/// The set-up of the nodes, as traced: level, first and last CPU, mask.
fn inits(host: &mut TestHost) -> Vec<String> {
    let lines = host.take_trace().into_iter();
    let lines = lines.filter(|line| line.starts_with("rcu_grace_period_init"));
    let fields = |line: String| {
        let fields: Vec<&str> = line.split_whitespace().skip(3).collect();
        fields.join(" ")
    };
    lines.map(fields).collect()
}

#[test]
fn a_leaf_whose_cpus_are_gone_stays_in_the_tree_for_its_readers() {
    let mut host = TestHost::kernel_with(4, small(4));
    let first = host.wait_for_gp(0);
    host.drive(first, 300);
    host.enter(3);
    let task = host.preempt(3);
    host.unregister(2);
    host.unregister(3);
    host.take_trace();
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(
        !host.satisfied(ticket),
        "the reader is still in its section"
    );
    assert_eq!(inits(&mut host), ["0 0 3 3", "1 0 1 3", "1 2 3 0"]);
    host.resume(task, 0);
    host.exit(0);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
    host.take_trace();
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
    let gone = ["0 0 3 1", "1 0 1 3", "1 2 3 0"];
    assert_eq!(inits(&mut host), gone, "no reader blocks the leaf any more");
}

#[test]
fn a_cpu_that_comes_back_takes_the_leaf_over_from_its_readers() {
    let mut host = TestHost::kernel_with(4, small(4));
    host.enter(3);
    let task = host.preempt(3);
    host.unregister(2);
    host.unregister(3);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert_eq!(host.register(), 2);
    host.resume(task, 2);
    host.exit(2);
    host.drive(ticket, 300);
    host.take_trace();
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
    assert_eq!(inits(&mut host), ["0 0 3 3", "1 0 1 3", "1 2 3 1"]);
}

#[test]
fn readers_that_leave_before_their_deserted_leaf_is_set_up_are_not_waited_for() {
    let phases = [Phase::Init(0), Phase::Init(1), Phase::Init(2)];
    for phase in phases {
        let mut host = TestHost::kernel_with(4, small(4));
        host.enter(3);
        let task = host.preempt(3);
        host.unregister(2);
        host.unregister(3);
        let ticket = in_phase(&mut host, phase);
        host.resume(task, 0);
        host.exit(0);
        host.drive(ticket, 300);
        assert!(host.satisfied(ticket), "{phase:?}");
    }
}

/// The CPU arrives, reads and leaves between two starts: no grace period includes it.
#[test]
fn a_reader_of_a_cpu_that_no_grace_period_ever_saw_is_waited_for() {
    let mut host = TestHost::kernel_with(4, small(4));
    host.unregister(2);
    host.unregister(3);
    let first = host.wait_for_gp(0);
    host.drive(first, 300);
    assert!(host.satisfied(first), "the leaf is out of the tree now");
    assert_eq!(host.register(), 2);
    host.enter(2);
    let task = host.preempt(2);
    host.unregister(2);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(!host.satisfied(ticket));
    assert_eq!(blocked(&host), [task]);
    host.resume(task, 1);
    host.exit(1);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_newer_reader_on_a_leaf_that_does_not_take_part_is_left_to_the_next_grace_period() {
    let mut host = TestHost::kernel_with(4, small(4));
    host.unregister(2);
    host.unregister(3);
    let ticket = in_phase(&mut host, Phase::Init(0));
    assert_eq!(host.register(), 2);
    host.enter(2);
    let task = host.preempt(2);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(!host.satisfied(ticket));
    assert_eq!(blocked(&host), [task]);
}

#[test]
fn queued_readers_move_to_a_larger_tree() {
    let mut host = TestHost::kernel_with(2, small(2));
    host.enter(1);
    let task = host.preempt(1);
    assert_eq!(host.register(), 2);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert_eq!(host.engine().cpus(), 3, "the tree has grown");
    assert!(!host.satisfied(ticket));
    host.resume(task, 2);
    host.exit(2);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_reader_of_a_cpu_without_a_place_in_the_tree_is_queued_at_the_first_leaf() {
    let mut host = TestHost::kernel_with(2, small(2));
    let first = host.wait_for_gp(0);
    host.drive(first, 300);
    assert_eq!(host.register(), 2);
    host.enter(2);
    let task = host.preempt(2);
    assert_eq!(host.engine().tasks().leaf_of(task), Some(0));
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 300);
    assert!(!host.satisfied(ticket));
    host.resume(task, 0);
    host.exit(0);
    host.drive(ticket, 300);
    assert!(host.satisfied(ticket));
}

#[test]
fn the_trace_names_the_task_and_says_that_readers_hold_the_node() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Init);
    let first = host.wait_for_gp(0);
    host.drive(first, 300);
    host.enter(1);
    let ticket = in_phase(&mut host, Phase::Wait);
    host.take_trace();
    let task = host.preempt(1);
    host.report(1);
    host.resume(task, 0);
    host.exit(0);
    assert!(host.run_until(Phase::Cleanup(0), 5));
    let want = "\
rcu_preempt_task: rcu_preempt -1195 0
rcu_grace_period: rcu_preempt -1195 cpuqs
rcu_quiescent_state_report: rcu_preempt -1195 2>0 0 0 1 1
rcu_unlock_preempted_task: rcu_preempt -1195 0
rcu_quiescent_state_report: rcu_preempt -1195 0>0 0 0 1 0";
    assert_eq!(host.take_trace().join("\n"), want);
    host.drive(ticket, 20);
    assert!(host.satisfied(ticket));
    host.enter(1);
    host.preempt(1);
    let line = host.take_trace().pop();
    let idle = "rcu_preempt_task: rcu_preempt -1188 0";
    assert_eq!(line.as_deref(), Some(idle), "the next one has to wait");
}

#[test]
fn rounds_with_preempted_readers_end() {
    let mut host = TestHost::kernel_with(4, small(4));
    for round in 0..20u32 {
        let (cpu, other) = (round % 4, (round + 1) % 4);
        host.enter(cpu);
        let ticket = host.wait_for_gp(0);
        host.drive(ticket, round);
        let task = host.preempt(cpu);
        host.report(cpu);
        host.drive(ticket, 50);
        host.resume(task, other);
        host.exit(other);
        host.drive(ticket, 300);
        assert!(host.satisfied(ticket), "round {round}");
    }
}

#[test]
fn a_table_of_tasks_only_grows() {
    let mut host = TestHost::kernel_with(2, small(2));
    host.enter(0);
    let task = host.preempt(0);
    let engine = host.engine_mut();
    assert!(engine.grow_tasks(Tasks::new(1).expect("one link")).is_err());
    let old = engine.grow_tasks(Tasks::new(9).expect("nine links"));
    assert_eq!(old.map(|old| old.len()), Ok(1));
    assert_eq!(engine.tasks().leaf_of(task), Some(0), "it is still queued");
    engine.check_readers();
}

#[test]
#[should_panic(expected = "is queued already")]
fn a_reader_is_queued_once() {
    let mut host = TestHost::kernel_with(2, small(2));
    host.enter(0);
    let task = host.preempt(0);
    let machine = Nothing;
    let _ = host.engine_mut().context_switch(1, Some(task), &machine);
}

/// A host that must not be queried.
struct Nothing;

impl quiescent_kernel::Host for Nothing {
    fn cpus(&self) -> u32 {
        unreachable!("not asked")
    }
    fn observe(&self, _: u32) -> quiescent_kernel::Seen {
        unreachable!("not asked")
    }
    fn present(&self, _: usize) -> u64 {
        unreachable!("not asked")
    }
    fn own_quiescent(&self, _: u32) -> bool {
        unreachable!("not asked")
    }
}
