//! What the worker sleeps on: a timer and an event, as the product has them in one `epoll`. An execution has
//! one of each.
//!
//! The clock passes the timer's time only where a scenario says so ([`pass_time`]), after
//! [`allow_timer`]. Setting the timer clears an expiry that no thread has seen, as it does in the kernel.

use super::exec::{Execution, Op, State};
use super::runtime::{Plan, blocking, visible, with};

/// The timer and the event of an execution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Events {
    /// Setting the timer is a step that other threads can notice.
    pub(crate) timed: bool,
    /// 0: the timer is not set.
    deadline: u64,
    fired: bool,
    rung: bool,
}

impl Events {
    /// The time at which the timer fires, if it is set.
    pub(crate) fn deadline(self) -> Option<u64> {
        Some(self.deadline).filter(|&deadline| deadline != 0)
    }
}

impl Execution {
    /// The timer fires, if its time has come.
    pub(crate) fn fire(&mut self) {
        if self
            .events
            .deadline()
            .is_some_and(|deadline| deadline <= self.clock)
        {
            self.note(|| "the timer fires".into());
            self.events.deadline = 0;
            self.events.fired = true;
            self.wake(|state| state == State::Events);
            self.progress += 1;
        }
    }
}

/// From now on in this execution the timer counts; before, setting it has no effect.
pub fn allow_timer() {
    let _ = with(|e| e.events.timed = true);
}

/// The clock advances to `ns`, if it is earlier; then the timer fires, if its time has come by then.
#[track_caller]
pub fn pass_time(ns: u64) {
    let _ = visible(
        |_| Plan::Visit(Op::Other),
        |e| {
            e.note(|| format!("it is {ns}"));
            e.clock = e.clock.max(ns);
            // Reading the clock is no access: a preemption before one does not equal a later preemption.
            e.notice_all();
        },
    );
    let _ = visible(
        |_| Plan::Visit(Op::Other),
        |e| {
            e.note(|| "the timer may fire".into());
            e.fire();
        },
    );
}

/// Sets the timer to a time of the clock; 0 stops it.
#[track_caller]
pub fn set_timer(deadline: u64) {
    let _ = visible(
        |e| match e.events.timed {
            true => Plan::Visit(Op::Other),
            false => Plan::Done(()),
        },
        |e| {
            e.drain(e.current);
            e.note(|| format!("sets the timer to {deadline}"));
            (e.events.deadline, e.events.fired) = (deadline, false);
            e.fire();
        },
    );
}

/// Raises the event.
#[track_caller]
pub fn ring() {
    let _ = visible(
        |_| Plan::Visit(Op::Other),
        |e| {
            e.drain(e.current);
            e.note(|| "raises the event".into());
            e.events.rung = true;
            e.wake(|state| state == State::Events);
            e.progress += 1;
        },
    );
}

/// Sleeps until the timer fires or the event is raised; which of them it was. Neither of them, if the
/// scenario has time-outs and one has fired, and outside an exploration.
#[track_caller]
pub fn wait_for_events() -> (bool, bool) {
    let mut slept = false;
    let woken = blocking(Op::Other, |e| {
        e.drain(e.current);
        let Events { fired, rung, .. } = e.events;
        let ends = fired || rung || (slept && e.timeouts);
        e.note(|| format!("waits: the timer {fired}, the event {rung}"));
        slept = true;
        if !ends {
            return Err(State::Events);
        }
        (e.events.fired, e.events.rung) = (false, false);
        Ok((fired, rung))
    });
    woken.unwrap_or_default()
}
