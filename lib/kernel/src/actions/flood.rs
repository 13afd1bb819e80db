//! Overload marks, and the thread that replaces the soft interrupt under load.
//!
//! Callbacks may come faster than grace periods end. There are three responses:
//!
//! | a CPU owes | response | where |
//! |---|---|---|
//! | `qhimark` more than at the last check | larger batches, a forced scan | [`limits`](crate::limits) |
//! | `qovld` | its bit in the leaf: faster scans, pressed holdouts | here, [`urgency`](crate::urgency) |
//! | more than ten rounds can invoke | the per-CPU thread yields for two ticks | [`Rounds`] |
//!
//! # Overload marks
//! A leaf's mask has a bit for each of its CPUs that owes `qovld` callbacks or more. A CPU updates its own
//! bit whenever it queues a callback, *before* the new one counts, and when it takes over another CPU's; the
//! end of a grace period updates all marked CPUs. So a mark lasts at least until the next of these moments,
//! although the callbacks may have run: scans are then too frequent for some time, which costs less than
//! scans that are too rare.
//!
//! # Invariants
//! * Only CPUs of the leaf are marked, and only where a tree has room for them: before the first grace period
//!   there is none, and the next callback after it marks again.
//! * With `qovld` 0 no CPU is ever marked.
//!
//! # Correctness
//! A mark changes only the waits of the grace-period thread and the CPUs that it presses: it can make a grace
//! period shorter only by making CPUs report sooner.

use core::ops::Range;

use crate::periods::cpu::Cpu;
use crate::periods::event::{CallbackEvent, Event, SegcbEvent};
use crate::periods::global::Global;
use crate::periods::host::{CpuId, Host, LeafId, Pos};
use crate::periods::limits::{Around, Batch, Context, Limits};
use crate::periods::tree::{Tree, bits};
use quiescent_engine::cblist::{CbList, Segment};

/// Rounds of the per-CPU thread before it yields.
const ROUNDS: u32 = 10;

/// The length of that yield, in ticks.
const YIELD: u64 = 2;

/// The loop of the per-CPU thread that replaces the soft interrupt (`use_softirq=0`): each round is one
/// [`Cpu::core`] with its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rounds(u32);

/// The action of the per-CPU thread after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AfterRound {
    /// No work is left: it sleeps until it is woken.
    Wait,
    /// Another round.
    Again,
    /// It sleeps this number of ticks, although work is left, so that others can use the CPU.
    Yield(u64),
}

impl Rounds {
    /// A round has ended; `more` if work is left.
    pub fn after(&mut self, more: bool) -> AfterRound {
        self.0 += 1;
        match (more, self.0 >= ROUNDS) {
            (true, false) => return AfterRound::Again,
            (false, _) => self.0 = 0,
            (true, true) => {
                self.0 = 0;
                return AfterRound::Yield(YIELD);
            }
        }
        AfterRound::Wait
    }
}

impl Cpu {
    /// Updates this CPU's overload bit; is it set now?
    pub(crate) fn mark_overload(&self, global: &mut Global) -> bool {
        let limits = global.config.limits;
        let overloaded = limits.overloaded(self.owed());
        if let Some(tree) = &mut global.tree {
            tree.set_overloaded(self.id, overloaded);
        }
        overloaded
    }

    /// [`begin_batch`](Cpu::begin_batch), and its trace. A kernel traces an empty batch, too.
    pub fn begin_batch_traced(
        &mut self,
        global: &Global,
        context: Context,
        host: &impl Host,
    ) -> Option<(Range<Pos>, Batch)> {
        let begun = self.begin_batch(global, context);
        let list = &self.list;
        host.trace(&Event::Callbacks(CallbackEvent::BatchStart {
            n_cbs: self.owed(),
            limit: begun.as_ref().map_or(0, |(_, batch)| batch.limit()),
        }));
        match &begun {
            Some(_) => trace_segments(list, SegcbEvent::Dequeued, host),
            None => self.trace_batch_end(0, Around::default(), context, host),
        }
        begun
    }

    /// [`end_batch`](Cpu::end_batch), and its trace. `around` is the present state of the CPU.
    pub fn end_batch_traced(
        &mut self,
        global: &Global,
        (batch, context): (Range<Pos>, Context),
        invoked: u64,
        around: Around,
        host: &impl Host,
    ) -> bool {
        let more = self.end_batch(global, batch, invoked);
        self.trace_batch_end(invoked, around, context, host);
        more
    }

    fn trace_batch_end(&self, invoked: u64, around: Around, context: Context, host: &impl Host) {
        host.trace(&Event::Callbacks(CallbackEvent::BatchEnd {
            invoked,
            left: !self.list.is_empty(),
            need_resched: around.need_resched,
            idle: around.idle,
            thread: context != Context::Softirq,
        }));
    }
}

/// The segments of the list, for the trace.
pub(crate) fn trace_segments<H: Host>(list: &CbList, when: SegcbEvent, host: &H) {
    if !H::TRACES {
        return;
    }
    let all = [
        Segment::Done,
        Segment::Wait,
        Segment::NextReady,
        Segment::Next,
    ];
    let segments = all.map(|segment| list.segment(segment));
    host.trace(&Event::Callbacks(CallbackEvent::Segments {
        when,
        counts: segments.map(|(count, _)| count),
        stamps: segments.map(|(_, stamp)| stamp.unwrap_or(quiescent_engine::seq::Seq::ZERO)),
    }));
}

impl Global {
    /// Does `cpu` count as overloaded?
    pub fn is_overloaded(&self, cpu: CpuId) -> bool {
        self.tree.as_ref().is_some_and(|tree| {
            tree.place_of(cpu).is_some_and(|(leaf, bit)| {
                tree.nodes[tree.leaf_node(leaf)].overloaded & 1 << bit != 0
            })
        })
    }
}

impl Tree {
    pub(crate) fn is_overloaded(&self, leaf: LeafId) -> bool {
        self.nodes[self.leaf_node(leaf)].overloaded != 0
    }

    pub(crate) fn set_overloaded(&mut self, cpu: CpuId, overloaded: bool) {
        let Some((leaf, bit)) = self.place_of(cpu) else {
            return;
        };
        let node = self.leaf_node(leaf);
        let mask = &mut self.nodes[node].overloaded;
        *mask = if overloaded {
            *mask | 1 << bit
        } else {
            *mask & !(1 << bit)
        };
    }

    /// The end of a grace period updates every marked CPU of a leaf.
    pub(crate) fn recheck_overload(&mut self, node: usize, limits: &Limits, host: &impl Host) {
        let (lo, marked) = (self.nodes[node].lo, self.nodes[node].overloaded);
        for bit in bits(marked) {
            if !limits.overloaded(host.owed_callbacks(lo + bit)) {
                self.nodes[node].overloaded &= !(1 << bit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::periods::gp::tests::after_one;

    #[test]
    fn the_per_cpu_thread_gives_way_after_ten_rounds() {
        let mut rounds = Rounds::default();
        for _ in 0..2 {
            for _ in 0..9 {
                assert_eq!(rounds.after(true), AfterRound::Again);
            }
            assert_eq!(rounds.after(true), AfterRound::Yield(2));
        }
        for _ in 0..9 {
            assert_eq!(rounds.after(true), AfterRound::Again);
        }
        assert_eq!(rounds.after(false), AfterRound::Wait, "no work is left");
        assert_eq!(
            rounds.after(true),
            AfterRound::Again,
            "the count starts again"
        );
    }

    #[test]
    fn a_mark_that_is_set_again_stays() {
        let mut engine = after_one();
        for (overloaded, times) in [(true, 2), (false, 2)] {
            for _ in 0..times {
                let tree = engine.tree.as_mut().expect("there was a grace period");
                tree.set_overloaded(1, overloaded);
                assert_eq!(
                    [0, 1].map(|cpu| engine.is_overloaded(cpu)),
                    [false, overloaded]
                );
            }
        }
    }
}
