//! The barrier of the machine: callers, the sweep over all CPUs in single steps, and what it must and must
//! not wait for.

use quiescent_kernel::Seq;
use quiescent_kernel::barrier::{Begin, Visit};

use super::{Callback, Entry, Rig, State};

/// A caller of the barrier, and the callbacks that it has to wait for.
pub struct Caller {
    snap: Seq,
    before: Vec<usize>,
}

/// The barrier in flight.
pub struct Flight {
    caller: Caller,
    /// CPUs visited so far.
    visited: usize,
    all: bool,
    complete: bool,
    /// Callbacks that were queued on the CPUs when it visited them.
    pub share: Vec<usize>,
}

impl Rig {
    /// Calls the barrier: it has to wait for every callback that is queued and not invoked.
    pub fn call_barrier(&mut self) {
        if self.callers.len() < 2 {
            let queued = |&id: &usize| !self.is_invoked(id);
            let before = (0..self.callbacks.len()).filter(queued).collect();
            let snap = self.barrier.snap();
            self.callers.push_back(Caller { snap, before });
        }
    }

    /// The next action of the barrier in flight, or of the next caller.
    pub fn step_barrier(&mut self) {
        let Some(mut flight) = self.flight.take() else {
            self.start_barrier();
            return;
        };
        if flight.visited < self.cpus.len() {
            self.visit(&mut flight);
        } else if !flight.all {
            flight.all = true;
            flight.complete = self.barrier.visited_all();
        } else if flight.complete {
            self.barrier.end();
            self.seldom.barriers += 1;
            let later = |cb: &Callback| matches!(cb.state, State::Queued | State::Ready);
            self.seldom.outlived += u32::from(self.callbacks.iter().any(later));
            self.assert_invoked(&flight.caller.before);
            return;
        }
        self.flight = Some(flight);
    }

    fn start_barrier(&mut self) {
        let Some(caller) = self.callers.pop_front() else {
            return;
        };
        match self.barrier.start(caller.snap) {
            Begin::Covered => {
                self.seldom.covered += 1;
                self.assert_invoked(&caller.before);
            }
            Begin::Started { .. } => {
                self.flight = Some(Flight {
                    caller,
                    visited: 0,
                    all: false,
                    complete: false,
                    share: Vec::new(),
                });
            }
        }
    }

    fn visit(&mut self, flight: &mut Flight) {
        let cpu = flight.visited;
        flight.visited += 1;
        if self.cpus[cpu].entrain_barrier(&mut self.barrier) == Visit::Noted {
            flight.share.extend(self.owed(cpu));
            self.fifos[cpu].push_back(Entry::Barrier);
        }
    }

    /// The callbacks that are queued at a CPU or extracted from it.
    pub(super) fn owed(&self, cpu: usize) -> Vec<usize> {
        let running = self.running[cpu].iter();
        let out = running.flat_map(|running| running.entries.iter().chain(&running.invoked));
        let owed = self.fifos[cpu].iter().chain(out);
        let callback = |entry: &Entry| match *entry {
            Entry::Callback(id) => Some(id),
            Entry::Barrier => None,
        };
        owed.filter_map(callback).collect()
    }

    pub(super) fn share_done(&mut self) {
        let complete = self.barrier.one_done();
        let flight = self.flight.as_mut().expect("a barrier is in flight");
        flight.complete |= complete;
    }

    /// The barrier is complete exactly when nothing is left to wait for.
    pub(super) fn check_barrier(&self, flight: &Flight) {
        let guard = if flight.all { 0 } else { 2 };
        let running = self.running.iter().flatten();
        let out = running.flat_map(|running| &running.entries);
        let queued = self.fifos.iter().flatten().chain(out);
        let entries = queued.filter(|&&entry| entry == Entry::Barrier).count();
        assert_eq!(self.barrier.remaining() as usize, guard + entries);
        assert_eq!(flight.complete, flight.all && entries == 0);
        if flight.complete {
            self.assert_invoked(&flight.share);
        }
    }

    fn assert_invoked(&self, ids: &[usize]) {
        for &id in ids {
            assert!(self.is_invoked(id), "the barrier did not wait for {id}");
        }
    }
}
