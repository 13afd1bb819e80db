//! Trace events about callbacks: queued, stamped, invoked.
//!
//! The engine knows a callback by its position and prints that where a kernel prints an address. Only the
//! host knows the function: the host traces [`CallbackEvent::Queued`] and [`CallbackEvent::Invoke`] itself,
//! the engine the others.

use core::fmt;

use crate::periods::host::Pos;
use quiescent_engine::seq::Seq;

names! {
    /// The occasion on which a list's segments are shown.
    SegcbEvent {
        /// A callback was queued.
        Queued = "SegCBQueued",
        /// Before stamping.
        PreAcc = "SegCbPreAcc",
        /// After stamping.
        PostAcc = "SegCbPostAcc",
        /// Ready callbacks were extracted.
        Dequeued = "SegCbDequeued",
    }
}

/// The stages of callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallbackEvent {
    /// `rcu_callback`: a callback was queued.
    Queued {
        /// Its position.
        pos: Pos,
        /// The function it calls.
        func: &'static str,
        /// The number owed after it.
        n_cbs: u64,
    },
    /// `rcu_segcb_stats`
    Segments {
        /// The occasion.
        when: SegcbEvent,
        /// DONE, WAIT, NEXT_READY, NEXT.
        counts: [u64; 4],
        /// Their stamps; 0 for a segment without one.
        stamps: [Seq; 4],
    },
    /// `rcu_batch_start`
    BatchStart {
        /// The number owed.
        n_cbs: u64,
        /// The limit of the batch; 0 if nothing is ready.
        limit: u64,
    },
    /// `rcu_invoke_callback`: before the call.
    Invoke {
        /// Its position.
        pos: Pos,
        /// The function it calls.
        func: &'static str,
    },
    /// `rcu_batch_end`
    BatchEnd {
        /// The number invoked.
        invoked: u64,
        /// Some are still owed.
        left: bool,
        /// The scheduler wants the CPU.
        need_resched: bool,
        /// The idle task was interrupted.
        idle: bool,
        /// A thread invoked them.
        thread: bool,
    },
}

impl CallbackEvent {
    /// The kernel's name of the event.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            CallbackEvent::Queued { .. } => "rcu_callback",
            CallbackEvent::Segments { .. } => "rcu_segcb_stats",
            CallbackEvent::BatchStart { .. } => "rcu_batch_start",
            CallbackEvent::Invoke { .. } => "rcu_invoke_callback",
            CallbackEvent::BatchEnd { .. } => "rcu_batch_end",
        }
    }

    pub(super) fn write(&self, flavor: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CallbackEvent::Queued { pos, func, n_cbs } => {
                write!(f, "{flavor} rhp=0x{pos:016x} func={func} {n_cbs}")
            }
            CallbackEvent::Segments {
                when,
                counts: [done, wait, ready, next],
                stamps,
            } => {
                let [a, b, c, d] = stamps.map(Seq::raw);
                write!(
                    f,
                    "{when} seglen: (DONE={done}, WAIT={wait}, NEXT_READY={ready}, NEXT={next}) \
                     gp_seq: (DONE={a}, WAIT={b}, NEXT_READY={c}, NEXT={d})"
                )
            }
            CallbackEvent::BatchStart { n_cbs, limit } => {
                write!(f, "{flavor} CBs={n_cbs} bl={limit}")
            }
            CallbackEvent::Invoke { pos, func } => {
                write!(f, "{flavor} rhp=0x{pos:016x} func={func}")
            }
            CallbackEvent::BatchEnd {
                invoked,
                left,
                need_resched,
                idle,
                thread,
            } => {
                let sign = |is, letter| if is { letter } else { '.' };
                let (c, s) = (sign(left, 'C'), sign(need_resched, 'S'));
                let (i, r) = (sign(idle, 'I'), sign(thread, 'R'));
                write!(f, "{flavor} CBs-invoked={invoked} idle={c}{s}{i}{r}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::periods::event::Event;

    #[test]
    fn lines_read_like_the_kernels() {
        let (pos, func) = (0xbeef, "i_callback");
        let stamps = [0, 1236, 1240, 0].map(Seq::from_raw);
        let table = [
            (
                CallbackEvent::Queued {
                    pos,
                    func,
                    n_cbs: 3,
                },
                "rcu_callback: rcu_preempt rhp=0x000000000000beef func=i_callback 3",
            ),
            (
                CallbackEvent::Segments {
                    when: SegcbEvent::PreAcc,
                    counts: [1, 2, 3, 4],
                    stamps,
                },
                "rcu_segcb_stats: SegCbPreAcc seglen: (DONE=1, WAIT=2, NEXT_READY=3, NEXT=4) \
                 gp_seq: (DONE=0, WAIT=1236, NEXT_READY=1240, NEXT=0)",
            ),
            (
                CallbackEvent::BatchStart { n_cbs: 9, limit: 0 },
                "rcu_batch_start: rcu_preempt CBs=9 bl=0",
            ),
            (
                CallbackEvent::Invoke { pos, func },
                "rcu_invoke_callback: rcu_preempt rhp=0x000000000000beef func=i_callback",
            ),
            (
                CallbackEvent::BatchEnd {
                    invoked: 10,
                    left: true,
                    need_resched: false,
                    idle: true,
                    thread: false,
                },
                "rcu_batch_end: rcu_preempt CBs-invoked=10 idle=C.I.",
            ),
        ];
        for (event, want) in table {
            let event = Event::Callbacks(event);
            let line = alloc::format!("{}: {}", event.name(), event.text("rcu_preempt"));
            assert_eq!(line, want);
        }
        let names: alloc::vec::Vec<_> = SegcbEvent::ALL.iter().map(|e| e.to_string()).collect();
        assert_eq!(
            names.join(" "),
            "SegCBQueued SegCbPreAcc SegCbPostAcc SegCbDequeued"
        );
    }
}
