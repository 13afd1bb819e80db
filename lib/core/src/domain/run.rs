//! Running code of the program: callbacks and destructors, on a worker, in a drain, or in place.
//!
//! A panic is contained: the panic hook has run, the library counts the panic and continues with the next
//! callback. While code of the program runs, the thread is marked: the code must not wait for a grace period,
//! which this thread may have to drive, or for a barrier, which would wait for the callback itself.
//!
//! # Turns
//! A *turn* says which worker runs a queue's callbacks.
//!
//! There are at most two workers, the worker and the overflow worker. While one runs a queue's callbacks, the
//! other skips that queue. No skipped queue is lost: the worker skips only the queue that the overflow worker
//! is running, and the overflow worker calls the worker when it goes to rest. Until then the overflow worker
//! cycles through all queues.
//!
//! # Code in place
//! An owner runs the code of its own lane, inside its calls that retire.
//!
//! The thread that retired a value with a destructor also drops it, in one of its later calls that retire: at
//! most two values a call, after everything else that the call does. So the caches are warm, the memory is
//! freed on the thread that retired it, and no other thread is woken.
//!
//! ## Where it does not run
//! Inside a section of that thread (the code may take a lock whose holder waits for readers), inside another
//! callback or destructor, in a thread that hands reclaiming off. The thread checks this *before* it pops,
//! because a popped entry cannot be put back. Entries that it does not pop stay queued: it pops them in a
//! later call or at the end of its section, or the worker takes them. The worker does so at the deadline,
//! near the budget, or when the owner has queued for some time and has run no entry of a batch that is done
//! ([`Cpu::refill`](quiescent_engine::Cpu::refill)).
//!
//! While such code runs, its thread is marked as running a callback, so what the code retires is only queued.
//!
//! ## At the end of a section
//! A thread that retires inside a section *owes* the destructors that it would have run outside: one or two
//! for each call, and a yield of its CPU if the budget asks for one. When it owes [`FEW_OWED`] of them, it
//! marks the word of an open section, beside the flag that each unlock tests. The end of the outermost
//! section of that word, or its `repin`, pays (`settle`): it pops several entries at once, with one check of
//! the limit, as a push pops one. If the thread is in a section of another domain then, the mark goes to that
//! section's word. An `Srcu`'s section has no word: the debt is forgotten, the entries stay queued.
//!
//! The mark contains the generation of its section. So a signal handler that reads between the end of the
//! section and the test of the flag does not pay; nor does a thread that unwinds, or that ends.
//!
//! ## Threads that wait for it
//! A barrier or a drain may take the queue over while its owner runs popped entries: see `[RUN-1]` in
//! [`lane`](crate::queue::lane). The child of a fork discards the entries that other threads were running.
//!
//! ## Cost
//! About 60 instructions beyond the destructor: the push, the check of the thread's own words, the mark,
//! `catch_unwind`, and the store of `running` with its check. No lock, no locked instruction.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;

use quiescent_engine::credit::{Queued, Urgency};
use quiescent_engine::pool::TurnId;
use quiescent_engine::{LANES, Lane};

use crate::domain::enqueue::{Terms, help_code, push_code};
use crate::domain::env::{Env, Marked};
use crate::domain::report::Report;
use crate::domain::state::State;
use crate::domain::sweep::Until;
use crate::domain::tasks::Awaits;
#[cfg(not(quiescent_model))]
use crate::prim;
use crate::prim::counters::{add, count};
use crate::prim::{FEW_OWED, Ordering};
use crate::queue::intrusive::{self, Head, RunHead};
use crate::queue::kind::{self, CODE, OWN};
use crate::queue::lane::{Entry, Popped};
use crate::queue::look::Found;
use crate::queue::parcel::{Name, Parcel};
use crate::queue::per_thread::{Queue, QueueCore};
use crate::reader::local::Local;

/// Largest number of nested panic payloads that are dropped.
const PAYLOADS: u32 = 16;

/// What runs code of the program, for the callers that each program links: the end of a section, a refill,
/// the worker. Known from the first code that is queued on: a program that queues none links nothing of it.
pub(super) struct RunsCode {
    pub(super) settle: fn(&'static Env, &Local),
    pub(super) popped: fn(&Local, &'static Queue, [Option<Entry>; 2]),
    pub(super) lane: fn(&'static State, &'static Queue, Lane, u64, Until) -> u64,
    pub(super) turn: fn(&'static State, &'static Queue, TurnId, Until) -> u64,
    relieve: fn(&'static State, TurnId),
}

static RUNS_CODE: RunsCode = RunsCode {
    settle: Env::settle,
    popped: run_popped,
    lane: State::run_code,
    turn: State::run_turn,
    relieve: State::relieve,
};

/// Null as long as no code was queued. In models never: what one executes must not depend on others that run
/// in the same process.
static KNOWN: AtomicPtr<RunsCode> = AtomicPtr::new(if cfg!(quiescent_model) {
    (&raw const RUNS_CODE).cast_mut()
} else {
    std::ptr::null_mut()
});

/// Before code is queued. (No edge of its own: who sees the code sees this.)
#[inline]
pub fn note_code() {
    if KNOWN.load(Relaxed).is_null() {
        KNOWN.store(std::ptr::from_ref(&RUNS_CODE).cast_mut(), Relaxed);
    }
}

/// None: no code was queued before anything that the caller has seen.
#[inline]
pub(super) fn runs_code() -> Option<&'static RunsCode> {
    // SAFETY: null, or `RUNS_CODE`.
    unsafe { KNOWN.load(Relaxed).as_ref() }
}

impl State {
    /// Runs a callback. The thread is marked meanwhile, and a panic does not propagate.
    fn contained(&'static self, name: Name, run: impl FnOnce()) {
        let env = self.env();
        let local = env.local();
        // One inside another, as where a callback drops a domain, is watched with that.
        let nested = local.in_callback();
        let marked = Marked::new(local);
        if !nested {
            env.host.begin(name);
        }
        if let Err(payload) = catch(run) {
            self.panicked(name, payload);
        }
        if !nested {
            env.host.end();
        }
        drop(marked);
        count(&self.counters.callbacks);
    }

    /// A callback has panicked. The panic's payload and the reporter are code of the program as well.
    pub fn panicked(&'static self, name: Name, payload: Box<dyn Any + Send>) {
        let env = self.env();
        count(&self.counters.panics);
        discard(payload);
        env.host.tell(Report::Panicked { name: name() });
    }

    /// Wakes the tasks whose `awaits` is accepted by `which`. A waker may poll directly, but must not wait
    /// for the calling thread, which is busy.
    #[inline(never)]
    pub fn wake_tasks(&self, which: &dyn Fn(Awaits) -> bool) {
        (self.tasks.take(which)).for_each(|waker| wake(self.env(), waker));
    }
}

impl Env {
    /// Runs code of the program; neither its panic nor a panic of the payload's destructor propagates.
    pub fn contain(&self, run: impl FnOnce()) {
        catch(run).unwrap_or_else(discard);
    }
}

/// Runs code of the program; a panic does not propagate.
fn catch(run: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(run))
}

/// Drops a panic's payload. Its destructor is code of the program and may panic with another payload. After
/// [`PAYLOADS`] of them the last is leaked.
#[cold]
#[inline(never)]
fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..PAYLOADS {
        match dropped(payload) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

/// Drops one; returns the payload of the panic of its destructor.
#[inline(never)]
fn dropped(payload: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
    catch(|| drop(payload))
}

/// Wakes a task.
#[inline(never)]
fn wake(env: &Env, waker: Waker) {
    catch(|| env.marked(|| waker.wake())).unwrap_or_else(discard);
}

/// Runs an entry of a lane of code that is done and taken out.
pub(crate) fn code(state: &'static State, entry: Entry) {
    // SAFETY: an entry of a lane of code.
    let kind = unsafe { kind::kind(entry.what) };
    state.contained(kind.name, || {
        // SAFETY: done, taken out, and run once.
        unsafe { (kind.run)(entry.object) };
    });
}

/// Runs an intrusive callback that is done and taken out.
pub(crate) fn head(state: &'static State, head: NonNull<Head>, run: RunHead) {
    state.contained(intrusive::head_name, || {
        // SAFETY: promised by the thread that queued it.
        unsafe { run(head) };
    });
}

/// Frees what the owner popped before it took the slow path.
pub(crate) fn free(kept: [Option<Entry>; 2]) {
    for entry in kept.into_iter().flatten() {
        // SAFETY: done, and popped by its owner.
        unsafe { entry.free() };
    }
}

/// The name of the turns of the worker that was started with this number.
pub fn turn_of_worker(role: u32) -> TurnId {
    TurnId::MIN | (role << 1)
}

/// The same for the overflow worker.
pub fn turn_of_overflow(role: u32) -> TurnId {
    TurnId::new(role << 1).unwrap_or(TurnId::MAX)
}

/// A worker's turn at a queue. It also ends when the thread is unwound.
struct InvokeTurn {
    state: &'static State,
    queue: &'static Queue,
    who: TurnId,
}

impl Drop for InvokeTurn {
    fn drop(&mut self) {
        self.state.end_turn(self.queue, self.who);
    }
}

impl State {
    /// Invokes the callbacks of this queue that are ready now, unless another worker has the turn. Returns
    /// how many.
    pub fn run_turn(&'static self, queue: &'static Queue, who: TurnId, until: Until) -> u64 {
        let mut core = queue.lock();
        if core.cpu.is_empty() || self.in_callback() {
            return 0;
        }
        let mut global = self.lock();
        core.cpu.advance(&global.engine);
        let takes = core.cpu.take_turn(&mut global.engine, who);
        let overflow = global.engine.calls_overflow();
        drop(global);
        let ready = Lane::CODE.map(|lane| (lane, core.cpu.list(lane).ready()));
        drop(core);
        if overflow {
            self.env().host.call_overflow(self);
        }
        if !takes {
            return 0;
        }
        let _turn = InvokeTurn {
            state: self,
            queue,
            who,
        };
        let run = |(lane, ready)| self.run_code(queue, lane, ready, until);
        ready.into_iter().map(run).sum()
    }

    fn end_turn(&'static self, queue: &'static Queue, who: TurnId) {
        let mut core = queue.lock();
        let mut global = self.lock();
        core.cpu.end_turn(&mut global.engine, who);
        let overflow = global.engine.calls_overflow();
        drop(global);
        drop(core);
        if overflow {
            self.env().host.call_overflow(self);
        }
    }

    /// The overflow worker's work in this domain, from the call until it is to rest. The worker processes
    /// what remains.
    pub fn relieve(&'static self, who: TurnId) {
        let until = Until { deadline: None };
        let mut rests = false;
        while !rests {
            let mut ran = 0;
            for queue in self.queues() {
                let now = self.run_turn(queue, who, until);
                if until.is_over(self.env()) {
                    return; // replaced: another thread has rested in its place
                }
                ran += now;
                rests = now > 0 && self.lock().engine.stand_down(false);
                if rests {
                    break;
                }
            }
            rests |= ran == 0 && self.lock().engine.stand_down(true);
        }
        self.call();
    }
}

impl Env {
    /// Ends the turns of this name: their worker was replaced.
    pub fn end_turns(&'static self, who: TurnId) {
        for state in self.states() {
            for queue in state.queues() {
                if queue.lock().cpu.turn() == Some(who) {
                    state.end_turn(queue, who);
                }
            }
        }
    }

    /// The overflow worker's work after a call: processes the domains that have called.
    pub fn relieve(&'static self, who: TurnId) {
        let Some(runs) = runs_code() else {
            return;
        };
        for state in self.states() {
            if state.lock().engine.overflow_is_on_duty() {
                (runs.relieve)(state, who);
            }
            if self.host.is_dismissed() {
                return;
            }
        }
    }
}

/// A destructor that takes longer than this inside a call that retires is reported, in debug builds.
#[cfg(all(debug_assertions, not(quiescent_model)))]
pub(super) const SLOW_NS: u64 = 10_000_000;

/// Queues code that its owner runs, and runs one or two done entries, if the thread may do that here.
#[inline(never)]
pub fn own(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    match local.may_run() {
        true => push_own(local, queue, entry, bytes),
        false => own_inside(local, queue, entry, bytes), // no frame until here
    }
}

#[inline(never)]
fn push_own(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    let lane = &queue.lanes[OWN];
    let help = |popped| help_own(queue, entry, bytes, popped);
    let pop = |at| run_popped_one(local, queue, lane.popped(at));
    let pop_last = |at, next| run_popped(local, queue, lane.popped_last(at, next));
    lane.push::<true>(entry, bytes, true, help, pop, pop_last);
}

/// The thread is inside a section or a callback, or it has read in a domain of the program. Inside a section
/// it owes what it would have run outside.
#[inline(never)]
fn own_inside(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    let Some(open) = local.noted_section().filter(|_| !local.in_callback()) else {
        return own_elsewhere(local, queue, entry, bytes);
    };
    if owes_enough(local, queue) {
        open.owe();
    }
    if queue.lanes[OWN].push_only(entry, bytes) {
        help_own(queue, entry, bytes, Popped::NOTHING); // last, so that it needs no frame
    }
}

/// A push to the lane of destructors needs help. Often it only stops: see [`look`](crate::queue::look).
#[cold]
#[inline(never)]
fn help_own(queue: &'static Queue, entry: Entry, bytes: u64, popped: Popped) {
    let found = stop(queue);
    let words = &queue.lanes[OWN];
    if found == Found::Nothing && words.pass(queue.most_to_stop(OWN)) {
        return State::of(queue).consume(queue, OWN, words.popped_before(popped));
    }
    let urgency = match found {
        Found::Backlog => Urgency::Hurry,
        Found::Growth | Found::Nothing => Urgency::Lazy,
    };
    if found != Found::Nothing {
        queue.lower_limits(); // the owner takes the lock, also at the end of a block
    }
    help_code(queue, OWN, (entry, bytes), popped, urgency);
}

/// The owner looks at the memory of the process, if it is time.
#[cfg(not(quiescent_model))]
fn stop(queue: &'static Queue) -> Found {
    let words = &queue.lanes[OWN];
    let [head, end, done] =
        [&words.head, &words.end, &words.done].map(|it| it.load(Ordering::Relaxed));
    let ready = if words.has_done() { done - head } else { 0 };
    // A callback's thread is in the middle of running what is held.
    match queue.is_dummy() || State::of(queue).in_callback() {
        true => Found::Nothing,
        false => queue.look.stop(end, head, ready, prim::resident),
    }
}

#[cfg(quiescent_model)]
fn stop(_: &'static Queue) -> Found {
    Found::Nothing
}

/// Queues code that its owner runs, under the lock, as a thread's first in a domain of the program: if much
/// seems to be held there, the thread looks after its queue itself from here on.
pub fn deliver_own(state: &'static State, entry: Entry, bytes: u64, terms: Terms) {
    let fences = state.env().threads.mode.threads_fence();
    let own = (!fences).then(|| state.own_queue_or_new()).flatten();
    if let Some(queue) = own.filter(|queue| stop(queue) != Found::Nothing) {
        state.attach(queue, &mut queue.lock());
    }
    state.deliver_code(Parcel::Entry(OWN, entry, bytes), terms);
}

/// Not in a section that the thread has noted.
#[cold]
#[inline(never)]
fn own_elsewhere(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    let runs_none = local.in_callback() || queue.is_dummy();
    if !runs_none && State::of(queue).may_run(local) {
        return push_own(local, queue, entry, bytes);
    }
    if queue.lanes[OWN].push_only(entry, bytes) {
        help_own(queue, entry, bytes, Popped::NOTHING);
    }
    if !runs_none && owes_enough(local, queue) {
        State::of(queue).env().pass_on(local);
    }
}

/// The thread, which is in a section, owes what one call outside would have run now. True if that and what it
/// owed before are worth the slow path of an unlock.
#[inline(always)]
fn owes_enough(local: &Local, queue: &'static Queue) -> bool {
    let lane = &queue.lanes[OWN];
    lane.has_done() && local.owe(queue, lane.step.load(Ordering::Relaxed))
}

/// Queues a closure that its owner runs.
pub fn own_call(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64, urgency: Urgency) {
    let is_covered =
        urgency != Urgency::Prompt || queue.lanes[CODE].prompt.load(Ordering::Relaxed) != 0;
    match is_covered {
        true => own(local, queue, entry, bytes),
        false => push_code(queue, OWN, entry, bytes, urgency),
    }
}

impl Env {
    /// A section that is open now makes its thread run what it owes, at its end. If none could, the debt is
    /// forgotten.
    #[inline(never)]
    fn pass_on(&self, local: &Local) {
        let open = local.noted_section().or_else(|| {
            let record = self.threads.own_slot(local)?.open_record()?;
            Some(&record.words.reader)
        });
        match open {
            Some(word) => word.owe(),
            None => forget_debt(local),
        }
    }

    /// The outermost section of a word has ended, and its thread owes destructors: it runs them, unless it is
    /// in another section. While the thread unwinds it runs none: no code of the program is expected then.
    fn settle(&'static self, local: &Local) {
        if !local.may_run() && (local.in_callback() || self.threads.in_any_section(local)) {
            self.pass_on(local);
            return;
        }
        if std::thread::panicking() || local.exits.load(Relaxed) != 0 {
            return forget_debt(local);
        }
        #[cfg(not(quiescent_model))]
        crate::os::keeping_errno(|| self.pay(local));
        #[cfg(quiescent_model)]
        self.pay(local);
    }

    #[inline(always)] // each call costs as much as a destructor
    fn pay(&'static self, local: &Local) {
        while let Some((queue, mut owed)) = local.take_owing() {
            while owed > 0 {
                match run_owed(local, queue, owed) {
                    0 => break,
                    ran => owed -= ran,
                }
            }
        }
    }
}

/// The thread owes nothing: what it does not run stays queued.
#[inline(never)]
pub fn forget_debt(local: &Local) {
    while local.take_owing().is_some() {}
    local.gives_way.store(false, Relaxed);
}

/// Runs done entries of the thread's own queue, up to `most`; returns how many.
fn run_owed(local: &Local, queue: &'static Queue, most: u32) -> u32 {
    let mut places = [Entry::NONE; 1 + FEW_OWED as usize]; // the last call may have added two
    let most = places.len().min(most as usize);
    let count = queue.pop_owed(places.get_mut(..most).unwrap_or_default());
    if count > 0 {
        run_all(local, queue, places.get(..count).unwrap_or_default());
    }
    count as u32
}

/// Runs the entries that the owner of `queue` has popped from its own lane, on the owner's thread, inside a
/// call that retires. The thread is marked with plain stores; no lock is taken, unless a taker has asked for
/// a report.
fn run_popped(local: &Local, queue: &'static Queue, popped: [Option<Entry>; 2]) {
    match popped {
        [Some(only), None] => run_popped_one(local, queue, only),
        [Some(first), Some(second)] => run_all(local, queue, &[first, second]),
        [None, _] => {}
    }
}

#[inline(always)]
fn run_popped_one(local: &Local, queue: &'static Queue, entry: Entry) {
    local.enter_callback();
    run_one(queue, entry);
    finish_run(local, queue);
}

/// Unless one of them forks, and this is the child then: the parent runs the others.
#[inline(always)]
fn run_all(local: &Local, queue: &'static Queue, entries: &[Entry]) {
    local.enter_callback();
    for entry in entries {
        if queue.lanes[OWN].running().is_empty() {
            break;
        }
        run_one(queue, *entry);
    }
    finish_run(local, queue);
}

/// The thread runs no more of what it had popped.
#[inline(always)]
fn finish_run(local: &Local, queue: &'static Queue) {
    local.leave_callback();
    if queue.lanes[OWN].end_running() {
        State::of(queue).report_run(queue); // [RUN-1]
    }
}

#[inline(always)]
fn run_one(queue: &'static Queue, entry: Entry) {
    #[cfg(all(debug_assertions, not(quiescent_model)))]
    let begun = prim::now_ns();
    // SAFETY: an entry of a lane of code; done, popped by its owner, and run once.
    let run = || unsafe { (kind::kind(entry.what).run)(entry.object) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        panicked_in_place(queue, entry, payload);
    }
    #[cfg(all(debug_assertions, not(quiescent_model)))]
    report_if_slow(queue, entry, prim::now_ns().saturating_sub(begun));
}

#[cold]
#[inline(never)]
fn panicked_in_place(queue: &'static Queue, entry: Entry, payload: Box<dyn Any + Send>) {
    // SAFETY: an entry of a lane of code.
    let name = unsafe { kind::kind(entry.what) }.name;
    State::of(queue).panicked(name, payload);
}

/// In debug builds: reports a destructor that kept a call of `retire` for long.
#[cfg(all(debug_assertions, not(quiescent_model)))]
pub(super) fn report_if_slow(queue: &'static Queue, entry: Entry, ns: u64) {
    if ns > SLOW_NS {
        // SAFETY: an entry of a lane of code.
        let name = (unsafe { kind::kind(entry.what) }.name)();
        let took = std::time::Duration::from_nanos(ns);
        State::of(queue)
            .env()
            .host
            .tell(Report::Slow { name, took });
    }
}

impl State {
    /// Frees or runs what the owner has popped.
    pub(super) fn consume(
        &'static self,
        queue: &'static Queue,
        lane: usize,
        popped: [Option<Entry>; 2],
    ) {
        match lane {
            OWN => {
                if let Some(runs) = runs_code() {
                    (runs.popped)(&self.env().local(), queue, popped);
                }
            }
            _ => free(popped),
        }
    }

    /// True if the calling thread may run code of the program inside a call that retires: it is in no
    /// section, as far as that is known (guards that may be sent belong to no thread), and runs no callback.
    pub fn may_run(&self, local: &Local) -> bool {
        local.may_run() || !(local.in_callback() || self.env().threads.in_any_section(local))
    }

    /// The owner of the queue has run what it had popped, and a taker has asked for it. `[RUN-1]`
    #[cold]
    #[inline(never)]
    pub fn report_run(&'static self, queue: &Queue) {
        let range = queue.answer(&mut queue.lock());
        self.report_ran(queue, Lane::Own, range);
    }

    /// Counts what the owner has run itself, before the engine is informed of it.
    pub fn count_run(&self, core: &QueueCore, queued: &[Queued; LANES]) {
        if let Some(to) = queued[OWN].freed_to {
            add(
                &self.counters.callbacks,
                to - core.cpu.list(Lane::Own).head(),
            );
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
