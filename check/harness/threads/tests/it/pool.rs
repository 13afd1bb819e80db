use quiescent_engine::cpu::LANES;
use quiescent_engine::credit::{Queued, Refill, Urgency};
use quiescent_engine::host::Now;
use quiescent_engine::host::Pos;
use quiescent_engine::pool::*;
use quiescent_engine::{Cpu, Lane};
use quiescent_harness_threads::TestHost;

const ABOVE: u64 = Pool::threads().above as u64;
const BELOW: u64 = Pool::threads().below as u64;
const CODE: usize = Lane::Code as usize;
const PLAIN: usize = Lane::Plain as usize;

fn worker(number: u32) -> TurnId {
    TurnId::new(number).expect("not 0")
}

/// A machine, some queues, and what was pushed.
struct Rig {
    machine: TestHost,
    cpus: Vec<Cpu>,
    queued: Vec<[Queued; LANES]>,
}

impl Rig {
    /// Callbacks that are ready and not invoked, of the lanes that run code.
    fn ready_code(&self, cpu: usize) -> u64 {
        let [_, code, _, head] = self.cpus[cpu].lists();
        code.ready() + head.ready()
    }

    fn new(cpus: u32) -> Rig {
        Rig {
            machine: TestHost::threads(2),
            cpus: (0..cpus).map(Cpu::new).collect(),
            queued: (0..cpus).map(|_| [Queued::default(); LANES]).collect(),
        }
    }

    /// Makes so many more callbacks of this queue ready, and lets its owner call the engine.
    fn done(&mut self, cpu: usize, count: Pos) -> Refill {
        self.wait_for(cpu, count);
        self.refill(cpu)
    }

    fn wait_for(&mut self, cpu: usize, count: Pos) {
        self.queued[cpu][CODE].end += count;
        let _ = self.refill(cpu);
        let ticket = self.machine.wait_for_gp(0);
        self.machine.drive(0, ticket, 200);
        assert!(self.machine.satisfied(ticket));
    }

    fn refill(&mut self, cpu: usize) -> Refill {
        let global = self.machine.engine_mut();
        let now = Now::default();
        self.cpus[cpu].refill(global, &self.queued[cpu], Urgency::Lazy, now)
    }

    fn take(&mut self, cpu: usize, number: u32) -> bool {
        self.cpus[cpu].take_turn(self.machine.engine_mut(), worker(number))
    }

    fn end(&mut self, cpu: usize, number: u32) {
        self.cpus[cpu].end_turn(self.machine.engine_mut(), worker(number));
    }

    /// The worker with the turn invokes this number.
    fn invoke(&mut self, cpu: usize, count: u64) {
        let range = self.cpus[cpu].extract(Lane::Code, count);
        assert_eq!(range.end - range.start, count);
        self.cpus[cpu].ran(Lane::Code, range);
        self.cpus[cpu].tell(self.machine.engine_mut());
    }

    fn called(&mut self) -> bool {
        self.machine.engine_mut().calls_overflow()
    }

    fn rests(&mut self, idle: bool) -> bool {
        self.machine.engine_mut().stand_down(idle)
    }

    fn untended(&self) -> u64 {
        self.machine.engine().untended()
    }
}

#[test]
fn a_turn_is_one_workers() {
    let mut rig = Rig::new(1);
    assert!(!rig.take(0, 1), "no callback is ready");
    let _ = rig.done(0, 5);
    assert!(rig.take(0, 1));
    assert!(rig.take(0, 1), "it has the turn already");
    assert!(!rig.take(0, 2), "another worker has the turn");
    rig.end(0, 2);
    assert_eq!(
        rig.cpus[0].turn(),
        Some(worker(1)),
        "the ended turn was not its own"
    );
    rig.end(0, 1);
    assert!(rig.take(0, 2));
    // An extraction within the turn does not end it.
    rig.invoke(0, 5);
    assert_eq!(rig.cpus[0].turn(), Some(worker(2)));
    rig.end(0, 2);
    assert!(!rig.take(0, 1), "nothing is left");
}

#[test]
fn a_quiet_program_never_gets_a_second_worker() {
    let mut rig = Rig::new(2);
    for _ in 0..3 {
        assert!(!rig.done(0, ABOVE).second);
        assert_eq!(rig.untended(), ABOVE);
        assert!(rig.take(0, 1));
        rig.invoke(0, ABOVE);
        rig.end(0, 1);
        assert!(!rig.called());
    }
    assert_eq!(rig.machine.engine().counts().backlogs, 0);
}

#[test]
fn a_queue_in_a_turn_is_no_backlog() {
    let mut rig = Rig::new(2);
    let _ = rig.done(0, 10);
    assert!(rig.take(0, 1));
    assert!(
        !rig.done(0, 5 * ABOVE).second,
        "two workers cannot share one queue"
    );
    assert_eq!(rig.untended(), 0);
    assert!(!rig.done(1, ABOVE).second);
    // The first turn ends with callbacks left: the other worker may continue with them.
    rig.end(0, 1);
    assert!(rig.called());
    assert!(!rig.called(), "once");
}

#[test]
fn a_second_worker_comes_on_backlog_and_goes_when_it_is_low() {
    let mut rig = Rig::new(3);
    let _ = rig.done(0, ABOVE);
    assert!(rig.take(0, 1));
    assert!(!rig.done(1, ABOVE).second);
    assert!(rig.done(2, 1).second, "one more than the mark");
    assert!(
        !rig.done(2, BELOW).second,
        "the overflow worker was called before"
    );
    assert!(rig.machine.engine().overflow_is_on_duty());
    assert!(!rig.rests(false));
    assert!(rig.take(1, 2));
    rig.invoke(1, ABOVE);
    rig.end(1, 2);
    assert_eq!(rig.untended(), BELOW + 1);
    assert!(!rig.rests(false), "there are callbacks left for it");
    rig.invoke(2, 2);
    assert_eq!(rig.untended(), BELOW - 1);
    assert!(rig.rests(false));
    assert!(!rig.machine.engine().overflow_is_on_duty());
}

/// Ten thousand callbacks arrive between two calls: the overflow worker does not start and rest for each.
#[test]
fn a_second_worker_does_not_flap() {
    let mut rig = Rig::new(1);
    assert!(rig.done(0, ABOVE + 1).second);
    rig.invoke(0, ABOVE + 2 - BELOW);
    assert!(rig.rests(false));
    for _ in 0..100 {
        assert!(!rig.done(0, BELOW).second);
        rig.invoke(0, BELOW);
    }
    assert!(!rig.done(0, ABOVE + 1 - BELOW).second);
    assert!(rig.done(0, 1).second);
    assert_eq!(rig.machine.engine().counts().backlogs, 2);
}

#[test]
fn a_second_worker_that_finds_nothing_rests() {
    let mut rig = Rig::new(2);
    assert!(rig.done(0, ABOVE + 1).second);
    assert!(rig.take(0, 1), "the first worker was faster");
    assert!(!rig.take(0, 2));
    assert!(rig.rests(true));
    assert!(
        rig.done(1, ABOVE + 1).second,
        "the next backlog calls it again"
    );
}

#[test]
fn one_processor_has_one_worker() {
    let mut rig = Rig::new(1);
    rig.machine.engine_mut().set_workers(1);
    assert!(!rig.done(0, 3 * ABOVE).second);
    // Also if there is a second queue by then.
    rig.machine.engine_mut().set_workers(2);
    assert!(rig.refill(0).second);
    rig.machine.engine_mut().set_workers(1);
    assert!(rig.rests(false));
}

#[test]
fn where_the_program_drains_no_worker_is_called() {
    let mut rig = Rig::new(1);
    rig.machine.engine_mut().set_drained(true);
    assert!(!rig.done(0, 3 * ABOVE).second);
    rig.machine.engine_mut().set_drained(false);
    assert!(rig.refill(0).second);
    rig.machine.engine_mut().set_drained(true);
    assert!(rig.rests(false));
}

#[test]
fn memory_is_no_backlog() {
    let mut rig = Rig::new(1);
    rig.queued[0][Lane::Plain as usize].end = 3 * ABOVE;
    assert!(!rig.done(0, 1).second);
    assert_eq!(rig.cpus[0].list(Lane::Plain).ready(), 3 * ABOVE);
    assert!(rig.take(0, 1));
    assert!(rig.cpus[0].is_untended(), "but any thread may free it");
    let range = rig.cpus[0].extract(Lane::Plain, u64::MAX);
    rig.cpus[0].ran(Lane::Plain, range);
    assert!(!rig.cpus[0].is_untended());
}

#[test]
fn in_the_child_of_a_fork_no_worker_has_a_turn() {
    let mut rig = Rig::new(1);
    assert!(rig.done(0, ABOVE + 1).second);
    assert!(rig.take(0, 2));
    let global = rig.machine.engine_mut();
    let _ = rig.cpus[0].forked(global, &rig.queued[0], true, Now::default());
    global.forked();
    assert_eq!((rig.cpus[0].turn(), rig.untended()), (None, ABOVE + 1));
    assert!(!rig.machine.engine().overflow_is_on_duty());
    assert!(
        rig.refill(0).second,
        "the next thread that checks starts a worker of the child"
    );
}

/// The totals change in calls whose host does not ask for the overflow worker: it is not on duty then.
#[test]
fn without_a_question_nothing_is_on_duty() {
    let mut rig = Rig::new(1);
    rig.wait_for(0, ABOVE + 1);
    rig.cpus[0].advance(rig.machine.engine_mut());
    rig.cpus[0].tell(rig.machine.engine_mut());
    assert_eq!(rig.untended(), ABOVE + 1);
    assert!(!rig.machine.engine().overflow_is_on_duty());
    assert!(rig.called() && rig.machine.engine().overflow_is_on_duty());
    assert!(!rig.called(), "once");
}

/// A thread that queues faster than callbacks run yields near the budget, and only there.
#[test]
fn near_the_budget_a_producer_gives_way_to_those_who_run() {
    let mut rig = Rig::new(2);
    let _ = rig.machine.engine_mut().set_budget(u64::MAX, 1000);
    assert!(!rig.done(0, 700).give_way, "far from the budget");
    assert!(rig.done(0, 100).give_way);
    assert!(
        !rig.refill(1).give_way,
        "it has queued no callback that is ready"
    );
    rig.invoke(0, 800);
    assert!(!rig.refill(0).give_way);
    // Other threads may be driving the grace period that these wait for.
    rig.queued[0][CODE].end += 900;
    assert!(rig.refill(0).give_way);
}

#[test]
fn a_second_worker_goes_on_at_the_lower_mark_and_rests_below_it() {
    for (left, rests) in [(BELOW, false), (BELOW - 1, true)] {
        let mut rig = Rig::new(1);
        assert!(rig.done(0, ABOVE + 1).second);
        rig.invoke(0, ABOVE + 1 - left);
        assert_eq!((rig.untended(), rig.rests(false)), (left, rests));
    }
}

#[test]
fn whatever_is_ready_and_in_no_turn_is_untended() {
    let head = Lane::Head as usize;
    for (lane, in_turn) in [(PLAIN, true), (CODE, false), (head, false)] {
        let mut rig = Rig::new(1);
        assert!(!rig.cpus[0].is_untended(), "nothing is queued");
        rig.queued[0][lane].end += 1;
        let _ = rig.done(0, 0);
        assert!(rig.cpus[0].is_untended());
        let code = u64::from(lane != PLAIN);
        assert_eq!((rig.untended(), rig.ready_code(0)), (code, code));
        assert_eq!(rig.take(0, 1), lane != PLAIN);
        assert_eq!(rig.cpus[0].is_untended(), in_turn);
    }
}
