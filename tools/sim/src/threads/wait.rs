//! Waiting for a grace period: driving it if nobody does, else sleeping until one's turn.

use quiescent_engine::takeover::Look;
use quiescent_engine::{Interest, Pos};

use super::Threads;
use super::core::{Flow, Frame, On};
use super::drive::{Drive, End, NOBODY};
use super::slots::LEAF;

/// What became of a waiter's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Waiting,
    Done,
    /// It was asked to drive.
    Drive,
}

/// A caller of `synchronize`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    ticket: Pos,
    /// When it called, and the first section that it need not wait for.
    start: u64,
    since: u64,
    expedited: bool,
    /// It drives, in this reign.
    drives: Option<u32>,
    /// It sleeps until this time of the library's clock, at most.
    look: Option<u64>,
}

impl Threads {
    /// Waits for a full grace period.
    pub(super) fn synchronize(&mut self, me: usize, expedited: bool) -> Flow {
        if self.is_inside(me) {
            return Flow::Go; // refused: it would wait for itself
        }
        let leaf = self.threads[me].slot.map_or(0, |slot| slot / LEAF);
        let view = super::slots::View {
            slots: &self.slots,
            told: &self.told,
        };
        let (ticket, _) = self.global.wait_for_gp(leaf, expedited, &view);
        self.threads[me].turn = Turn::Waiting;
        self.push(
            me,
            Frame::Wait(Wait {
                ticket,
                start: self.now,
                since: self.oracle.since(),
                expedited,
                drives: None,
                look: None,
            }),
        );
        Flow::Go
    }

    pub(super) fn wait(&mut self, me: usize, mut it: Wait) -> Flow {
        if let Some(reign) = it.drives.take() {
            let satisfied = it.ticket < self.global.waiters().done();
            let end = self.threads[me].ended;
            if end != End::Usurped {
                self.leave(reign);
            }
            if satisfied && matches!(end, End::Home | End::Usurped) {
                return self.waited(me, &it);
            }
        }
        if let Some(look) = it.look {
            // It has been woken, or it is time to look.
            match self.threads[me].turn {
                Turn::Done => return self.waited(me, &it),
                Turn::Waiting if self.clock() < look => {
                    self.push(me, Frame::Wait(it));
                    return self.sleep(me, On::Turn, Some(look).filter(|&it| it != u64::MAX));
                }
                Turn::Waiting | Turn::Drive => {
                    self.threads[me].turn = Turn::Waiting;
                    it.look = None;
                }
            }
        }
        if it.ticket < self.global.waiters().done() {
            return self.waited(me, &it);
        }
        if self.has_news(me) {
            self.tell_news();
        }
        let cpu = self.threads[me].slot.map(|slot| slot as u32);
        let interest = Interest::Waiter(it.ticket);
        let sleeping = self.sleeper != NOBODY;
        let look = match self.global.try_drive(cpu, interest) {
            true => Look::Yours,
            false => self.global.take_over(cpu, interest, self.clock(), sleeping),
        };
        match look {
            Look::At(look) => {
                self.waiters.insert(it.ticket, me);
                it.look = Some(look);
                self.push(me, Frame::Wait(it));
            }
            taken => {
                self.waiters.remove(&it.ticket);
                if taken == Look::TakenOver {
                    self.wake_sleeper();
                }
                it.drives = Some(self.global.driver_epoch());
                self.push(me, Frame::Wait(it));
                self.push(me, Frame::Drive(Drive::begin(self, interest)));
            }
        }
        Flow::Go
    }

    fn waited(&mut self, me: usize, it: &Wait) -> Flow {
        self.waiters.remove(&it.ticket);
        self.oracle.waited(it.since);
        if self.stats.counts(self.now) && Some(me) != self.worker {
            self.stats.calls.push(crate::record::stats::Synchronized {
                start: it.start,
                end: self.now + self.threads[me].debt,
                expedited: it.expedited,
            });
        }
        Flow::Go
    }

    /// Waiters below `until` are satisfied.
    pub(super) fn finish(&mut self, until: Pos) {
        while let Some(first) = self.waiters.first_entry() {
            if *first.key() >= until {
                return;
            }
            let thread = first.remove();
            self.threads[thread].turn = Turn::Done;
            self.wake_turn(thread);
        }
    }

    /// The first waiter is asked to drive.
    pub(super) fn pass_on(&mut self) {
        if let Some(&thread) = self.waiters.values().next() {
            self.threads[thread].turn = Turn::Drive;
            self.counted.hand_overs += 1;
            self.wake_turn(thread);
        }
    }

    fn wake_turn(&mut self, thread: usize) {
        if self.threads[thread].on == On::Turn {
            self.wake(thread);
        }
    }
}
