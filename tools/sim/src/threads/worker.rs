//! The worker: looks after queues whose owners do not come back, and runs callbacks. And what it sleeps on.
//!
//! The twin of the library's `worker.rs`, `staff.rs` and `alarm.rs`: the passes, the word that says whether it sleeps, the timer.

use quiescent_engine::credit::Refill;

use super::Threads;
use super::core::{Event, Flow, Frame, On};
use super::sweep::{Choose, Sweep};

/// Where the worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It begins to work until nothing is due.
    Work,
    /// A pass begins.
    Pass,
    /// … has taken over what is due.
    Swept,
    /// … has run what was done.
    Ran,
    /// … has waited for a grace period.
    Waited,
    /// … has run what that made ready, and this much before.
    RanAgain(u64),
    /// It is about to sleep.
    Sleep,
    /// It has slept.
    Woken,
}

/// What the worker sleeps on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alarm {
    word: Word,
    /// What the timer is set to, on the library's clock; 0 for nothing.
    set: u64,
    number: u64,
    fired: bool,
    event: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Word {
    #[default]
    Awake,
    Asleep,
    /// It has to look again before it sleeps.
    Pending,
}

impl Alarm {
    pub fn is_set(&self) -> bool {
        self.set != 0
    }
}

impl Threads {
    /// One piece of the worker's work.
    pub(super) fn work(&mut self, me: usize, stage: Stage) -> Flow {
        let next = match stage {
            Stage::Work => {
                self.counted.worker_passes += 1;
                Stage::Pass
            }
            Stage::Pass => {
                self.begin_pass(me);
                return Flow::Go;
            }
            Stage::Swept => {
                self.push(me, Frame::Worker(Stage::Ran));
                self.begin_run(me);
                return Flow::Go;
            }
            Stage::Ran if self.taken_waits() => {
                let ran = self.threads[me].ran;
                self.push(me, Frame::Worker(Stage::RanAgain(ran)));
                self.push(me, Frame::Worker(Stage::Waited));
                return self.synchronize(me, false);
            }
            Stage::Ran => self.end_pass(me, 0),
            Stage::Waited => {
                self.begin_run(me);
                return Flow::Go;
            }
            Stage::RanAgain(before) => self.end_pass(me, before),
            Stage::Sleep => return self.doze(me),
            Stage::Woken => {
                self.alarm.word = Word::Awake;
                let (fired, event) = (self.alarm.fired, self.alarm.event);
                (self.alarm.fired, self.alarm.event) = (false, false);
                match (event, fired) {
                    (true, _) => self.counted.woken_kick += 1,
                    (false, true) => self.counted.woken_timer += 1,
                    _ => {}
                }
                Stage::Work
            }
        };
        self.push(me, Frame::Worker(next));
        Flow::Go
    }

    fn begin_pass(&mut self, me: usize) {
        if self.has_news(me) {
            self.tell_news();
        }
        let now = self.clock();
        if self.global.armed().is_some_and(|armed| armed <= now) {
            self.global.disarm();
        }
        let all = self.global.sweeps_all();
        self.push(me, Frame::Worker(Stage::Swept));
        self.push(me, Frame::Sweep(Sweep::new(Choose::Due { now, all })));
    }

    /// Goes on with the next pass if there was anything to do; else sets the timer.
    fn end_pass(&mut self, me: usize, before: u64) -> Stage {
        let it = &self.threads[me];
        if it.swept > 0 || before + it.ran > 0 || self.taken_is_ready() {
            return Stage::Pass;
        }
        self.set_alarm();
        Stage::Sleep
    }

    /// Sets the timer to the earliest deadline there is.
    fn set_alarm(&mut self) {
        // From here on whoever queues sets the timer; what was queued before is seen below.
        self.global.disarm();
        let deadlines = self.queues.iter().filter_map(|queue| queue.cpu.deadline());
        match deadlines.min() {
            Some(earliest) => {
                let _ = self.global.arm(earliest);
            }
            None => self.global.calm(),
        }
        let wanted = self.global.armed().unwrap_or(0);
        if self.alarm.set != 0 || wanted != 0 {
            self.set_timer(wanted);
        }
    }

    fn doze(&mut self, me: usize) -> Flow {
        if self.alarm.word == Word::Pending {
            self.alarm.word = Word::Awake;
            self.push(me, Frame::Worker(Stage::Work));
            return Flow::Go;
        }
        self.alarm.word = Word::Asleep;
        self.push(me, Frame::Worker(Stage::Woken));
        match self.alarm.fired || self.alarm.event {
            true => Flow::Go,
            false => self.sleep(me, On::Epoll, None),
        }
    }

    // What others do to it.

    /// Arms the timer, wakes the worker and tells the program, as the engine has asked.
    pub(super) fn arm_and_kick(&mut self, refill: &Refill) {
        if let Some(deadline) = refill.arm {
            self.start_worker();
            let (set, now) = (self.alarm.set, self.clock());
            if set == 0 || deadline < set || set <= now {
                self.set_timer(deadline);
            }
        }
        if refill.kick {
            self.kick_worker();
        }
        if refill.over {
            self.untold = true;
            self.kick_worker();
            self.rouse_driver();
        }
    }

    /// Sees to it that there is a worker.
    pub(super) fn start_worker(&mut self) {
        if self.worker.is_none() {
            let thread = self.add("quiescent", Frame::Worker(Stage::Work));
            self.worker = Some(thread);
            let at = self.now + self.options.threads.prices.start;
            self.events.put(at, Event::Run { thread });
        }
    }

    /// Has the worker look, soon.
    pub(super) fn kick_worker(&mut self) {
        self.start_worker();
        if std::mem::replace(&mut self.alarm.word, Word::Pending) == Word::Asleep {
            self.alarm.event = true;
            self.wake_worker();
        }
    }

    fn wake_worker(&mut self) {
        if let Some(worker) = self.worker
            && self.threads[worker].on == On::Epoll
        {
            self.wake(worker);
        }
    }

    /// Sets the timer to a time of the library's clock; 0 stops it.
    fn set_timer(&mut self, deadline: u64) {
        let alarm = &mut self.alarm;
        alarm.set = deadline;
        alarm.number += 1;
        alarm.fired = false;
        if deadline != 0 {
            let number = alarm.number;
            let at = self.time_of(deadline).max(self.now);
            self.events.put(at, Event::Timer { number });
        }
    }

    /// The timer fires, if it is still set so.
    pub(super) fn timer(&mut self, number: u64) {
        if self.alarm.number == number {
            self.alarm.fired = true;
            self.wake_worker();
        }
    }

    /// Is this thread to tell the program something?
    pub(super) fn has_news(&self, me: usize) -> bool {
        self.untold && self.worker == Some(me)
    }

    /// Tells the program that the budget is passed.
    pub(super) fn tell_news(&mut self) {
        self.untold = false;
    }
}
