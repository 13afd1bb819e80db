use quiescent_engine::budget::*;
use quiescent_engine::credit::Cause;
use quiescent_engine::credit::Queued;
use quiescent_engine::credit::{Defer, Refill, Urgency};
use quiescent_engine::{Cpu, Global, LANES, Lane, Now};
use quiescent_harness_threads::{TestHost, queue_with_owner};

const PLAIN: usize = Lane::Plain as usize;
const SECOND: u64 = 1_000_000_000;

/// A machine, some queues, and what their owners have pushed and popped.
struct Rig {
    machine: TestHost,
    cpus: Vec<Cpu>,
    queued: Vec<[Queued; LANES]>,
    ns: u64,
}

impl Rig {
    fn new(cpus: u32, bytes: u64, count: u64) -> Rig {
        let mut machine = TestHost::threads(2);
        assert!(!machine.engine_mut().set_budget(bytes, count));
        Rig {
            machine,
            cpus: (0..cpus).map(Cpu::new).collect(),
            queued: (0..cpus).map(|_| queue_with_owner()).collect(),
            ns: SECOND,
        }
    }

    fn global(&self) -> &Global {
        self.machine.engine()
    }

    fn now(&self) -> Now {
        Now { ns: self.ns }
    }

    fn push(&mut self, cpu: usize, lane: usize, count: u64, bytes: u64) {
        self.queued[cpu][lane].end += count;
        self.queued[cpu][lane].bytes += bytes;
    }

    fn refill(&mut self, cpu: usize, urgency: Urgency) -> Refill {
        let now = self.now();
        let global = self.machine.engine_mut();
        let refill = self.cpus[cpu].refill(global, &self.queued[cpu], urgency, now);
        self.clear_bytes(cpu);
        refill
    }

    fn retire(&mut self, cpu: usize, count: u64, bytes: u64) -> Refill {
        self.push(cpu, PLAIN, count, bytes);
        self.refill(cpu, Urgency::Lazy)
    }

    fn admit(&mut self, cpu: usize, bytes: u64) -> bool {
        let now = self.now();
        let global = self.machine.engine_mut();
        let fits = self.cpus[cpu].admit(global, &self.queued[cpu], bytes, now);
        self.clear_bytes(cpu);
        fits
    }

    fn taken(&mut self, cpu: usize, faster: bool) {
        let mut queued = self.queued[cpu];
        for lane in &mut queued {
            lane.credit = faster;
        }
        let now = self.now();
        let _ = self.cpus[cpu].taken(self.machine.engine_mut(), &queued, Cause::Budget, now);
        self.clear_bytes(cpu);
        self.queued[cpu][PLAIN].freed_to = None;
    }

    fn clear_bytes(&mut self, cpu: usize) {
        for lane in &mut self.queued[cpu] {
            lane.bytes = 0;
        }
    }

    /// Runs a whole grace period, and updates all queues.
    fn grace_period(&mut self) {
        let ticket = self.machine.wait_for_gp(0);
        self.machine.drive(0, ticket, 200);
        assert!(self.machine.satisfied(ticket));
        for cpu in &mut self.cpus {
            cpu.advance(self.machine.engine());
        }
    }

    /// Another thread takes the entries over and runs them; the total is updated where the engine requests
    /// it.
    fn run(&mut self, cpu: usize, lane: Lane, most: u64) -> u64 {
        let out = self.cpus[cpu].extract(lane, most);
        let count = out.end - out.start;
        self.cpus[cpu].ran(lane, out);
        if self.cpus[cpu].unreported() {
            self.cpus[cpu].tell(self.machine.engine_mut());
        }
        count
    }

    /// The sum of the shares is the total, and no share lags by more than is allowed.
    #[track_caller]
    fn check(&self) {
        let sum = |share: fn(&Cpu) -> Held| {
            let shares = self.cpus.iter().map(share);
            shares.fold(Held::default(), |a, b| Held {
                count: a.count + b.count,
                bytes: a.bytes + b.bytes,
            })
        };
        assert_eq!(self.global().held(), sum(Cpu::reported));
        assert_eq!(self.global().lent(), sum(Cpu::lent));
        let borrowers = self.cpus.iter().filter(|cpu| cpu.lent().count != 0).count();
        assert_eq!(self.global().borrowers(), borrowers as u64);
        for cpu in &self.cpus {
            let (counted, held) = (cpu.reported(), cpu.held());
            assert!(
                counted.count >= held.count && counted.bytes >= held.bytes,
                "too low"
            );
            assert!(
                counted.count - held.count < SLACK.count,
                "{counted:?} {held:?}"
            );
            assert!(
                held.count != 0 || counted.count == 0,
                "empty, but still in the total"
            );
        }
    }
}

#[test]
fn near_the_budget_a_refill_asks_helps_and_lends_what_is_left() {
    let mut rig = Rig::new(1, 1 << 20, u64::MAX);
    let easy = rig.retire(0, 100, 786_432);
    assert_eq!(rig.global().level(), Level::Easy, "three quarters");
    assert_eq!((easy.help, easy.credit[PLAIN].behind), (0, false));
    let mut rig = Rig::new(1, 1 << 20, u64::MAX);
    let near = rig.retire(0, 1, 800_000);
    assert_eq!((near.help, near.credit[PLAIN].behind), (10, true));
    assert!(near.drive && near.kick && !near.over, "{near:?}");
    assert!(!rig.retire(0, 1, 0).kick, "once");
    // An eighth is 128 KiB, for three lanes.
    assert_eq!(near.credit[PLAIN].bytes, (128 << 10) / 3);
    assert_eq!(near.credit[PLAIN].until - 1, 85);
    let nearer = rig.retire(0, 1, 200_000);
    let left = (1 << 20) - 1_000_000;
    assert_eq!(nearer.credit[PLAIN].bytes, left / 3);
    let over = rig.retire(0, 1, 100_000);
    assert_eq!(over.credit[PLAIN].bytes, LEAST.bytes);
    let end = rig.queued[0][PLAIN].end;
    assert_eq!(over.credit[PLAIN].until - end, LEAST.count);
    rig.check();
}

#[test]
fn an_owner_that_does_not_reclaim_wakes_the_worker_and_yields() {
    for lane in [PLAIN, Lane::Code as usize] {
        let mut rig = Rig::new(1, 1 << 20, u64::MAX);
        for queued in &mut rig.queued[0] {
            (queued.offload, queued.freed_to) = (true, None);
        }
        let mut push = |count, bytes| {
            rig.push(0, lane, count, bytes);
            let refill = rig.refill(0, Urgency::Lazy);
            let credit = refill.credit[lane].until - rig.queued[0][lane].end;
            assert_eq!((refill.help, refill.drive), (0, false), "others reclaim");
            // The worker begins a pass, and takes everything over.
            let sweeps = rig.machine.engine_mut().sweeps_all();
            (
                rig.global().level(),
                refill.kick,
                sweeps,
                refill.give_way,
                credit,
            )
        };
        assert_eq!(push(1, 1000).0, Level::Easy);
        let (level, kick, sweeps, gives_way, credit) = push(2, 1000);
        assert_eq!(
            (level, kick, sweeps, gives_way),
            (Level::Easy, false, false, false)
        );
        assert!(credit > LEAST.count);
        let (level, kick, sweeps, gives_way, credit) = push(1, 800_000);
        assert_eq!(
            (level, kick, sweeps, gives_way),
            (Level::Near, true, true, true)
        );
        assert!(credit >= LEAST.count);
        for _ in 0..3 {
            // Again and again: it is no news that the budget is exceeded, and more is pushed.
            assert_eq!(push(1, 300_000), (Level::Over, true, true, true, 0));
        }
        rig.taken(0, false);
        rig.grace_period();
        while rig.run(0, Lane::ALL[lane], 1) == 1 {}
        assert_eq!(rig.global().level(), Level::Easy);
        rig.check();
    }
}

/// The first batch is looked at when its credit is used up; then it is known that values are large.
#[test]
fn a_thread_that_drops_large_values_has_smaller_batches() {
    let full = Defer::threads().code_batch_bytes;
    let own = Lane::Own as usize;
    for (each, batch) in [(100 << 10, full / 8), (16 << 10, full), (1200, full)] {
        let mut rig = Rig::new(1, 1 << 30, 1 << 20);
        let _ = rig.retire(0, 1, 8); // the first one has no credit
        rig.push(0, own, 2, 2 * each);
        let left = rig.refill(0, Urgency::Lazy).credit[own].bytes;
        assert_eq!(left, batch - 2 * each, "{each}");
        rig.grace_period();
        while rig.run(0, Lane::Own, 1) == 1 {}
        let left = rig.refill(0, Urgency::Lazy).credit[own].bytes;
        assert_eq!(left, batch, "{each}: the next ones are alike");
        let count = batch.div_ceil(each);
        rig.push(0, own, count, count * each);
        let _ = rig.refill(0, Urgency::Lazy);
        assert_eq!(rig.global().counts().flushes.of(Cause::Batch), 1, "{each}");
    }
}

#[test]
fn a_batch_of_code_is_limited_by_its_number_and_by_more_bytes() {
    let Defer {
        batch,
        batch_bytes,
        code_batch_bytes,
        ..
    } = Defer::threads();
    let code = Lane::Code as usize;
    for (count, bytes, is_full) in [
        (batch - 1, (batch - 1) * 1200, false), // many values without a weight
        (batch, batch * 1200, true),
        (3, batch_bytes, false),
        (3, code_batch_bytes - 1, false),
        (3, code_batch_bytes, true),
    ] {
        let mut rig = Rig::new(1, 64 << 20, 1 << 20);
        let _ = rig.retire(0, 1, 8); // the first one has no credit
        rig.push(0, code, count, bytes);
        let refill = rig.refill(0, Urgency::Lazy);
        let flushes = rig.global().counts().flushes.of(Cause::Batch);
        assert_eq!(
            (flushes, refill.kick),
            (u64::from(is_full), false),
            "{count} of {bytes}"
        );
        assert!(refill.credit[code].bytes <= code_batch_bytes);
        rig.grace_period();
        assert_eq!(
            rig.refill(0, Urgency::Lazy).kick,
            is_full,
            "a batch is done: run it"
        );
    }
}

#[test]
fn the_program_gets_one_report_a_crossing_and_one_a_second() {
    let mut rig = Rig::new(2, 1000, u64::MAX);
    assert!(!rig.retire(0, 1, 1000).over);
    assert!(rig.retire(0, 1, 1).over);
    assert!(
        !rig.retire(0, 1, 1).over && !rig.retire(1, 1, 1).over,
        "once"
    );
    rig.taken(0, false);
    rig.grace_period();
    while rig.run(0, Lane::Plain, 1) == 1 {}
    assert_eq!(rig.global().level(), Level::Easy);
    // A second crossing within the second is not acted upon.
    assert!(!rig.retire(1, 1, 2000).over, "too soon");
    assert_eq!(rig.global().counts().over_budget, 2);
    assert!(!rig.refill(1, Urgency::Lazy).over);
    rig.ns += SECOND - 1;
    assert!(!rig.refill(1, Urgency::Lazy).over);
    rig.ns += 1;
    assert!(rig.refill(1, Urgency::Lazy).over);
    assert!(!rig.refill(1, Urgency::Lazy).over);
}

#[test]
fn news_of_what_is_over_already_is_no_news() {
    let mut rig = Rig::new(2, 1000, u64::MAX);
    assert!(rig.retire(0, 1, 1001).over);
    rig.taken(0, false);
    rig.grace_period();
    assert_eq!(rig.run(0, Lane::Plain, 9), 1);
    assert_eq!(rig.global().level(), Level::Easy);
    assert!(!rig.retire(1, 1, 1001).over, "too soon");
    rig.taken(1, false);
    rig.grace_period();
    assert_eq!(rig.run(1, Lane::Plain, 9), 1);
    rig.ns += 5 * SECOND;
    assert!(!rig.retire(0, 0, 0).over && !rig.retire(1, 1, 1).over);
}

#[test]
fn what_does_not_fit_is_refused_and_everything_is_taken_over() {
    let mut rig = Rig::new(2, 1000, 10);
    assert!(
        rig.admit(0, 5000),
        "nothing is held, so any size is admitted"
    );
    assert_eq!(rig.retire(0, 1, 600).help, 0);
    assert!(
        rig.machine.engine_mut().sweeps_all(),
        "it was larger than the budget"
    );
    assert!(rig.admit(0, 400) && !rig.admit(0, 401));
    assert!(rig.refill(0, Urgency::Lazy).kick);
    assert!(
        !rig.admit(1, 401) && !rig.refill(1, Urgency::Lazy).kick,
        "the worker was woken before"
    );
    assert!(rig.machine.engine_mut().sweeps_all());
    assert!(!rig.machine.engine_mut().sweeps_all(), "once");
    assert!(
        !rig.admit(1, u64::MAX) && rig.refill(1, Urgency::Lazy).kick,
        "again"
    );
    // By the number of objects.
    assert_eq!(rig.retire(1, 9, 0).help, 10);
    assert_eq!(
        rig.global().held(),
        Held {
            count: 10,
            bytes: 600
        }
    );
    assert!(!rig.admit(1, 0));
    rig.taken(1, false);
    rig.grace_period();
    assert_eq!(rig.run(1, Lane::Plain, 9), 9);
    assert!(rig.admit(1, 0));
    let _ = rig.retire(1, 1, 0);
    rig.check();
}

#[test]
fn an_eighth_is_lent_in_fair_shares() {
    let batch = Defer::threads().batch;
    let mut rig = Rig::new(3000, 64 << 20, 1 << 20);
    let full = rig.retire(0, 1, 64);
    assert_eq!(full.credit[PLAIN].until, batch, "as without a budget");
    assert_eq!(
        rig.cpus[0].lent(),
        Held {
            count: 3 * 256,
            // Less what is queued, and the loan of each lane of code: a third of an eighth of the budget.
            bytes: Defer::threads().batch_bytes - 64 + 2 * ((64 << 20) / 8 / 3),
        }
    );
    for cpu in 1..3000 {
        let refill = rig.retire(cpu, 1, 64);
        assert!(refill.credit[PLAIN].until > LEAST.count);
    }
    rig.check();
    let reserve = (64 << 20) / 8;
    let floors = 3000 * 3 * LEAST.bytes;
    assert!(
        rig.global().lent().bytes <= reserve + floors,
        "{:?}",
        rig.global().lent()
    );
    // What is given back can be lent again.
    for cpu in 0..2999 {
        rig.taken(cpu, false);
    }
    rig.check();
    let again = rig.retire(2999, 1, 64);
    assert_eq!(again.credit[PLAIN].until - 2, batch);
}

#[test]
fn an_owner_that_was_faster_keeps_its_loan_and_one_that_leaves_does_not() {
    let mut rig = Rig::new(1, 64 << 20, 1 << 20);
    let _ = rig.retire(0, 1, 64);
    let lent = rig.global().lent();
    assert_ne!(lent, Held::default());
    rig.taken(0, true);
    assert_eq!(rig.global().lent(), lent);
    for lane in &mut rig.queued[0] {
        lane.credit = false;
    }
    let _ = rig.refill(0, Urgency::Lazy);
    assert_eq!(rig.global().lent(), Held::default());
}

#[test]
fn another_budget_counts_at_once() {
    let mut rig = Rig::new(1, 1000, 1000);
    let _ = rig.retire(0, 1, 500);
    assert!(!rig.machine.engine_mut().set_budget(700, 1000));
    assert!(
        rig.machine.engine_mut().set_budget(600, 1000),
        "the worker is woken"
    );
    assert_eq!(rig.global().level(), Level::Near);
    assert!(
        !rig.machine.engine_mut().set_budget(400, 1000),
        "it has been woken"
    );
    assert_eq!(rig.global().level(), Level::Over);
    assert!(rig.machine.engine_mut().sweeps_all());
    assert!(rig.refill(0, Urgency::Lazy).over);
    assert!(!rig.machine.engine_mut().set_budget(u64::MAX, u64::MAX));
    assert_eq!(rig.global().level(), Level::Easy);
    assert!(rig.machine.engine_mut().sweeps_all());
    assert!(rig.machine.engine_mut().set_budget(0, 0));
    assert!(!rig.admit(0, 0));
}

mod forks;
mod lent;
mod random;
