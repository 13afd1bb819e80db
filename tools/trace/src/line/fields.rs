//! Events whose fields are kept as they are, for traces that are no text.
//!
//! Their text would be written only to be taken apart again. A trace that has fields gives those that an
//! [`Event`](crate::Event) is made of, by the names in [`SHAPES`], and no text. A kind of event that lacks
//! one of them, and all that are not listed, are written as text and decoded from it.

/// Fields of the event that needs the most.
pub(crate) const NEEDS_MOST: usize = 5;

/// What is made of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Wakeup {
        new: bool,
    },
    Waking,
    Switch,
    Idle,
    Hrtimer,
    Timer,
    Softirq,
    SoftirqExit,
    GracePeriod,
    FutureGp,
    Expedited,
    Barrier,
    NodeInit,
    Report,
    Scan,
    NocbWake,
    Callback,
    Kvfree,
    Invoke,
    InvokeKvfree,
    InvokeBulk,
    BatchStart,
    BatchEnd,
    /// Nothing in it is used.
    Other,
}

/// How a field is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Number,
    Text,
    /// The name of a function, or its address.
    Function,
    /// The letters of the state in which a task left its CPU.
    State,
}

/// What an event needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) event: &'static str,
    pub(crate) kind: Kind,
    pub(crate) needs: &'static [(&'static str, How)],
}

/// A range of the block's text, in one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span(pub(crate) u32, pub(crate) u32);

/// The fields of an event, in the order of its needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) shape: &'static Shape,
    /// Numbers, and places of text.
    values: [u64; NEEDS_MOST],
    /// Bits of those that it has.
    found: u8,
}

impl Fields {
    pub(crate) fn new(shape: &'static Shape) -> Self {
        Fields {
            shape,
            values: [0; NEEDS_MOST],
            found: 0,
        }
    }

    pub(crate) fn number(&mut self, place: usize, number: u64) {
        self.values[place] = number;
        self.found |= 1 << place;
    }

    pub(crate) fn text(&mut self, place: usize, span: Span) {
        self.number(place, u64::from(span.0) << 32 | u64::from(span.1));
    }

    /// The number; the name of the field if the event does not have it.
    #[inline]
    pub(crate) fn number_at(&self, place: usize) -> Result<u64, &'static str> {
        match self.found >> place & 1 {
            0 => Err(self.shape.needs[place].0),
            _ => Ok(self.values[place]),
        }
    }

    /// Its text, out of the block's.
    #[inline]
    pub(crate) fn text_at<'a>(&self, place: usize, text: &'a str) -> Result<&'a str, &'static str> {
        let span = self.number_at(place)?;
        let piece = text.get((span >> 32) as usize..span as u32 as usize);
        piece.ok_or(self.shape.needs[place].0)
    }
}

const fn shape(event: &'static str, kind: Kind, needs: &'static [(&'static str, How)]) -> Shape {
    assert!(needs.len() <= NEEDS_MOST);
    Shape { event, kind, needs }
}

/// What the event of this name needs.
pub(crate) fn shape_of(event: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.event == event)
}

const WAKEUP: &[(&str, How)] = &[
    ("comm", How::Text),
    ("pid", How::Number),
    ("target_cpu", How::Number),
];
const VEC: &[(&str, How)] = &[("vec", How::Number)];
const HEAD: &[(&str, How)] = &[("rhp", How::Number)];
const HEAD_AND_FUNCTION: &[(&str, How)] = &[("rhp", How::Number), ("func", How::Function)];

pub(crate) static SHAPES: [Shape; 28] = [
    shape("sched_wakeup", Kind::Wakeup { new: false }, WAKEUP),
    shape("sched_wakeup_new", Kind::Wakeup { new: true }, WAKEUP),
    shape("sched_waking", Kind::Waking, WAKEUP),
    shape(
        "sched_switch",
        Kind::Switch,
        &[
            ("prev_comm", How::Text),
            ("prev_pid", How::Number),
            ("prev_state", How::State),
            ("next_comm", How::Text),
            ("next_pid", How::Number),
        ],
    ),
    shape(
        "cpu_idle",
        Kind::Idle,
        &[("state", How::Number), ("cpu_id", How::Number)],
    ),
    shape(
        "hrtimer_expire_entry",
        Kind::Hrtimer,
        &[("function", How::Function), ("now", How::Number)],
    ),
    shape(
        "timer_expire_entry",
        Kind::Timer,
        &[
            ("function", How::Function),
            ("now", How::Number),
            ("baseclk", How::Number),
        ],
    ),
    shape("softirq_entry", Kind::Softirq, VEC),
    shape("softirq_exit", Kind::SoftirqExit, VEC),
    shape("rcu_utilization", Kind::Other, &[]),
    shape(
        "rcu_grace_period",
        Kind::GracePeriod,
        &[("gp_seq", How::Number), ("gpevent", How::Text)],
    ),
    shape(
        "rcu_future_grace_period",
        Kind::FutureGp,
        &[("gp_seq_req", How::Number), ("gpevent", How::Text)],
    ),
    shape(
        "rcu_exp_grace_period",
        Kind::Expedited,
        &[("gpseq", How::Number), ("gpevent", How::Text)],
    ),
    shape("rcu_barrier", Kind::Barrier, &[("s", How::Text)]),
    shape(
        "rcu_grace_period_init",
        Kind::NodeInit,
        &[
            ("level", How::Number),
            ("grplo", How::Number),
            ("qsmask", How::Number),
        ],
    ),
    shape(
        "rcu_quiescent_state_report",
        Kind::Report,
        &[
            ("mask", How::Number),
            ("qsmask", How::Number),
            ("level", How::Number),
            ("grplo", How::Number),
        ],
    ),
    shape(
        "rcu_fqs",
        Kind::Scan,
        &[("cpu", How::Number), ("qsevent", How::Text)],
    ),
    shape(
        "rcu_nocb_wake",
        Kind::NocbWake,
        &[("cpu", How::Number), ("reason", How::Text)],
    ),
    shape("rcu_callback", Kind::Callback, HEAD_AND_FUNCTION),
    shape("rcu_kvfree_callback", Kind::Kvfree, HEAD),
    shape("rcu_kfree_callback", Kind::Kvfree, HEAD),
    shape("rcu_invoke_callback", Kind::Invoke, HEAD_AND_FUNCTION),
    shape("rcu_invoke_kvfree_callback", Kind::InvokeKvfree, HEAD),
    shape("rcu_invoke_kfree_callback", Kind::InvokeKvfree, HEAD),
    shape(
        "rcu_invoke_kfree_bulk_callback",
        Kind::InvokeBulk,
        &[("nr_records", How::Number)],
    ),
    shape(
        "rcu_batch_start",
        Kind::BatchStart,
        &[("qlen", How::Number)],
    ),
    shape(
        "rcu_batch_end",
        Kind::BatchEnd,
        &[("callbacks_invoked", How::Number)],
    ),
    shape("rcu_preempt_task", Kind::Other, &[]),
];
