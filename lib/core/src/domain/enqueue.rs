//! Queueing: the slow path of a push, and pushes that take the lock directly.
//!
//! The slow path takes the queue's lock, then the engine's. The engine accounts for what was queued and freed
//! since the last time, stamps it, requests a grace period, and grants new credit. Then its effects are
//! executed with no lock held: the timer is armed, the worker woken, a grace period driven *in passing*, as
//! far as possible without waiting. Nothing here ever waits for a reader.
//!
//! `[SNAP-1]` everything queued, *full fence*, then the engine takes its snapshot.

use quiescent_engine::Interest;
use quiescent_engine::credit::{Refill, Urgency};

use crate::domain::error::Fullness;
use crate::domain::life::Domain;
use crate::domain::run;
use crate::domain::settings::{OFFLOAD, OTHERS_RUN};
use crate::domain::state::{OVER_BUDGET, State};
use crate::prim::counters::{add, count};
use crate::prim::{self, MutexGuard, Ordering, full_fence};
use crate::queue::chain::Garbage;
use crate::queue::kind::{self, CODE, OWN, PLAIN};
use crate::queue::lane::{Entry, LaneWords, Popped};
use crate::queue::parcel::{self, Parcel};
use crate::queue::per_thread::{Queue, QueueCore};

/// How an item is queued.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub urgency: Urgency,
    /// The caller must not reclaim: it frees nothing, and issues no fence that other threads notice.
    pub hands_off: bool,
}

impl Terms {
    /// Lazy, and the caller may reclaim.
    pub const LAZY: Terms = Terms::of(Urgency::Lazy);

    /// Lazy; the caller frees nothing.
    pub const HANDS_OFF: Terms = Terms {
        urgency: Urgency::Lazy,
        hands_off: true,
    };

    pub const fn of(urgency: Urgency) -> Terms {
        Terms {
            urgency,
            hands_off: false,
        }
    }
}

impl State {
    /// The slow path of a push of this thread. The entry is published, unless `queue` is the dummy.
    fn help(
        &'static self,
        queue: &'static Queue,
        lane: usize,
        pushed: (Entry, u64),
        popped: Popped,
        terms: Terms,
    ) {
        let (entry, bytes) = pushed;
        if queue.is_dummy() {
            return self.deliver(Parcel::Entry(lane, entry, bytes), terms);
        }
        // Before the locks are taken: the thread that asks has changed the data that they protect, so these
        // cache lines take longer to arrive.
        self.env().answer_at_push();
        let words = &queue.lanes[lane];
        let crossed = words.cross(&self.root_seq, queue.most_to_stop(lane));
        #[cfg(quiescent_model)]
        crate::prim::witness::helped(crossed);
        if crossed {
            return self.consume(queue, lane, words.popped_before(popped));
        }
        queue.prepare(lane);
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        let kept = queue.keep(&core, lane, popped);
        if queue.is_starved(lane) {
            queue.unpush(lane, bytes);
            if !queue.put(&mut core, lane, entry, bytes) {
                count(&self.counters.leaked);
            }
        }
        let refill = self.refill(queue, &mut core, terms, &mut garbage);
        let others = match lane == PLAIN && self.may_run(&self.env().local()) {
            true => queue.pop_own(&core),
            false => [None; 2],
        };
        drop(core);
        if lane == PLAIN {
            run::free(kept);
        }
        self.carry_out(Some(queue), refill);
        self.consume(queue, OWN, if lane == OWN { kept } else { others });
    }

    /// Queues code under the lock.
    #[cold]
    #[inline(never)]
    pub fn deliver_code(&'static self, parcel: Parcel, terms: Terms) {
        run::note_code();
        self.deliver(parcel, terms);
    }

    /// Queues memory under the lock; also code, if that is [noted](run::note_code).
    #[cold]
    #[inline(never)]
    pub fn deliver(&'static self, parcel: Parcel, terms: Terms) {
        let _ = self.deliver_if(parcel, terms, false);
    }

    /// Queues a parcel under the lock; with `asks`, an entry only if it fits into the budget. If it does not,
    /// returns what was queued then, and the caller still owns it.
    pub fn deliver_if(
        &'static self,
        parcel: Parcel,
        terms: Terms,
        asks: bool,
    ) -> Result<(), Fullness> {
        debug_assert!(matches!(parcel, Parcel::Entry(PLAIN, ..)) || run::runs_code().is_some());
        let own = self.own_queue_or_new();
        let queue = own.unwrap_or_else(|| {
            count(&self.counters.unregistered_queued);
            &self.shared
        });
        if let Parcel::Entry(lane, ..) = parcel {
            queue.provide(lane);
        }
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        if own.is_some() && self.is_busy(queue) {
            self.attach(queue, &mut core);
        }
        let admitted = match asks {
            true => self.admit(queue, &mut core, &parcel),
            false => Ok(()),
        };
        let fits = admitted.is_ok();
        if fits {
            core.note_urgency(queue.meter(), &parcel, terms.urgency);
        }
        match parcel {
            _ if !fits => {}
            // SAFETY: the caller's promise, passed on with the parcel.
            Parcel::Head(parcel::Callback { head, run }) => unsafe {
                core.push_head(queue.meter(), head, run)
            },
            Parcel::Entry(lane, entry, bytes) => {
                let was_put;
                (core, was_put) = queue.put_among_others(core, lane, entry, bytes);
                if !was_put {
                    count(&self.counters.leaked);
                }
            }
        }
        let mut refill = self.refill(queue, &mut core, terms, &mut garbage);
        refill.give_way &= !asks; // `try_retire` never waits, not even for a processor
        // Such a queue is not popped on the fast path, so each push frees two entries.
        let mut places = [Entry::NONE; 2];
        let places = &mut places[..if core.hands_off { 0 } else { 2 }];
        let range = queue.extract(&mut core, PLAIN, places, &mut garbage);
        let retires = matches!(parcel, Parcel::Entry(PLAIN | OWN, ..));
        let popped = match retires && own.is_some() && self.may_run(&self.env().local()) {
            true => queue.pop_own(&core),
            false => [None; 2],
        };
        drop(core);
        self.free_extracted(queue, places, range);
        self.carry_out(own, refill);
        self.consume(queue, OWN, popped);
        admitted
    }

    /// The calling thread's queue here; creates one if needed. `None`: no slot, or no memory.
    pub fn own_queue_or_new(&'static self) -> Option<&'static Queue> {
        let slot = self
            .env()
            .threads
            .own_slot_or_register(&self.env().local())?;
        let domain = self.domain();
        let (cpu, place) = domain.readers.queue_place(domain.record_owner(), slot)?;
        if let Some(queue) = place.queue() {
            return Some(queue);
        }
        let state = std::ptr::from_ref(self).cast();
        // SAFETY: the state of a domain; it lives forever.
        let queue = unsafe { Queue::leak(cpu, &self.env().common, state) }?;
        if !self.is_home() {
            queue.set_found_at(place);
            let number = self.place.load(Ordering::Relaxed);
            queue.lock().cursor.set_place(number);
        }
        self.shared.others.add(queue);
        slot.queues.add(queue);
        place.set(queue);
        Some(queue)
    }

    /// Its thread pushes to the queue without the lock from here on, unless readers execute fences.
    pub(super) fn attach(&self, queue: &'static Queue, core: &mut QueueCore) {
        if !self.env().threads.mode.threads_fence() {
            core.owned = true;
            self.set_visible(queue, true);
        }
    }

    /// True if a queue is used so often that its thread should push to it without the lock. A queue without
    /// an owner frees its blocks when it is empty, so a rarely used domain is small at rest.
    fn is_busy(&self, queue: &Queue) -> bool {
        self.is_home() || (prim::ATTACH_AFTER..).contains(&queue.pushed())
    }

    /// Reports the owner's progress to the engine, and gets new credit.
    pub fn refill(
        &self,
        queue: &Queue,
        core: &mut MutexGuard<'_, QueueCore>,
        terms: Terms,
        garbage: &mut Garbage,
    ) -> Refill {
        let urgency = match queue.revoked(core) {
            true => Urgency::Hurry, // a take-over has begun: the owner hands everything over itself
            false => terms.urgency,
        };
        let hands_off = terms.hands_off || core.offload.unwrap_or_else(|| self.has(OFFLOAD));
        core.workers_run = self.has(OTHERS_RUN);
        let queued = queue.report(core, hands_off);
        self.count_run(core, &queued);
        let now = prim::coarse_ns();
        let mut global = self.lock();
        let engine = &mut global.engine;
        let refill = (core.cpu).refill(engine, &queued, urgency, State::now(now));
        self.show_level(&global);
        let published = global.engine.published().to_bits();
        drop(global);
        queue.settle(core, &refill.credit, refill.drive, garbage);
        for words in &queue.lanes {
            words.published.store(published, Ordering::Relaxed);
        }
        let prompt = u32::from(refill.prompt);
        queue.lanes[CODE].prompt.store(prompt, Ordering::Relaxed);
        self.env().answer_at_push(); // a limit that a question has lowered meanwhile was overwritten
        refill
    }

    /// Executes the effects that the engine requested. Called with no lock held.
    fn carry_out(&'static self, own: Option<&'static Queue>, refill: Refill) {
        self.arm_and_kick(refill);
        let ended = refill.drive && self.drive_in_passing();
        if refill.give_way {
            self.give_way();
        }
        let Some(queue) = own else { return };
        if ended {
            // A grace period has ended: the next pushes may free what waited for it.
            let mut garbage = Garbage::new();
            let mut core = queue.lock();
            let refill = self.refill(queue, &mut core, Terms::LAZY, &mut garbage);
            drop(core);
            self.arm_and_kick(refill);
        }
        if refill.help != 0 {
            let helped = self.help_along(queue, refill.help);
            add(&self.counters.helped, helped);
        }
    }

    /// Arms the timer for `deadline`.
    pub fn arm_alarm(&'static self, deadline: u64) {
        self.arm_and_kick(Refill {
            arm: Some(deadline),
            ..Refill::default()
        });
    }

    /// Arms the timer, wakes the worker and requests reports, as `refill` says. If there is no worker and
    /// none can be started, the next push of any owner tries again.
    pub fn arm_and_kick(&'static self, refill: Refill) {
        if let Some(deadline) = refill.arm.filter(|_| self.env().host.start_worker()) {
            // A worker that is woken now checks for remaining work itself.
            self.env().alarm.arm(deadline, !refill.kick);
        }
        if refill.kick {
            self.kick_worker();
        }
        if refill.second {
            self.env().host.call_overflow(self);
        }
        if refill.over {
            self.request_report(OVER_BUDGET);
        }
    }

    /// Calls the worker to this state. If no worker exists or can be started, the budget's request is
    /// withdrawn, and the next caller tries again.
    pub fn kick_worker(&'static self) {
        if self.env().host.start_worker() {
            self.call();
        } else {
            self.lock().engine.sweeps_all();
        }
    }

    /// Drives a grace period as far as possible without waiting. True if one has ended.
    pub(super) fn drive_in_passing(&'static self) -> bool {
        let cpu = self.own_cpu(&self.env().local());
        let core = self.lock();
        let before = core.engine.published();
        self.drive_once(core, cpu, Interest::Passing);
        let after = self.root_seq.load(Ordering::Acquire);
        after != before.to_bits()
    }

    /// Sets whether the calling thread, the owner of the queue, finds it without a lock. The queue must be
    /// attached.
    fn set_visible(&self, queue: &'static Queue, visible: bool) {
        let address = std::ptr::from_ref(queue).cast_mut();
        match (queue.found_at(), visible) {
            (Some(place), true) => place.store(address, Ordering::Relaxed),
            (Some(place), false) => place.store(std::ptr::null_mut(), Ordering::Relaxed),
            (None, true) => self.env().local().set_queue(queue),
            (None, false) => self.env().local().set_queue(&self.env().common.dummy),
        }
    }

    /// The calling thread ends: its queue stays with the slot, without an owner.
    pub fn leave_queue(&'static self, queue: &'static Queue) {
        self.set_visible(queue, false);
        let mut garbage = Garbage::new();
        let asked = queue.lanes[OWN].end_running();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        core.offload = None; // the thread's setting ends with it
        if core.is_idle() {
            return; // inherited, and never used
        }
        core.owned = false;
        let refill = self.refill(queue, &mut core, Terms::LAZY, &mut garbage);
        if core.cpu.is_empty() {
            queue.clear(&mut core, &mut garbage);
        }
        drop(core);
        self.arm_and_kick(refill);
        if asked {
            self.report_run(queue);
        }
    }
}

impl Domain {
    /// Covers what is queued here with one callback in the process's domain, so that a thread that waits for
    /// that domain, or drains it, waits for this too.
    pub(super) fn hand_over(&'static self) {
        let (count, bytes) = self.held();
        let (Some(state), true) = (self.state_if_any(), count > 0) else {
            return;
        };
        let id = self.id();
        let empty = move || {
            // Spares what the next owner has queued, if this domain was taken over meanwhile.
            if self.id() == id {
                state.empty();
            }
        };
        let (object, what) = kind::called(empty, Urgency::Lazy);
        let parcel = Parcel::Entry(CODE, Entry { object, what }, bytes);
        self.env().state.deliver_code(parcel, Terms::LAZY);
    }
}

/// Queues memory: the fast path, and its fall-backs. The queue is the dummy, or the calling thread's and
/// attached.
///
/// # Safety
/// `entry` is for the plain lane, and its object is retired once and unreachable for new readers.
#[inline(always)]
pub unsafe fn plain(queue: &'static Queue, entry: Entry, bytes: u64, large: bool) {
    let lane = &queue.lanes[PLAIN];
    let help = |Popped { at, count }| help_plain(queue, entry.object, entry.what, bytes, at, count);
    // SAFETY: popped, and the limit was not lowered before: the entry belongs to this thread, and is done.
    let pop = |at| unsafe { lane.popped(at).free() };
    let pop_last = |at, next| free_last(lane, at, next);
    lane.push::<false>(entry, bytes, large, help, pop, pop_last);
}

/// Queues an item; this thread frees and runs none.
///
/// # Safety
/// `entry` is for this lane, and as [`plain`] requires.
#[inline(always)]
pub unsafe fn only(queue: &'static Queue, lane: usize, entry: Entry, bytes: u64) {
    if queue.lanes[lane].push_only(entry, bytes) {
        if lane != PLAIN {
            run::note_code();
        }
        help_only(queue, lane, entry, bytes);
    }
}

#[cold]
#[inline(never)]
fn help_only(queue: &'static Queue, lane: usize, entry: Entry, bytes: u64) {
    let pushed = (entry, bytes);
    State::of(queue).help(queue, lane, pushed, Popped::NOTHING, Terms::HANDS_OFF);
}

/// Frees the entries that the owner has popped, and moves to the next block.
#[inline(never)]
fn free_last(lane: &LaneWords, at: u64, next: u64) {
    run::free(lane.popped_last(at, next));
}

/// [`help`](State::help), with the arguments in registers.
#[cold]
#[inline(never)]
fn help_plain(queue: &'static Queue, object: *mut u8, what: u64, bytes: u64, at: u64, count: u64) {
    let pushed = (Entry { object, what }, bytes);
    let popped = Popped { at, count };
    State::of(queue).help(queue, PLAIN, pushed, popped, Terms::LAZY);
}

/// As [`help_plain`].
#[cold]
#[inline(never)]
pub(super) fn help_code(
    queue: &'static Queue,
    lane: usize,
    pushed: (Entry, u64),
    popped: Popped,
    urgency: Urgency,
) {
    run::note_code();
    State::of(queue).help(queue, lane, pushed, popped, Terms::of(urgency));
}

/// Queues code for a lane, and runs none: the fast path, and its fall-backs.
#[inline]
pub fn push_code(queue: &'static Queue, lane: usize, entry: Entry, bytes: u64, urgency: Urgency) {
    let Entry { object, what } = entry;
    if urgency == Urgency::Prompt && queue.lanes[CODE].prompt.load(Ordering::Relaxed) == 0 {
        deliver_prompt(queue, lane, object, what, bytes);
    } else if queue.lanes[lane].push_only(entry, bytes) {
        help_pushed(queue, lane, object, what, bytes, urgency);
    }
}

/// The first prompt callback since a deadline covers none, with the arguments in registers.
#[cold]
#[inline(never)]
fn deliver_prompt(queue: &'static Queue, lane: usize, object: *mut u8, what: u64, bytes: u64) {
    let parcel = Parcel::Entry(lane, Entry { object, what }, bytes);
    State::of(queue).deliver_code(parcel, Terms::of(Urgency::Prompt));
}

/// As [`help_plain`].
#[cold]
#[inline(never)]
fn help_pushed(
    queue: &'static Queue,
    lane: usize,
    object: *mut u8,
    what: u64,
    bytes: u64,
    urgency: Urgency,
) {
    let pushed = (Entry { object, what }, bytes);
    help_code(queue, lane, pushed, Popped::NOTHING, urgency);
}
