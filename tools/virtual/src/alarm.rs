//! What the worker sleeps on: a timer and an event, as the product has them in one `epoll`.

use crate::shared::{Event, Shared, with};
use crate::time::{settle, sleep};

/// The timer and the event of a machine's process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alarm {
    /// How often the timer was set.
    number: u64,
    fired: bool,
    rung: bool,
    sleeper: Option<usize>,
}

impl Shared {
    fn change_alarm<R>(&self, change: impl FnOnce(&mut Alarm) -> R) -> R {
        change(&mut self.alarm.borrow_mut())
    }

    fn wake_alarm(&self) {
        if let Some(sleeper) = self.change_alarm(|alarm| alarm.sleeper.take()) {
            self.wake(sleeper);
        }
    }
}

/// Sets the timer to a time of the library's clock; 0 stops it.
pub fn set_timer(deadline: u64) {
    with(|machine| {
        let number = machine.change_alarm(|alarm| {
            alarm.number += 1;
            alarm.fired = false;
            alarm.number
        });
        if deadline != 0 {
            let at = deadline.saturating_sub(machine.setup.origin);
            let at = at.max(machine.now.get());
            machine.events.borrow_mut().put(at, Event::Timer(number));
        }
    });
}

/// The timer fires, if it is still set so.
pub(crate) fn fire(number: u64) {
    with(|machine| {
        let fires = machine.change_alarm(|alarm| {
            let fires = alarm.number == number;
            alarm.fired |= fires;
            fires
        });
        if fires {
            machine.wake_alarm();
        }
    });
}

/// Raises the event.
pub fn ring() {
    with(|machine| {
        machine.change_alarm(|alarm| alarm.rung = true);
        machine.wake_alarm();
    });
}

/// Sleeps until the timer fires or the event is raised; which of them it was.
pub fn wait_for_events() -> (bool, bool) {
    settle();
    let none = with(|machine| {
        machine.change_alarm(|alarm| {
            let none = !alarm.fired && !alarm.rung;
            alarm.sleeper = machine.running.get().filter(|_| none);
            none
        })
    });
    if none {
        sleep(None, None);
    }
    with(|machine| {
        machine.change_alarm(|alarm| {
            (
                std::mem::take(&mut alarm.fired),
                std::mem::take(&mut alarm.rung),
            )
        })
    })
}
