//! Queueing: what happens when a push needs help, and pushes that go straight to the lock.
//!
//! Help means the queue's lock, then the engine's: the engine hears what was queued and freed since the
//! last time, stamps, asks for a grace period, and grants new credit. Then, with no lock held, its
//! effects are carried out: the timer is armed, the worker woken, a grace period driven *in passing*, as
//! far as that needs no waiting. Nothing here ever waits for a reader.
//!
//! `[SNAP-1]` everything queued, *full fence*, then the engine takes its snapshot.

use std::ptr::NonNull;

use quiescent_engine::Interest;
use quiescent_engine::credit::{Refill, Urgency};

use crate::inner::defer::laziness::Name;
use crate::inner::defer::run;
use crate::inner::domain::Readers;
use crate::inner::domain::counters::{add, count};
use crate::inner::domain::state::State;
use crate::inner::prim::{self, MutexGuard, Ordering, full_fence};
use crate::inner::queue::chain::Garbage;
use crate::inner::queue::intrusive::{Head, RunHead};
use crate::inner::queue::kind;
use crate::inner::queue::lane::{Entry, Lane, Popped};
use crate::inner::queue::per_thread::{CODE, Core, PLAIN, Queue};
use crate::statistics::FenceMode;

/// How something is queued.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub(crate) urgency: Urgency,
    /// The caller must not reclaim: it frees nothing, and issues no fence that others feel.
    pub(crate) hands_off: bool,
}

impl Terms {
    pub(crate) const LAZY: Terms = Terms::of(Urgency::Lazy);

    pub(crate) const fn of(urgency: Urgency) -> Terms {
        Terms {
            urgency,
            hands_off: false,
        }
    }
}

/// Something to queue that is in no queue yet.
pub enum Parcel {
    /// An entry of a lane, with its bytes.
    Entry(usize, Entry, u64),
    /// An intrusive callback.
    Head(NonNull<Head>, RunHead),
}

impl Parcel {
    /// What it is called, unless it is memory.
    fn name(&self) -> Option<Name> {
        match *self {
            // SAFETY: an entry of the code lane.
            Parcel::Entry(CODE, entry, _) => Some(unsafe { kind::kind(entry.what) }.name),
            Parcel::Entry(..) => None,
            Parcel::Head(..) => Some(run::head_name),
        }
    }
}

// SAFETY: entries and heads are under their callers' promise to be Send.
unsafe impl Send for Parcel {}

impl State {
    /// A push of this thread needs help. The entry is published, unless `queue` is the dummy.
    fn help(
        &'static self,
        queue: &'static Queue,
        lane: usize,
        pushed: (Entry, u64),
        popped: Popped,
        terms: Terms,
    ) {
        let (entry, bytes) = pushed;
        if std::ptr::eq(queue, prim::dummy_queue()) {
            return self.deliver(Parcel::Entry(lane, entry, bytes), terms);
        }
        let words = &queue.lanes[lane];
        let crossed = words.cross(&self.root_seq);
        #[cfg(quiescent_model)]
        crate::inner::check::helped(crossed);
        if crossed {
            return run::free(words.popped_before(popped));
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
        drop(core);
        run::free(kept);
        self.carry_out(Some(queue), refill);
    }

    /// Queues a parcel under the lock.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver(&'static self, parcel: Parcel, terms: Terms) {
        self.deliver_if(parcel, terms, false);
    }

    /// Queues a parcel under the lock; an entry, if `asks`, only where it fits into the budget. Was it
    /// queued? If not, it is the caller's still.
    pub(crate) fn deliver_if(&'static self, parcel: Parcel, terms: Terms, asks: bool) -> bool {
        let own = self.own_queue_or_new();
        let queue = own.unwrap_or_else(|| {
            count(&self.counters.crowd_queued);
            &self.shared
        });
        if let Parcel::Entry(lane, ..) = parcel {
            queue.provide(lane);
        }
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        if own.is_some() && self.resolve_mode() == FenceMode::Membarrier && self.is_busy(queue) {
            queue.attach(&mut core);
            queue.show(true);
        }
        let fits = !asks || self.admit(queue, &mut core, &parcel);
        let breaks = fits && core.breaks(&parcel, terms.urgency);
        let breaker = parcel.name().filter(|_| breaks);
        match parcel {
            _ if !fits => {}
            // SAFETY: the caller's promise, passed on by whoever made the parcel.
            Parcel::Head(head, run) => unsafe { core.push_head(head, run) },
            Parcel::Entry(lane, entry, bytes) => {
                let was_put;
                (core, was_put) = queue.put_among_others(core, lane, entry, bytes);
                if !was_put {
                    count(&self.counters.leaked);
                }
            }
        }
        let refill = self.refill(queue, &mut core, terms, &mut garbage);
        // Where nobody pops, each push frees two.
        let mut places = [Entry::NONE; 2];
        let places = &mut places[..if core.hands_off { 0 } else { 2 }];
        let range = queue.extract(&mut core, PLAIN, places, &mut garbage);
        drop(core);
        match (breaker, terms.urgency) {
            (Some(name), Urgency::Hurry) => self.env().breakers.hurried(name),
            (Some(name), _) => self.env().breakers.prompt(name),
            _ => {}
        }
        self.free_extracted(queue, places, range);
        self.carry_out(own, refill);
        fits
    }

    /// The calling thread's queue here; makes one. `None`: it has no slot, or there is no memory.
    pub(crate) fn own_queue_or_new(&'static self) -> Option<&'static Queue> {
        let slot = self.env().own_slot_or_register()?;
        let (cpu, [made, attached]) = match &self.domain().readers {
            Readers::Threads => (slot.cpu(), [slot.queue_place(); 2]),
            Readers::Spots(spots) => {
                let spot = spots.of_slot(self.domain(), slot)?;
                (spot.cpu(), spot.queue_places())
            }
            Readers::Counted(counted) => (0, counted.of_slot(slot.cpu())?.queue_places()),
        };
        // SAFETY: null, or a queue that lives for ever.
        if let Some(queue) = unsafe { made.load(Ordering::Acquire).as_ref() } {
            return Some(queue);
        }
        let queue = Queue::leak(cpu)?;
        if !self.is_home() {
            queue.belong_to(self, attached);
        }
        self.add_queue(queue);
        slot.add_queue(queue);
        made.store(std::ptr::from_ref(queue).cast_mut(), Ordering::Release);
        Some(queue)
    }

    /// Is a queue used so much that its thread is to push to it without the lock? A queue without an owner gives
    /// its blocks back when it is empty, so a domain in which little happens is small at rest.
    fn is_busy(&self, queue: &Queue) -> bool {
        self.is_home() || (prim::ATTACH_AFTER..).contains(&queue.pushed())
    }

    /// Asks the engine whether an entry fits into the budget.
    fn admit(&self, queue: &Queue, core: &mut MutexGuard<'_, Core>, parcel: &Parcel) -> bool {
        let Parcel::Entry(_, _, bytes) = *parcel else {
            return true;
        };
        let hands_off = core.hands_off; // as of the last refill
        let queued = queue.report(core, hands_off);
        let now = prim::coarse_ns();
        let mut global = self.lock();
        let fits = global.admit(&mut core.cpu, &queued, bytes, now);
        self.show_level(&global);
        fits
    }

    /// Tells the engine what the owner has done; new credit.
    pub(crate) fn refill(
        &self,
        queue: &Queue,
        core: &mut MutexGuard<'_, Core>,
        terms: Terms,
        garbage: &mut Garbage,
    ) -> Refill {
        let urgency = match queue.revoked(core) {
            true => Urgency::Hurry, // somebody is about to take all of it: the owner does it itself
            false => terms.urgency,
        };
        let hands_off = terms.hands_off || core.offload.unwrap_or_else(|| self.offloads());
        let queued = queue.report(core, hands_off);
        let now = prim::coarse_ns();
        let mut global = self.lock();
        let refill = global.refill(self.readers(), &mut core.cpu, &queued, urgency, now);
        self.show_level(&global);
        let published = global.engine.published().root.to_bits();
        drop(global);
        queue.settle(core, &refill.credit, refill.drive, garbage);
        for words in &queue.lanes {
            words.published.store(published, Ordering::Relaxed);
        }
        if self.runs_inline() {
            queue.hint(core);
        }
        let prompt = u32::from(refill.prompt);
        queue.lanes[CODE].prompt.store(prompt, Ordering::Relaxed);
        refill
    }

    /// Carries out what the engine asked for. With no lock held.
    fn carry_out(&'static self, own: Option<&'static Queue>, refill: Refill) {
        self.arm_and_kick(refill);
        let ended = refill.drive && self.drive_in_passing();
        if refill.give_way {
            self.give_way();
        }
        let Some(queue) = own else { return };
        if ended {
            // A grace period has ended: what waited for it may be freed from the next push on.
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

    /// Somebody has to look at `deadline`.
    pub(crate) fn arm_alarm(&'static self, deadline: u64) {
        self.arm_and_kick(Refill {
            arm: Some(deadline),
            ..Refill::default()
        });
    }

    /// Arms the timer, wakes the worker and tells the program, as asked. If there is no worker and none to
    /// be had, the next push of any owner tries again.
    pub(crate) fn arm_and_kick(&'static self, refill: Refill) {
        if let Some(deadline) = refill.arm
            && self.env().start_worker()
        {
            // A worker that is woken now looks for itself whether something is left.
            self.env().alarm.arm(deadline, !refill.kick);
        }
        if refill.kick {
            self.kick_worker();
        }
        if refill.second {
            self.env().call_overflow(self);
        }
        if refill.over {
            self.over_budget();
        }
    }

    /// Has the worker look here. If there is none and none to be had, what it was to do about the budget is not
    /// on its way: the next call tries again.
    pub(crate) fn kick_worker(&'static self) {
        if self.env().start_worker() {
            self.call();
        } else {
            self.lock().sweeps_all();
        }
    }

    /// Drives a grace period as far as it goes without waiting. True if one has ended.
    fn drive_in_passing(&'static self) -> bool {
        let cpu = self.own_cpu();
        let core = self.lock();
        let before = core.engine.published().root;
        self.drive_once(core, cpu, Interest::Passing);
        let after = self.root_seq.load(Ordering::Acquire);
        after != before.to_bits()
    }

    /// The calling thread ends: its queue stays with the slot, and has no owner.
    pub(crate) fn leave_queue(&'static self, queue: &'static Queue) {
        queue.show(false);
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        core.offload = None; // the thread's wish ends with it
        if core.is_idle() {
            return; // inherited, and never used
        }
        queue.detach(&mut core);
        let refill = self.refill(queue, &mut core, Terms::LAZY, &mut garbage);
        if core.cpu.is_empty() {
            queue.clear(&mut core, &mut garbage);
        }
        drop(core);
        self.arm_and_kick(refill);
    }
}

/// Queues memory: the fast path, and its fall-backs. The queue is the calling thread's, and attached; or the dummy.
///
/// # Safety
/// `entry` is of the plain lane, for an object that no new reader finds, retired once.
#[inline(always)]
pub(crate) unsafe fn plain(queue: &'static Queue, entry: Entry, bytes: u64, large: bool) {
    let lane = &queue.lanes[PLAIN];
    let help = |Popped { at, count }| help_plain(queue, entry.object, entry.what, bytes, at, count);
    let pop = |at, next| {
        if lane.is_last(next) {
            return free_last(lane, at, next);
        }
        // SAFETY: popped, and the limit was not lowered before: ours, and done.
        unsafe { lane.popped(at).free() };
    };
    lane.push(entry, bytes, large, help, pop);
}

/// Queues memory, and frees none.
///
/// # Safety
/// As [`plain`].
#[inline(always)]
pub(crate) unsafe fn plain_only(queue: &'static Queue, entry: Entry, bytes: u64) {
    if queue.lanes[PLAIN].push_only(entry, bytes) {
        help_only(queue, PLAIN, entry, bytes);
    }
}

/// Queues an object with a destructor; this thread runs none.
#[inline(always)]
pub(crate) fn code_only(queue: &'static Queue, entry: Entry, bytes: u64) {
    if queue.lanes[CODE].push_only(entry, bytes) {
        help_only(queue, CODE, entry, bytes);
    }
}

#[cold]
#[inline(never)]
fn help_only(queue: &'static Queue, lane: usize, entry: Entry, bytes: u64) {
    let terms = Terms {
        urgency: Urgency::Lazy,
        hands_off: true,
    };
    queue
        .state()
        .help(queue, lane, (entry, bytes), Popped::NOTHING, terms);
}

/// The entries that the owner has popped, and the way to the next block.
#[inline(never)]
fn free_last(lane: &Lane, at: u64, next: u64) {
    run::free(lane.popped_last(at, next));
}

/// [`help`](Process::help), with the arguments in registers.
#[cold]
#[inline(never)]
fn help_plain(queue: &'static Queue, object: *mut u8, what: u64, bytes: u64, at: u64, count: u64) {
    let pushed = (Entry { object, what }, bytes);
    let popped = Popped { at, count };
    queue
        .state()
        .help(queue, PLAIN, pushed, popped, Terms::LAZY);
}

/// As [`help_plain`].
#[cold]
#[inline(never)]
fn help_code(queue: &'static Queue, pushed: (Entry, u64), popped: Popped, urgency: Urgency) {
    queue
        .state()
        .help(queue, CODE, pushed, popped, Terms::of(urgency));
}

/// Queues code to run: the fast path, and its fall-backs.
#[inline(always)]
pub(crate) fn code(queue: &'static Queue, entry: Entry, bytes: u64, urgency: Urgency) {
    let lane = &queue.lanes[CODE];
    if urgency == Urgency::Prompt && lane.prompt.load(Ordering::Relaxed) == 0 {
        let parcel = Parcel::Entry(CODE, entry, bytes);
        return queue.state().deliver(parcel, Terms::of(urgency));
    }
    let help = |popped| help_code(queue, (entry, bytes), popped, urgency);
    lane.push(entry, bytes, true, help, |_, _| ()); // code is not popped
    let (head, done) = (&lane.head, &lane.done);
    if head.load(Ordering::Relaxed) < done.load(Ordering::Relaxed) {
        queue.state().run_inline(queue);
    }
}
