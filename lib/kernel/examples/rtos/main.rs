//! An RTOS embeds the engine: tasks that are preempted inside sections, an updater, an idle processor.
//!
//! [`rcu`] is the host; this file is a small scheduler and its tasks. They share a table of calibrations. The
//! updater writes a new one into a free place and retires the old place. Readers keep theirs for some ticks,
//! and check that it does not change meanwhile.
//!
//! `cargo run -p quiescent-kernel --example rtos` runs it here. `ci/platforms embedded` builds it for a
//! Cortex-M4, without the standard library, and runs that on QEMU.

#![cfg_attr(target_os = "none", no_std, no_main)]

extern crate alloc;

#[cfg(target_os = "none")]
mod board;
mod rcu;

use core::sync::atomic::{AtomicBool, Ordering};
use quiescent_kernel::{Now, Pos, TaskId};
use rcu::Rcu;

/// Ticks a second, and for how many of them it runs.
const HZ: u32 = 1000;
const TICKS: u64 = 5000;

const READERS: TaskId = 4;
const UPDATER: TaskId = READERS;
const GRACE_PERIODS: TaskId = UPDATER + 1;
const TASKS: u32 = GRACE_PERIODS + 1;

const PLACES: usize = 32;
/// Is this place of the table in use?
static USED: [AtomicBool; PLACES] = [const { AtomicBool::new(false) }; PLACES];

fn reclaim(place: usize) {
    USED[place].store(false, Ordering::Relaxed);
}

/// What a task does next.
#[derive(Clone, Copy)]
enum State {
    /// It is ready from this tick on.
    Sleeps(u64),
    /// It has this place, with this number in it.
    Reads(usize, u32),
    /// It waits for a grace period: until then readers may have the place.
    Waits(Pos, usize),
}

/// The scheduler, its tasks, and what they share.
struct Rtos {
    rcu: Rcu<usize>,
    states: [State; UPDATER as usize + 1],
    table: [u32; PLACES],
    current: usize,
    now: Now,
    chance: u32,
    done: Done,
}

/// What happened.
#[derive(Clone, Copy, Default, Debug)]
struct Done {
    reads: u32,
    sections: u32,
    updates: u32,
    waits: u32,
    idle_without_tick: u32,
    grace_periods: u64,
}

impl Rtos {
    fn new() -> Rtos {
        USED[0].store(true, Ordering::Relaxed);
        Rtos {
            rcu: Rcu::new(TASKS, HZ, reclaim).expect("memory for a tree of one processor"),
            states: [State::Sleeps(0); UPDATER as usize + 1],
            table: [0; PLACES],
            current: 0,
            now: Now::default(),
            chance: 1,
            done: Done::default(),
        }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.chance = self
            .chance
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        (self.chance >> 16) % below
    }

    fn is_ready(&self, task: TaskId) -> bool {
        match self.states[task as usize] {
            State::Sleeps(until) => until <= self.now.jiffies,
            State::Reads(..) => true,
            State::Waits(ticket, _) => self.rcu.is_over(ticket),
        }
    }

    /// A tick: its interrupt, then the tasks in turn, then the idle loop. Who does not end is preempted.
    fn tick(&mut self, jiffies: u64) {
        let ns = jiffies * 1_000_000_000 / u64::from(HZ);
        self.now = Now { ns, jiffies };
        self.rcu.tick(self.now);
        for task in 0..=UPDATER {
            self.work();
            if self.is_ready(task) {
                self.rcu.context_switch(Some(task));
                self.run(task);
            }
        }
        self.work();
        self.rcu.context_switch(None);
        self.done.idle_without_tick += u32::from(self.rcu.may_stop_tick());
    }

    fn work(&mut self) {
        if self.rcu.is_due() {
            self.rcu.context_switch(Some(GRACE_PERIODS));
            self.rcu.grace_period_work();
        }
    }

    fn run(&mut self, task: TaskId) {
        let later = self.now.jiffies + 1 + u64::from(self.draw(40));
        let state = match self.states[task as usize] {
            State::Sleeps(_) if task == UPDATER => self.update(later),
            State::Waits(_, old) => {
                reclaim(old);
                self.done.waits += 1;
                State::Sleeps(later)
            }
            State::Sleeps(_) => {
                self.rcu.lock();
                self.done.sections += 1;
                State::Reads(self.current, self.table[self.current])
            }
            State::Reads(place, number) => {
                assert_eq!(
                    self.table[place], number,
                    "what task {task} reads has changed"
                );
                if self.draw(4) > 0 {
                    return; // preempted inside once more
                }
                self.rcu.unlock();
                self.done.reads += 1;
                State::Sleeps(later)
            }
        };
        self.states[task as usize] = state;
    }

    /// A new calibration in a free place; the old place is retired, or every fourth time waited for.
    fn update(&mut self, later: u64) -> State {
        let is_free = |used: &AtomicBool| !used.load(Ordering::Relaxed);
        let Some(free) = USED.iter().position(is_free) else {
            return State::Sleeps(later); // readers keep them all
        };
        USED[free].store(true, Ordering::Relaxed);
        self.done.updates += 1;
        self.table[free] = self.done.updates;
        let old = core::mem::replace(&mut self.current, free);
        if self.done.updates % 4 == 0 {
            return State::Waits(self.rcu.start_waiting(), old);
        }
        self.rcu.retire(old);
        State::Sleeps(later)
    }
}

/// Runs it. `wait` is the idle loop, until the next tick, and tells the number of ticks so far.
fn run(mut wait: impl FnMut() -> u64) -> Done {
    let mut rtos = Rtos::new();
    while rtos.now.jiffies < TICKS {
        rtos.tick(wait());
    }
    rtos.done.grace_periods = rtos.rcu.grace_periods();
    rtos.done
}

#[cfg(not(target_os = "none"))]
fn main() {
    let mut ticks = 0..;
    println!("{:?}", run(|| ticks.next().expect("endless")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_keep_what_they_read_and_old_places_come_back() {
        let mut ticks = 0..;
        let done = run(|| ticks.next().unwrap());
        assert!(done.reads > 500 && done.sections >= done.reads, "{done:?}");
        assert!(
            done.updates > 2 * PLACES as u32,
            "places come back: {done:?}"
        );
        assert!(done.waits > 20 && done.grace_periods > 50, "{done:?}");
        assert!(
            done.idle_without_tick > 0,
            "at rest there is nothing to do: {done:?}"
        );
    }
}
