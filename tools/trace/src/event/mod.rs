//! What an event says: made of its text, or of its fields.
//!
//! Only the events that a model of RCU and of the scheduler's ticks needs are decoded; the others are
//! [`Event::Other`]. RCU's events start with the flavour (`rcu_preempt`, or `rcu_sched` on kernels without
//! preemption), which is left out.

use crate::Fault;
use stored::Stored;
use text::{Exact, Loose, Plugin};

mod moves;
mod stored;
mod table;
mod text;
mod words;

pub(crate) use moves::{KVFREE, Move};
pub(crate) use stored::{Fields, Span, needs, push_text};
pub(crate) use table::Text;

/// Of the two tasks of a `sched_switch`, the places of name and id among its needs.
pub(crate) const SWITCHED: [(usize, usize); 2] = [(0, 1), (3, 4)];

/// Functions that a tick's timer calls, by kernel version.
const TICKS: [&str; 3] = [
    "tick_nohz_handler",
    "tick_sched_timer",
    "tick_nohz_highres_handler",
];

/// What was traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// `sched_wakeup`, or `sched_wakeup_new` with `new`: a task became runnable.
    Wakeup {
        /// Its name.
        task: &'a str,
        /// Its id.
        pid: u32,
        /// The CPU it will run on.
        target: u32,
        /// It runs for the first time.
        new: bool,
    },
    /// `sched_waking`: the same wake-up as a [`Event::Wakeup`], seen at its request.
    Waking {
        /// Its name.
        task: &'a str,
        /// Its id.
        pid: u32,
        /// The CPU on which it ran last.
        target: u32,
    },
    /// `sched_switch`.
    Switch {
        /// The task that ran.
        prev: &'a str,
        /// Its id.
        prev_pid: u32,
        /// In which state: `R` and more letters if it could go on.
        state: &'a str,
        /// The task that runs now.
        next: &'a str,
        /// Its id.
        next_pid: u32,
    },
    /// `cpu_idle` with a state: a CPU halts.
    IdleEntry {
        /// The CPU.
        cpu: u32,
        /// The idle state.
        state: u32,
    },
    /// `cpu_idle` with state -1: the CPU leaves its idle state.
    IdleExit {
        /// The CPU.
        cpu: u32,
    },
    /// `hrtimer_expire_entry` of the tick.
    Tick {
        /// The clock at the interrupt, ns.
        now_ns: u64,
    },
    /// `hrtimer_expire_entry` of any other timer.
    Hrtimer {
        /// The function it calls.
        function: &'a str,
    },
    /// `timer_expire_entry`: a timer of the wheel.
    Timer {
        /// The function it calls.
        function: &'a str,
        /// The jiffy number.
        jiffies: u64,
        /// The jiffy number up to which the CPU's wheel has been worked off.
        base: Option<u64>,
    },
    /// `softirq_entry`.
    Softirq {
        /// Its number; RCU's is 9.
        vec: u32,
    },
    /// `softirq_exit`.
    SoftirqExit {
        /// Its number.
        vec: u32,
    },
    /// `tick_stop`: a CPU stops its tick, or may not.
    TickStop {
        /// It stopped.
        stopped: bool,
        /// `NONE`, or what needs the tick: `RCU`, `SCHED`…
        dependency: &'a str,
    },
    /// `sys_enter`, or an event of one system call: a task enters a system call.
    SysEnter {
        /// Its number, or its name.
        call: &'a str,
    },
    /// `sys_exit`, or an event of one system call.
    SysExit,
    /// `rcu_grace_period`.
    GracePeriod {
        /// The sequence number, as printed.
        seq: i64,
        /// `start`, `fqsend`, `end`, `cpuqs`…
        what: &'a str,
    },
    /// `rcu_future_grace_period`: a grace period is requested, or waited for.
    FutureGp {
        /// The sequence number at the end of the requested one.
        wanted: i64,
        /// `Startleaf`, `Prestarted`, `StartWait`…
        what: &'a str,
    },
    /// `rcu_exp_grace_period`: an expedited one.
    Expedited {
        /// The expedited sequence number, as printed.
        seq: i64,
        /// `snap`, `start`, `end`, `done`…
        what: &'a str,
    },
    /// `rcu_barrier`: a task waits for all callbacks.
    Barrier {
        /// `Begin`, `LastCB`, `Inc2`…
        what: &'a str,
    },
    /// `rcu_grace_period_init`: a node is set up.
    NodeInit {
        /// 0 is the root.
        level: u32,
        /// The first CPU below it.
        first_cpu: u32,
        /// The holdouts, a bit each.
        mask: u64,
    },
    /// `rcu_quiescent_state_report`: bits of a node are cleared.
    Report {
        /// 0 is the root.
        level: u32,
        /// The first CPU below the node.
        first_cpu: u32,
        /// The bits that are cleared.
        cleared: u64,
        /// The bits that are left.
        left: u64,
    },
    /// `rcu_fqs`: a scan credits a CPU, or asks for one.
    Scan {
        /// The CPU.
        cpu: u32,
        /// `dti` idle since, `rqc` asked to reschedule…
        what: &'a str,
    },
    /// `rcu_callback`: a callback is queued.
    Callback {
        /// Its head.
        head: u64,
        /// Its function.
        function: &'a str,
    },
    /// `rcu_kvfree_callback`: a block to be freed is queued.
    Kvfree {
        /// Its head.
        head: u64,
    },
    /// `rcu_invoke_callback`.
    Invoke {
        /// Its head.
        head: u64,
        /// Its function.
        function: &'a str,
    },
    /// `rcu_invoke_kvfree_callback`.
    InvokeKvfree {
        /// Its head.
        head: u64,
    },
    /// `rcu_invoke_kfree_bulk_callback`: blocks are freed together.
    InvokeBulk {
        /// How many.
        records: u64,
    },
    /// `rcu_batch_start`.
    BatchStart {
        /// Callbacks on the list.
        callbacks: u64,
    },
    /// `rcu_batch_end`.
    BatchEnd {
        /// Callbacks that were invoked.
        invoked: u64,
    },
    /// `rcu_nocb_wake`.
    NocbWake {
        /// The CPU it is about.
        cpu: u32,
        /// `FirstQ`, `WakeEmpty`, `Lazy`…
        what: &'a str,
    },
    /// `rcu_sr_normal`: a grace period is waited for by a request of its own.
    Synchronize {
        /// `request`, `complete`…
        what: &'a str,
    },
    /// `workqueue_execute_start`.
    Work {
        /// The function that a worker calls.
        function: &'a str,
    },
    /// `kernel_stack`: the stack of the event before it.
    Stack {
        /// ` => function`, a line each.
        frames: &'a str,
    },
    /// `tracing_mark_write`, or `print`: text from user space.
    Mark {
        /// The text.
        text: &'a str,
    },
    /// Any other event.
    Other,
}

/// The event of this name with this text.
#[inline(always)]
pub(crate) fn of_text<'a>(name: &'a str, text: &'a str) -> Result<Event<'a>, Fault> {
    match table::decode(name, &mut Exact(text)) {
        Err(_) => of_any_text(name, text),
        found => found,
    }
}

/// The same for every form of text.
#[inline(never)]
fn of_any_text<'a>(name: &'a str, text: &'a str) -> Result<Event<'a>, Fault> {
    if let Some(fields) = probed(name, text) {
        return table::decode(name, &mut Loose::new(fields)).map(Event::before_it);
    }
    let plugin = match name {
        "sched_switch" => !text.starts_with("prev_comm="),
        "sched_wakeup" | "sched_wakeup_new" | "sched_waking" => !text.starts_with("comm="),
        _ => false,
    };
    match plugin {
        true => table::decode(name, &mut Plugin::new(text)),
        false => table::decode(name, &mut Loose::new(text)),
    }
}

/// The fields of an event of a probe that stands for one of RCU's: behind the place of the probe in brackets.
pub(crate) fn probed<'a>(name: &str, text: &'a str) -> Option<&'a str> {
    let is_probed = name.starts_with("rcu_") && text.starts_with('(');
    is_probed.then(|| text.split_once(") ").map_or("", |it| it.1))
}

/// The event of this name with these fields, whose texts are pieces of `text`.
pub(crate) fn of_fields<'a>(
    name: &'a str,
    fields: &Fields,
    text: &'a str,
) -> Result<Event<'a>, Fault> {
    let at = 0;
    table::decode(name, &mut Stored { fields, text, at })
}

impl Event<'_> {
    /// What a probe at a function's entry has seen, as the tracepoint inside would say it: the entry comes
    /// before the bits of a node are cleared, and may come for bits that are no longer set.
    fn before_it(mut self) -> Self {
        if let Event::Report { cleared, left, .. } = &mut self {
            if *cleared & *left == 0 {
                return Event::Other;
            }
            (*cleared, *left) = (*cleared & *left, *left & !*cleared);
        }
        self
    }

    /// `cpu_idle`; the state that is none is -1 in 32 bits or more.
    #[inline]
    fn idle(state: i64, cpu: u32) -> Self {
        match u32::try_from(state) {
            Ok(u32::MAX) | Err(_) => Event::IdleExit { cpu },
            Ok(state) => Event::IdleEntry { cpu, state },
        }
    }
}

#[cfg(test)]
mod tests;
