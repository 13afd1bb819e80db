//! The barrier: waits until everything queued before it is gone. Every domain has one.
//!
//! A snapshot of positions over all lanes of all queues (the engine's
//! [`Barrier`](quiescent_engine::barrier::Barrier)), made by one sweep, with one fence for all of them.
//! Each queue that holds something has a share; whoever runs its callbacks says when the share is done,
//! and the last one ends the barrier. Nothing is queued for a barrier, so a queue that is empty costs a
//! look. A departed thread's queue is like any other; its slot has it.
//!
//! # Who waits
//! Threads, which sleep on a word, and tasks, which left a [`Waker`] in a list. Each has a [`Ticket`]: the number of
//! the barrier that covers what was queued before. Nobody *has* the barrier: that one is in flight is part of the
//! engine's state, and hence under the lock of the core. Whoever looks finds one of three things:
//!
//! | it finds | and |
//! |---|---|
//! | the number is reached | goes home |
//! | no barrier is in flight | begins one, and visits all queues, which waits for nobody; then looks again |
//! | one is in flight | waits for its end; then looks again |
//!
//! So many who come at a time share one barrier: the first that begins after they came. But where one fails, a waiter sees the
//! ends of two at most: of one that was in flight when it came, and of the one that covers it.
//!
//! # Why nobody waits for ever
//! * *A barrier that has begun ends*, whatever becomes of who began it: a thread that goes on, a task that is dropped.
//!   Its shares are done by those who run callbacks; the last of them ends it, or whoever visited, if nothing is left then.
//!   Who began it has seen to it before that there is somebody who runs callbacks, and calls him afterwards.
//! * *Who waits hears of the end.* A thread notes under the lock that it is about to sleep, and reads the word there; the end changes the
//!   word under the lock, and wakes as many as have noted that, later (`[BAR-1]`). A task is in the list *before* it looks, and
//!   notes under the lock that somebody is there; the end takes the note under the lock, and empties the list later.
//! * *Who is woken looks again*, and if need be begins the next one. So it is enough to wake all of them, in any order.
//! * *Or it learns why not.* If those who run callbacks are refused their fence, all are woken, and find the reason.
//!
//! # Who wakes tasks
//! A waker is the program's code, and the end of a barrier may be in somebody's `retire`, under whatever locks he holds. So there
//! the worker is asked to wake them. Only who waits for the barrier himself, or begins it in a poll, does it
//! there and then.
//!
//! # Failures
//! A barrier whose fence is refused has not visited everybody. It ends like any other, but covers nobody: tickets know how many
//! have failed when they were made, and are made anew. The same in the child of a fork, where the barrier in flight was the parent's.

use std::task::{Poll, Waker};

use quiescent_engine::barrier::Begin;
use quiescent_engine::credit::Cause;

use crate::error::SyncError;
use crate::inner::defer::run;
use crate::inner::domain::counters::count;
use crate::inner::domain::env::Env;
use crate::inner::domain::state::{Core, State};
use crate::inner::prim::{self, MutexGuard, Ordering, full_fence};
use crate::inner::reader::word;

mod gate;

pub(crate) use gate::{Awaited, Gate, Look, Seen, Ticket, Who};

impl State {
    /// Waits until everything queued before this call has been freed or run.
    pub(crate) fn barrier(&'static self) -> Result<(), SyncError> {
        if word::in_section() || self.is_inside() {
            return Err(SyncError::InsideSection);
        }
        if run::in_callback() {
            return Err(SyncError::InsideCallback);
        }
        let (mut ticket, mut who) = (self.ticket(), Who::Thread);
        loop {
            match self.look(&mut ticket, who) {
                Look::Over => return Ok(()),
                Look::Free => {
                    self.begin(&ticket, Env::hire)?;
                    who = Who::Thread;
                }
                Look::InFlight(seen) => {
                    self.sleep(&seen)
                        .inspect_err(|_| self.lock().gate.wakes_up())?;
                    who = Who::Sleeper;
                }
            }
        }
    }

    /// What somebody keeps who is going to wait for everything queued before this call.
    pub(crate) fn awaited(&self) -> Awaited {
        Awaited {
            ticket: self.ticket(),
            place: 0,
        }
    }

    /// As [`barrier`](Barriers::barrier), but never waits: `waker` is woken when it is time to ask again.
    pub(crate) fn poll_barrier(
        &'static self,
        awaited: &mut Awaited,
        waker: &Waker,
    ) -> Poll<Result<(), SyncError>> {
        let mut who = Who::Passing;
        loop {
            let error = match self.look(&mut awaited.ticket, who) {
                Look::Over => {
                    self.forget(awaited);
                    return Poll::Ready(Ok(()));
                }
                Look::Free => match self.begin(&awaited.ticket, Env::start_worker) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Look::InFlight(_) if who == Who::Passing => {
                    if self.wakers.put(&mut awaited.place, (), waker) {
                        who = Who::Task;
                        continue;
                    }
                    SyncError::NoWorker // no room for it
                }
                Look::InFlight(seen) => {
                    if !self.env().start_worker() {
                        SyncError::NoWorker
                    } else {
                        if seen.call {
                            self.call();
                        }
                        match self.refusal().filter(is_final) {
                            Some(error) => error,
                            None => return Poll::Pending,
                        }
                    }
                }
            };
            if is_final(&error) {
                return Poll::Ready(Err(error));
            }
            waker.wake_by_ref(); // busy, but right
            return Poll::Pending;
        }
    }

    /// Nobody asks again.
    pub(crate) fn forget(&self, awaited: &mut Awaited) {
        self.wakers.remove(std::mem::take(&mut awaited.place));
    }

    pub(crate) fn ticket(&self) -> Ticket {
        full_fence();
        self.lock().ticket()
    }

    pub(crate) fn look(&self, ticket: &mut Ticket, who: Who) -> Look {
        self.lock().look(ticket, who, &self.barrier_word)
    }

    /// Waits for the end of the barrier in flight, or for another reason to look again.
    pub(crate) fn sleep(&'static self, seen: &Seen) -> Result<(), SyncError> {
        if !self.env().hire() {
            return Err(SyncError::NoWorker);
        }
        if seen.call {
            self.call();
        }
        match self.refusal() {
            Some(error) => return Err(error),
            None => prim::futex_wait(&self.barrier_word, seen.word, None), // [BAR-1]
        }
        Ok(())
    }

    /// Begins a barrier, unless somebody was faster.
    pub(crate) fn begin(
        &'static self,
        ticket: &Ticket,
        staffed: fn(&'static Env) -> bool,
    ) -> Result<(), SyncError> {
        // Asked before anything is taken from its owners: without a worker they go on by themselves.
        if self.is_holding() && !staffed(self.env()) {
            return Err(SyncError::NoWorker);
        }
        let mut core = self.lock();
        if core.barrier.in_flight() || core.start_barrier(ticket.snap) == Begin::Covered {
            return Ok(());
        }
        drop(core);
        let visited = self.visit_queues();
        let mut core = self.lock();
        if visited.is_err() {
            core.gate.fail(); // before anybody can find that it has ended
        }
        let complete = core.barrier.visited_all();
        if complete {
            self.end(core);
        } else {
            drop(core);
        }
        if !complete || visited.is_err() {
            self.call(); // what was taken has no deadline
        }
        visited
    }

    /// The barrier is complete. The caller is in no call of the program that must not run its code.
    pub(crate) fn end(&'static self, core: MutexGuard<'_, Core>) {
        if self.end_quietly(core) {
            self.wakers.wake();
        }
    }

    /// The same; true if there are tasks to be woken.
    pub(crate) fn end_quietly(&self, mut core: MutexGuard<'_, Core>) -> bool {
        core.barrier.end();
        count(&self.counters.barriers);
        self.open(core)
    }

    /// Has all threads look that wait for the barrier. True if there are tasks that have to, too.
    pub(crate) fn open(&self, mut core: MutexGuard<'_, Core>) -> bool {
        let word = &self.barrier_word;
        let (sleepers, awaited) = core.gate.open();
        word.fetch_add(1, Ordering::Relaxed); // [BAR-1]
        drop(core);
        (0..sleepers).for_each(|_| prim::futex_wake(word));
        awaited
    }

    /// A share is done; the last one ends the barrier. With no lock held.
    pub(crate) fn barrier_share_done(&'static self) {
        let mut core = self.lock();
        if core.barrier.one_done() && self.end_quietly(core) {
            self.wake_later();
        }
    }

    /// Whoever waits for a barrier looks for the reason why it will not be complete now.
    pub(crate) fn give_up_barrier(&self) {
        let mut core = self.lock();
        core.gate.give_up();
        self.open(core);
        self.wakers.wake(); // those as well that somebody else was to wake, who may not come
    }

    /// Sends everything that is queued on its way, and has the barrier visit all queues.
    ///
    /// # Errors
    /// The fence was refused: not all were visited.
    fn visit_queues(&'static self) -> Result<(), SyncError> {
        self.sweep(
            |core| (!core.is_idle()).then_some(Cause::Barrier),
            |core| self.lock().visit_barrier(&mut core.cpu),
        )
    }

    fn is_holding(&'static self) -> bool {
        self.held().0 > 0
    }

    /// Has the worker wake the tasks.
    fn wake_later(&'static self) {
        self.has_to_tell(crate::inner::defer::budget::TASKS_WAIT);
    }
}

/// Is there no hope that it goes better next time?
fn is_final(error: &SyncError) -> bool {
    match *error {
        SyncError::FenceRefused { errno } => errno != libc::ENOMEM,
        _ => false,
    }
}
