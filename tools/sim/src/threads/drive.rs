//! Driving a grace period: the engine's loop, with what it asks for between two steps.
//!
//! The twin of the library's `drive.rs`. A driver that takes the lock again asks first whether it still is the driver.

use quiescent_engine::{FenceCause, Global, Interest, Next, Phase, Until};

use super::Threads;
use super::core::{Flow, Frame, On};
use super::slots::View;
use crate::record::stats::GracePeriod;
use quiescent_engine::owner::STEPS_A_HOLD;

/// Nobody sleeps while driving.
pub(super) const NOBODY: u32 = 0;

/// What a driver of this reign that sleeps writes into the word.
fn sleeper_of(reign: u32) -> u32 {
    reign << 1 | 1
}

/// How a drive ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The engine sent the driver home.
    Home,
    /// Somebody else has the role now.
    Usurped,
    /// The driver is to report a stall, and then to go on.
    Stalled,
    /// The driver is the worker, and has something to tell first.
    News,
}

/// A turn of a driver, and what it has just done with no lock held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    reign: u32,
    /// The time that the engine is told.
    clock: u64,
    did: Did,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Nothing,
    Fence,
    Spin,
    /// It was about to sleep until this time of the library's clock; or it has.
    Doze(u64),
    Slept,
}

impl Drive {
    /// The thread has the role.
    pub fn begin(machine: &Threads, interest: Interest) -> Drive {
        let fresh = machine.global.phase() == Phase::Idle;
        Drive {
            reign: machine.global.driver_epoch(),
            clock: match interest {
                Interest::Waiter(_) if fresh => 0,
                _ => machine.coarse(),
            },
            did: Did::Nothing,
        }
    }
}

impl Threads {
    /// Drives until something has to be done with no lock held.
    pub(super) fn drive(&mut self, me: usize, mut it: Drive) -> Flow {
        let did = std::mem::replace(&mut it.did, Did::Nothing);
        match did {
            Did::Nothing => {}
            Did::Fence | Did::Spin => it.clock = self.coarse(),
            Did::Doze(until) => {
                let sleeper = sleeper_of(it.reign);
                it.did = Did::Slept;
                if until > self.clock() && self.sleeper == sleeper {
                    self.counted.sleeps += 1;
                    self.on_sleeper.push_back(me);
                    self.push(me, Frame::Drive(it));
                    return self.sleep(me, On::Sleeper, Some(until));
                }
                self.push(me, Frame::Drive(it));
                return Flow::Go;
            }
            Did::Slept => {
                self.on_sleeper.retain(|&other| other != me);
                if self.sleeper == sleeper_of(it.reign) {
                    self.sleeper = NOBODY; // unless it is another driver's by now
                }
                if self.has_news(me) {
                    return self.end_drive(me, End::News);
                }
                it.clock = self.clock();
            }
        }
        if !self.global.resume(it.reign) {
            return self.end_drive(me, End::Usurped);
        }
        let next = match did {
            Did::Fence => self.global.fenced(),
            _ => Next::Again,
        };
        self.steps(me, it, next)
    }

    fn steps(&mut self, me: usize, mut it: Drive, mut next: Next) -> Flow {
        let prices = self.options.threads.prices;
        let most = if self.options.stepwise {
            1
        } else {
            STEPS_A_HOLD
        };
        let (mut steps, mut end) = (0, End::Home);
        loop {
            let did = match next {
                Next::Again if steps == most => Did::Nothing,
                Next::Again => {
                    steps += 1;
                    let stalled;
                    (next, stalled) = self.step(it.clock);
                    if stalled {
                        next = Next::Done;
                        end = End::Stalled;
                    }
                    continue;
                }
                Next::Done | Next::HandOver => {
                    // It leaves in the same hold of the lock, and is busy for the steps after that.
                    self.threads[me].debt += u64::from(steps) * prices.step;
                    return self.end_drive(me, end);
                }
                Next::Grow(threads) => {
                    self.grow(threads);
                    next = Next::Again;
                    continue;
                }
                Next::FlagHoldouts { arm } => {
                    next = self.flag_holdouts(it.reign, arm);
                    if arm {
                        it.clock = self.clock();
                    }
                    continue;
                }
                Next::Fence(cause) => {
                    match cause {
                        FenceCause::GpStart => self.counted.fences_gp += 1,
                        FenceCause::Flag => self.counted.fences_flag += 1,
                    }
                    Did::Fence
                }
                Next::Spin(_) => Did::Spin,
                Next::Sleep(Until::Ns(until)) => Did::Doze(until),
                Next::Sleep(Until::Jiffies(_)) => Did::Nothing,
            };
            it.did = did;
            self.push(me, Frame::Drive(it));
            let outside = match did {
                Did::Fence => prices.fence,
                Did::Spin => prices.spin,
                _ => 0,
            };
            return Flow::Busy(outside + u64::from(steps) * prices.step);
        }
    }

    fn end_drive(&mut self, me: usize, end: End) -> Flow {
        self.threads[me].ended = end;
        Flow::Go
    }

    /// One step of the engine, with its effects; is a stall to be reported?
    fn step(&mut self, clock: u64) -> (Next, bool) {
        let view = View {
            slots: &self.slots,
            told: &self.told,
        };
        let effects = self.global.step(Threads::at(clock), &view);
        self.note();
        if let Some(leaf) = effects.vacated {
            self.slots.vacated(leaf);
        }
        if let Some(until) = effects.waiters_until {
            self.finish(until);
        }
        (effects.next, effects.stall.is_some())
    }

    /// What the step was in the life of the grace period.
    fn note(&mut self) {
        if self.told.started.take() {
            self.in_flight = GracePeriod {
                start: self.now,
                end: 0,
                scans: 0,
                holdouts: Vec::new(),
            };
        }
        self.in_flight.scans = self.told.scans.get();
        let waits = matches!(self.global.phase(), Phase::Wait(_));
        if waits && self.in_flight.scans == 1 {
            self.in_flight.holdouts = self.global.holdouts().collect();
        }
        if self.told.ended.take() && self.stats.counts(self.now) {
            self.in_flight.end = self.now;
            self.stats.grace_periods.push(self.in_flight.clone());
        }
    }

    fn grow(&mut self, threads: u32) {
        let tree = Global::new_tree(self.global.config(), threads);
        let tree = tree.expect("a model has memory");
        // One that came too late is dropped, as a driver that lost a race does.
        let _ = self.global.grow(tree);
    }

    /// Flags every holdout; what comes next.
    fn flag_holdouts(&mut self, reign: u32, arm: bool) -> Next {
        if arm {
            self.sleeper = sleeper_of(reign);
        }
        let holdouts: Vec<u32> = self.global.holdouts().collect();
        let mut newly = 0;
        for cpu in holdouts {
            newly += u32::from(self.slots.slot(cpu as usize).reader.set_flag());
        }
        self.global.flagged(newly)
    }

    /// Whoever sleeps on the word of drivers is woken: the first of them.
    pub(super) fn wake_sleeper(&mut self) {
        if let Some(thread) = self.on_sleeper.pop_front() {
            self.wake(thread);
        }
    }

    /// A driver that sleeps looks again, for another reason than its readers.
    pub(super) fn rouse_driver(&mut self) {
        if std::mem::replace(&mut self.sleeper, NOBODY) != NOBODY {
            self.wake_sleeper();
        }
    }

    /// Gives the role up, if it is still that of this reign, and asks a waiter to take it if the engine says so.
    pub(super) fn leave(&mut self, reign: u32) {
        if self.global.resume(reign) && self.global.leave() == Next::HandOver {
            self.pass_on();
        }
    }
}
