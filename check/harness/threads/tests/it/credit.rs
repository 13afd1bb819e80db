use quiescent_engine::Interest;
use quiescent_engine::Phase;
use quiescent_engine::cblist::Segment;
use quiescent_engine::credit::*;
use quiescent_engine::{Cpu, LANES, Lane, Now};
use quiescent_harness_threads::TestHost;

const SECOND: u64 = 1_000_000_000;
const PLAIN: usize = Lane::Plain as usize;
const CODE: usize = Lane::Code as usize;
const BATCH: u64 = Defer::threads().batch;

/// A machine of two threads, the queue of one of them, and what its owner has pushed and popped.
struct Rig {
    machine: TestHost,
    cpu: Cpu,
    queued: [Queued; LANES],
}

impl Rig {
    fn new() -> Rig {
        let owned = Queued {
            credit: true,
            freed_to: Some(0),
            ..Queued::default()
        };
        let others = Queued {
            freed_to: None,
            ..owned
        };
        Rig {
            machine: TestHost::threads(2),
            cpu: Cpu::new(1),
            queued: [owned, others, others, others],
        }
    }

    fn push(&mut self, lane: usize, count: u64, bytes: u64) {
        self.queued[lane].end += count;
        self.queued[lane].bytes += bytes;
    }

    fn refill(&mut self, urgency: Urgency, ns: u64) -> Refill {
        let global = self.machine.engine_mut();
        let refill = self.cpu.refill(global, &self.queued, urgency, now(ns));
        self.clear_bytes();
        refill
    }

    /// Another thread takes the queue over.
    fn taken(&mut self, faster: bool, ns: u64) -> bool {
        let mut queued = self.queued;
        for lane in &mut queued {
            lane.credit = faster;
        }
        let waits = self
            .cpu
            .taken(self.machine.engine_mut(), &queued, Cause::Lazy, now(ns));
        self.clear_bytes();
        waits
    }

    fn clear_bytes(&mut self) {
        for lane in &mut self.queued {
            lane.bytes = 0;
        }
    }

    /// Runs a whole grace period, and updates the queue.
    fn grace_period(&mut self) {
        let ticket = self.machine.wait_for_gp(0);
        self.machine.drive(0, ticket, 200);
        assert!(self.machine.satisfied(ticket));
        self.cpu.advance(self.machine.engine());
    }
}

fn now(ns: u64) -> Now {
    Now { ns }
}

#[test]
fn nothing_queued_asks_for_nothing() {
    let mut rig = Rig::new();
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert_eq!(
        (refill.arm, refill.kick, refill.drive),
        (None, false, false)
    );
    assert_eq!(
        refill.credit[PLAIN].until, 0,
        "the first push is to be reported"
    );
    assert_eq!((rig.cpu.deadline(), rig.cpu.is_empty()), (None, true));
    assert_eq!(rig.cpu.due(now(u64::MAX), true), None);
}

#[test]
fn the_first_callback_sets_the_timer_to_a_whole_second_and_buys_a_batch() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 1, 64);
    let refill = rig.refill(Urgency::Lazy, 2 * SECOND + 1);
    assert_eq!(refill.arm, Some(13 * SECOND));
    assert_eq!(
        (refill.kick, refill.drive),
        (false, false),
        "lazy entries wake no thread"
    );
    assert_eq!(refill.credit[PLAIN].until, BATCH);
    assert_eq!(refill.credit[PLAIN].bytes, (192 << 10) - 64);
    assert_eq!(
        refill.credit[CODE].until, BATCH,
        "each lane has its own credit"
    );
    let list = rig.cpu.list(Lane::Plain);
    assert_eq!(list.segment(Segment::Wait).0, 1, "stamped, for nothing");
    assert!(
        !rig.machine.engine().busy(),
        "and no grace period was requested"
    );
    // More entries within the credit change neither timer nor deadline: the oldest one determines them.
    rig.push(PLAIN, 9, 576);
    assert_eq!(rig.refill(Urgency::Lazy, 5 * SECOND).arm, None);
    assert_eq!(rig.cpu.deadline(), Some(13 * SECOND));
    assert_eq!(rig.cpu.due(now(13 * SECOND - 1), false), None);
    assert_eq!(rig.cpu.due(now(13 * SECOND), false), Some(Cause::Lazy));
}

#[test]
fn credit_is_outstanding_until_the_next_look_so_an_empty_queue_has_a_deadline() {
    let mut rig = Rig::new();
    let _ = rig.machine.engine_mut().arm(7 * SECOND);
    // The timer is set anyway, so the owner need not report its first push.
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert_eq!(refill.credit[PLAIN].until, BATCH);
    assert_eq!((refill.arm, rig.cpu.deadline()), (None, Some(11 * SECOND)));
    // Entries that it queued since then are as old as that update.
    rig.push(PLAIN, 1, 64);
    let _ = rig.refill(Urgency::Lazy, 6 * SECOND);
    assert_eq!(rig.cpu.list(Lane::Plain).since(), Some(SECOND));
    assert_eq!(rig.cpu.deadline(), Some(11 * SECOND));
}

#[test]
fn a_batch_is_stamped_by_count_or_by_bytes_and_driven_in_passing() {
    // One entry less than a batch, and the entry that makes it full.
    for (short, last) in [((BATCH - 1, 0), (1, 0)), ((1, (192 << 10) - 1), (1, 1))] {
        let mut rig = Rig::new();
        rig.push(PLAIN, short.0, short.1);
        assert!(!rig.refill(Urgency::Lazy, SECOND).drive);
        rig.push(PLAIN, last.0, last.1);
        let refill = rig.refill(Urgency::Lazy, SECOND);
        assert!(refill.drive && !refill.kick);
        assert_eq!(rig.cpu.list(Lane::Plain).unstamped(), 0);
        rig.grace_period();
        let refill = rig.refill(Urgency::Lazy, SECOND);
        assert_eq!(refill.credit[PLAIN].done, rig.queued[PLAIN].end);
        assert!(!refill.drive);
    }
}

/// A grace period that another thread requests serves what is stamped by then, without a batch of its own.
#[test]
fn what_is_stamped_goes_with_any_grace_period() {
    let mut rig = Rig::new();
    rig.push(PLAIN, BATCH - 1, 0);
    assert!(!rig.refill(Urgency::Lazy, SECOND).drive);
    let _ = rig.machine.wait_for_gp(0);
    rig.push(PLAIN, 1, 0);
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert!(refill.drive, "it is requested, and no thread drives it");
    assert_eq!(refill.credit[PLAIN].until, 2 * BATCH, "a whole batch");
    rig.grace_period();
    assert_eq!(rig.cpu.list(Lane::Plain).ready(), BATCH);
    // While one is in progress, new entries wait for the next, which is not requested.
    assert!(rig.machine.try_drive(0, Interest::Passing));
    let _ = rig.machine.wait_for_gp(0);
    assert!(rig.machine.run_until(Phase::Fence, 10));
    rig.push(PLAIN, 10, 0);
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert_eq!(refill.credit[PLAIN].until, 2 * BATCH);
    assert_eq!(rig.cpu.list(Lane::Plain).unstamped(), 0);
}

#[test]
fn a_thread_that_drives_already_continues_to_drive() {
    let mut rig = Rig::new();
    rig.push(PLAIN, BATCH, 0);
    assert!(rig.machine.try_drive(0, Interest::Passing));
    assert!(!rig.refill(Urgency::Lazy, SECOND).drive);
}

#[test]
fn prompt_ones_have_their_own_deadline_and_the_first_is_enough() {
    let mut rig = Rig::new();
    rig.push(CODE, 1, 8);
    let refill = rig.refill(Urgency::Prompt, SECOND);
    assert_eq!(refill.arm, Some(SECOND + 50_000_000));
    assert!(refill.prompt && !refill.kick && rig.cpu.is_prompt());
    rig.push(CODE, 1, 8);
    let refill = rig.refill(Urgency::Prompt, SECOND + 40_000_000);
    assert_eq!(refill.arm, None, "the earlier one covers it");
    assert_eq!(rig.cpu.deadline(), Some(SECOND + 50_000_000));
    assert!(rig.taken(false, SECOND + 50_000_000));
    assert_eq!(rig.cpu.deadline(), None);
    assert!(!rig.cpu.is_prompt());
}

#[test]
fn a_hurry_takes_all_lanes_along_and_wakes_the_worker() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 3, 0);
    rig.push(CODE, 2, 0);
    let refill = rig.refill(Urgency::Hurry, SECOND);
    assert!(refill.kick && refill.drive && rig.cpu.is_hurried());
    assert!(rig.cpu.lists().iter().all(|list| list.unstamped() == 0));
    rig.grace_period();
    rig.queued[PLAIN].freed_to = Some(3);
    let _ = rig.refill(Urgency::Lazy, SECOND);
    assert!(rig.cpu.is_hurried(), "the code has not run");
    let range = rig.cpu.extract(Lane::Code, 9);
    assert!(!rig.cpu.is_hurried() && rig.cpu.queued(Lane::Code) == 2);
    assert!(!rig.cpu.ran(Lane::Code, range) && rig.cpu.is_empty());
}

/// A grace period that has started does not serve entries that are queued now.
#[test]
fn stamps_are_snapshots_of_the_number() {
    for by_taker in [false, true] {
        let mut rig = Rig::new();
        assert!(rig.machine.try_drive(0, Interest::Passing));
        let _ = rig.machine.wait_for_gp(0);
        assert!(rig.machine.run_until(Phase::Fence, 10));
        rig.push(PLAIN, 1, 0);
        match by_taker {
            false => drop(rig.refill(Urgency::Hurry, SECOND)),
            true => assert!(rig.taken(false, SECOND)),
        }
        let published = rig.machine.engine().published();
        let stamp = rig.cpu.list(Lane::Plain).next_gp();
        assert_eq!(stamp, Some(published.snap()), "{by_taker}");
    }
}

#[test]
fn what_is_taken_over_is_stamped_and_needs_no_deadline() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 5, 0);
    let _ = rig.refill(Urgency::Lazy, SECOND);
    rig.push(PLAIN, 5, 0);
    assert!(
        rig.taken(false, 20 * SECOND),
        "the entry waits for a grace period"
    );
    assert_eq!((rig.cpu.deadline(), rig.cpu.len()), (None, 10));
    assert!(rig.cpu.is_hurried());
    assert_eq!(rig.cpu.due(now(u64::MAX), true), None);
    rig.grace_period();
    let range = rig.cpu.extract(Lane::Plain, u64::MAX);
    assert_eq!(range, 0..10);
    assert!(!rig.cpu.ran(Lane::Plain, range) && rig.cpu.is_empty());
}

#[test]
fn an_owner_that_was_faster_than_the_taker_keeps_its_deadline() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 1, 0);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    assert!(rig.taken(true, 2 * SECOND));
    assert_eq!(
        rig.cpu.deadline(),
        Some(11 * SECOND),
        "the owner has credit"
    );
    rig.grace_period();
    rig.queued[PLAIN].freed_to = Some(1);
    let _ = rig.refill(Urgency::Lazy, 3 * SECOND);
    assert!(rig.cpu.is_empty() && rig.cpu.deadline() == Some(13 * SECOND));
}

#[test]
fn a_queue_without_an_owner_gets_no_credit_and_no_deadline_for_nothing() {
    let mut rig = Rig::new();
    for lane in &mut rig.queued {
        lane.credit = false;
    }
    let _ = rig.machine.engine_mut().arm(4 * SECOND);
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert_eq!((rig.cpu.deadline(), refill.credit[PLAIN].until), (None, 0));
    rig.push(PLAIN, 1, 0);
    let refill = rig.refill(Urgency::Lazy, 2 * SECOND);
    assert_eq!(refill.credit[PLAIN].until, 1, "each push is reported");
    assert_eq!(rig.cpu.deadline(), Some(12 * SECOND));
}

#[test]
fn an_owner_far_behind_is_asked_to_hurry() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 2 * BATCH, 0);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    rig.grace_period();
    assert!(!rig.refill(Urgency::Lazy, SECOND).credit[PLAIN].behind);
    rig.push(PLAIN, 1, 0);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    rig.grace_period();
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert!(refill.credit[PLAIN].behind && !refill.credit[CODE].behind);
    assert!(!refill.kick, "plain memory is left to its owner");
}

#[test]
fn a_batch_of_code_that_is_done_wakes_the_worker() {
    for (count, kick) in [(BATCH - 1, false), (BATCH, true)] {
        let mut rig = Rig::new();
        rig.push(CODE, count, 0);
        let _ = rig.refill(Urgency::Hurry, SECOND);
        rig.grace_period();
        assert_eq!(rig.refill(Urgency::Lazy, SECOND).kick, kick, "{count}");
    }
}

/// In the child of a fork plain entries are kept, with a deadline and without a timer; callbacks are dropped,
/// or kept on request.
#[test]
fn a_fork_leaves_memory_and_takes_code() {
    for run_code in [false, true] {
        let mut rig = Rig::new();
        rig.push(PLAIN, 2000, 0);
        rig.push(CODE, 30, 0);
        let refill = rig.refill(Urgency::Prompt, SECOND);
        assert!(refill.arm.is_some() && rig.cpu.deadline().is_some());
        rig.push(PLAIN, 5, 0);
        let now = now(2 * SECOND);
        let global = rig.machine.engine_mut();
        let dropped = rig.cpu.forked(global, &rig.queued, run_code, now);
        global.forked();
        assert_eq!(dropped, if run_code { 0 } else { 30 });
        assert_eq!(rig.cpu.queued(Lane::Plain), 2005);
        assert_eq!(rig.cpu.queued(Lane::Code), 30 - dropped);
        assert_eq!((global.armed(), global.is_driven()), (None, false));
        let prompt = rig.cpu.deadline().expect("something is queued") < 2 * SECOND;
        assert_eq!(prompt, run_code, "only code has a prompt deadline");
        let later = Now { ns: 20 * SECOND };
        assert!(rig.cpu.due(later, false).is_some());
    }
}

/// Entries that the parent has extracted are not in the child, and the child's barrier does not wait for
/// them.
#[test]
fn a_fork_forgets_what_was_out_and_the_barrier() {
    let mut rig = Rig::new();
    rig.push(CODE, 3, 0);
    rig.push(PLAIN, 3, 0);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    rig.taken(false, SECOND);
    let ticket = rig.machine.wait_for_gp(0);
    rig.machine.drive(0, ticket, 100);
    rig.cpu.advance(rig.machine.engine());
    let mut barrier = quiescent_engine::barrier::Barrier::new();
    let snap = barrier.snap();
    let _ = barrier.start(snap);
    rig.cpu.visit_barrier(&mut barrier);
    assert_eq!(rig.cpu.extract(Lane::Code, 1), 0..1);
    assert_eq!(rig.cpu.extract(Lane::Plain, 2), 0..2);
    let dropped = rig.cpu.forked(
        rig.machine.engine_mut(),
        &[
            Queued {
                freed_to: None,
                ..rig.queued[0]
            },
            rig.queued[1],
            rig.queued[2],
            rig.queued[3],
        ],
        false,
        now(2 * SECOND),
    );
    barrier.forked();
    assert_eq!(dropped, 3, "the extracted one, and two that were queued");
    assert_eq!(rig.cpu.len(), 1, "one plain entry is left");
    assert!(!barrier.in_flight() && !rig.cpu.barrier().is_open());
    // The next barrier is a new one, and waits for the entries that are queued.
    let snap = barrier.snap();
    assert!(matches!(
        barrier.start(snap),
        quiescent_engine::barrier::Begin::Started { .. }
    ));
    assert_eq!(
        rig.cpu.visit_barrier(&mut barrier),
        quiescent_engine::barrier::Visit::Noted
    );
    assert!(!barrier.visited_all());
    let left = rig.cpu.extract(Lane::Plain, 9);
    assert!(rig.cpu.ran(Lane::Plain, left) && barrier.one_done());
}

mod own;
mod tuning;
