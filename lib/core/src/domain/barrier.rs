//! The barrier: waits until everything queued before it has been run or freed. Every domain has one.
//!
//! A barrier is a snapshot of positions over all lanes of all queues (the engine's
//! [`Barrier`](quiescent_engine::barrier::Barrier)), made by one sweep, with one fence for all of them. Each
//! nonempty queue has a share; the thread that runs its callbacks reports when the share is done, and the
//! last share ends the barrier. A barrier queues nothing, so an empty queue costs one check. The queue of a
//! departed thread is like any other; its slot refers to it.
//!
//! # Waiters
//! Waiters are threads, which sleep on a word, and tasks, which leave a [`Waker`] in a list. Each has a
//! [`Ticket`]: the number of the barrier that covers what was queued before. No thread *owns* the barrier:
//! that one is in flight is part of the engine's state, under the lock of the core. A waiter that inspects it
//! finds one of three cases:
//!
//! | it finds | action |
//! |---|---|
//! | the number is reached | returns |
//! | no barrier is in flight | begins one, visits all queues without waiting, then inspects again |
//! | one is in flight | waits for its end, then inspects again |
//!
//! So concurrent callers share one barrier: the first that begins after their calls. Unless one fails, a
//! waiter sees the ends of two barriers at most: one that was in flight at its call, and the one that covers
//! it.
//!
//! # Termination
//! * *A barrier that has begun ends*, even if the thread that began it does something else, or the task is
//!   dropped. The threads that run callbacks complete its shares; the last share ends it, or the visitor, if
//!   no share is left by then. The thread that begins a barrier first ensures that a worker exists, and calls
//!   it afterwards.
//! * *A waiter is notified of the end.* A thread notes under the lock that it is about to sleep, and reads
//!   the word there; the end changes the word under the lock, and then wakes as many threads as have noted
//!   that (`[BAR-1]`). A task enters the list *before* it inspects, and notes under the lock that the list is
//!   in use; the end takes the note under the lock, and then empties the list.
//! * *A woken waiter inspects again*, and begins the next barrier if necessary. So it suffices to wake all of
//!   them, in any order.
//! * *A waiter is notified of a failure.* If the threads that run callbacks are refused their fence, all
//!   waiters are woken, and find the error.
//!
//! # Wake-up of tasks
//! A waker is code of the program, and a barrier may end inside a `retire` of a thread that holds any locks.
//! In that case the worker is asked to wake the tasks. Only a thread that waits for the barrier itself, or
//! begins it in a poll, wakes them directly.
//!
//! # Failures
//! A barrier whose fence is refused has not visited all queues. It ends like any other, but covers no waiter:
//! a ticket contains the number of failures at its creation, and is renewed if that has changed. The same
//! applies in the child of a fork, where the barrier in flight was the parent's.

use std::task::{Poll, Waker};

use quiescent_engine::barrier::Begin;
use quiescent_engine::credit::Cause;

use crate::domain::error::SyncError;
use crate::domain::gate::{Look, Ticket, Who};
use crate::domain::host::Host;
use crate::domain::state::{Core, State, TASKS_WAIT};
use crate::domain::sweep::Until;
use crate::prim::counters::count;
use crate::prim::{self, AtomicU32, MutexGuard, Ordering, full_fence};

impl State {
    /// Waits until everything queued before this call has been freed or run.
    pub fn barrier(&'static self) -> Result<(), SyncError> {
        if self.in_section() {
            return Err(SyncError::InsideSection);
        }
        if self.in_callback() {
            return Err(SyncError::InsideCallback);
        }
        let (mut ticket, mut who) = (self.ticket(), Who::Thread);
        if !self.env().host.can_hire() {
            return self.help_barrier(&mut ticket, Until::NEVER);
        }
        loop {
            match self.look(&mut ticket, who) {
                Look::Over => return Ok(()),
                Look::Free => {
                    self.begin(&ticket, Host::hire)?;
                    who = Who::Thread;
                }
                Look::InFlight { word, call } => {
                    self.sleep(word, call)
                        .inspect_err(|_| self.lock().gate.wakes_up())?;
                    who = Who::Sleeper;
                }
            }
        }
    }

    /// Where there is no worker: the calling thread, which may wait, does what the barrier needs.
    pub fn help_barrier(&'static self, ticket: &mut Ticket, until: Until) -> Result<(), SyncError> {
        loop {
            match self.look(ticket, Who::Passing) {
                Look::Over => return Ok(()),
                Look::Free => self.begin(ticket, |_| true)?,
                Look::InFlight { .. } if until.is_over(self.env()) => return Ok(()),
                // Where nothing is left another thread is about to report what it has run.
                Look::InFlight { .. } if !self.drain_pass(until, &mut 0)? => prim::doze(),
                Look::InFlight { .. } => {}
            }
        }
    }

    /// As [`barrier`](State::barrier), but never waits: `waker` is woken when the caller should poll again;
    /// its `place` in the list is 0 for none.
    pub fn poll_barrier(
        &'static self,
        ticket: &mut Ticket,
        place: &mut u64,
        waker: &Waker,
    ) -> Poll<Result<(), SyncError>> {
        let mut who = Who::Passing;
        loop {
            let error = match self.look(ticket, who) {
                Look::Over => return Poll::Ready(Ok(())),
                Look::Free => match self.begin(ticket, Host::start_worker) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Look::InFlight { .. } if who == Who::Passing => {
                    if self.tasks.put(place, None, waker) {
                        who = Who::Task;
                        continue;
                    }
                    SyncError::NoWorker // no memory for the list entry
                }
                Look::InFlight { call, .. } => {
                    if !self.env().host.start_worker() {
                        SyncError::NoWorker
                    } else {
                        if call {
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
            waker.wake_by_ref(); // a busy loop, but correct
            return Poll::Pending;
        }
    }

    /// A ticket for everything queued before this call.
    pub fn ticket(&self) -> Ticket {
        full_fence();
        self.lock().ticket()
    }

    pub fn look(&self, ticket: &mut Ticket, who: Who) -> Look {
        self.lock().look(ticket, who, &self.barrier_word)
    }

    /// Waits for the end of the barrier in flight, or for another reason to inspect it again.
    pub fn sleep(&'static self, word: u32, call: bool) -> Result<(), SyncError> {
        if !self.env().host.hire() {
            return Err(SyncError::NoWorker);
        }
        if call {
            self.call();
        }
        match self.refusal() {
            Some(error) => return Err(error),
            None => prim::futex_wait(&self.barrier_word, word, None), // [BAR-1]
        }
        Ok(())
    }

    /// Begins a barrier, unless another thread has begun one.
    pub fn begin(
        &'static self,
        ticket: &Ticket,
        has_worker: fn(&'static dyn Host) -> bool,
    ) -> Result<(), SyncError> {
        // Checked before anything is taken from its owners: without a worker they continue on their own.
        if self.held().0 > 0 && !has_worker(self.env().host) {
            return Err(SyncError::NoWorker);
        }
        let mut core = self.lock();
        if core.barrier.in_flight() || core.barrier.start(ticket.snap) == Begin::Covered {
            return Ok(());
        }
        drop(core);
        // Takes over everything that is queued. If the fence is refused, not all queues were visited.
        let visited = self.sweep(
            |core| (!core.is_idle()).then_some(Cause::Barrier),
            |core| _ = core.cpu.visit_barrier(&mut self.lock().barrier),
        );
        let mut core = self.lock();
        if visited.is_err() {
            core.gate.fail(); // before any waiter can see that it has ended
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

    /// The barrier is complete. The caller is not inside a call of the program that must not run code of the
    /// program.
    pub fn end(&'static self, core: MutexGuard<'_, Core>) {
        if self.end_quietly(core) {
            self.wake_tasks(&|awaits| awaits.is_none());
        }
    }

    /// The same; true if there are tasks to be woken.
    pub fn end_quietly(&self, mut core: MutexGuard<'_, Core>) -> bool {
        core.barrier.end();
        count(&self.counters.barriers);
        self.open(core)
    }

    /// Wakes all threads that wait for the barrier. True if there are tasks to be woken, too.
    pub fn open(&self, mut core: MutexGuard<'_, Core>) -> bool {
        let word = &self.barrier_word;
        let (sleepers, awaited) = core.gate.open();
        word.fetch_add(1, Ordering::Relaxed); // [BAR-1]
        drop(core);
        (0..sleepers).for_each(|_| prim::futex_wake(word));
        awaited
    }

    /// A share is done; the last one ends the barrier. Called with no lock held.
    pub fn barrier_share_done(&'static self) {
        let mut core = self.lock();
        if core.barrier.one_done() && self.end_quietly(core) {
            self.request_report(TASKS_WAIT); // the worker wakes them
        }
    }

    /// Wakes the waiters of a barrier, which then find the reason why it will not complete now.
    pub fn give_up_barrier(&self) {
        let mut core = self.lock();
        core.gate.stopped = true;
        self.open(core);
        self.wake_tasks(&|_| true); // includes those that a failed thread was to wake
    }
}

/// True if a retry cannot succeed.
fn is_final(error: &SyncError) -> bool {
    match *error {
        SyncError::FenceRefused { errno } => errno != crate::os::NO_MEMORY,
        _ => false,
    }
}

impl Core {
    /// The barrier that covers everything queued until now.
    pub fn ticket(&self) -> Ticket {
        Ticket {
            snap: self.barrier.snap(),
            failures: self.gate.failures,
        }
    }

    /// The state of the ticket's barrier. If a barrier has failed since the ticket was taken, it may have
    /// been this one: the ticket is renewed.
    pub fn look(&mut self, ticket: &mut Ticket, who: Who, word: &AtomicU32) -> Look {
        if ticket.failures != self.gate.failures {
            ticket.failures = self.gate.failures;
            ticket.snap = self.barrier.snap();
        }
        let over = self.barrier.seq().done(ticket.snap);
        let in_flight = self.barrier.in_flight();
        let gate = &mut self.gate;
        if over || !in_flight {
            if who == Who::Sleeper {
                gate.wakes_up();
            }
            return if over { Look::Over } else { Look::Free };
        }
        match who {
            Who::Thread => gate.sleepers += 1,
            Who::Task => gate.awaited = true,
            Who::Sleeper | Who::Passing => {}
        }
        let waits = who != Who::Passing;
        Look::InFlight {
            word: word.load(Ordering::Relaxed), // [BAR-1]
            call: waits && std::mem::take(&mut gate.stopped),
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::testing::program;

    static WORD: AtomicU32 = AtomicU32::new(7);

    fn in_flight(look: Look) -> Option<(u32, bool)> {
        match look {
            Look::InFlight { word, call } => Some((word, call)),
            Look::Over | Look::Free => None,
        }
    }

    #[test]
    fn those_who_wait_are_counted_until_they_wake() {
        let mut core = program().env.state.lock();
        let mut ticket = core.ticket();
        assert!(matches!(
            core.look(&mut ticket, Who::Thread, &WORD),
            Look::Free
        ));
        let _ = core.barrier.start(ticket.snap);
        for who in [
            Who::Thread,
            Who::Thread,
            Who::Passing,
            Who::Sleeper,
            Who::Task,
        ] {
            let seen = in_flight(core.look(&mut ticket, who, &WORD));
            assert_eq!(seen, Some((7, false)));
        }
        assert_eq!(core.gate.open(), (2, true));
        assert_eq!(core.gate.open(), (2, false), "tasks are woken once");
        core.gate.wakes_up();
        assert_eq!(core.gate.open().0, 1);
        core.gate.forked();
        assert_eq!(core.gate.open(), (0, true));
        core.gate.wakes_up();
        assert_eq!(core.gate.open().0, 0, "one that slept at the fork");
    }

    /// One that waits calls the worker that has given up, once.
    #[test]
    fn a_worker_that_gave_up_is_called_by_the_next_who_waits() {
        let state = &program().env.state;
        let mut ticket = state.ticket();
        let _ = state.lock().barrier.start(ticket.snap);
        state.give_up_barrier();
        let mut core = state.lock();
        for (who, call) in [
            (Who::Passing, false),
            (Who::Task, true),
            (Who::Thread, false),
        ] {
            let seen = in_flight(core.look(&mut ticket, who, &WORD));
            assert_eq!(seen, Some((7, call)));
        }
        core.gate.stopped = true;
        core.gate.forked();
        let seen = in_flight(core.look(&mut ticket, Who::Thread, &WORD));
        assert_eq!(seen, Some((7, false)), "in the child it is not called for");
    }

    #[test]
    fn a_ticket_is_renewed_when_a_barrier_has_failed() {
        let mut core = program().env.state.lock();
        let first = core.ticket();
        let _ = core.barrier.start(first.snap);
        let mut kept = first;
        let _ = core.look(&mut kept, Who::Passing, &WORD);
        assert_eq!((kept.snap, kept.failures), (first.snap, first.failures));
        core.gate.fail();
        let _ = core.look(&mut kept, Who::Passing, &WORD);
        assert_eq!(kept.failures, core.ticket().failures);
        assert_ne!(
            kept.snap, first.snap,
            "that one is in flight, and covers nothing"
        );
    }
}
