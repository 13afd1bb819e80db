//! An event's fields, decoded from the kernel's text formats.
//!
//! Only the events that a model of RCU and of the scheduler's ticks needs are decoded; the others are
//! [`Event::Other`]. RCU's events start with the flavour (`rcu_preempt`, or `rcu_sched` on kernels without
//! preemption), which is left out.

use crate::event::fields::{function, number, numbered, task};
use crate::{Fault, Record};

pub(crate) mod clock;
mod fast;
pub(crate) mod fields;
mod made;
mod moves;
mod rcu;
pub(crate) mod window;

pub(crate) use moves::{KVFREE, Move};
pub use window::{Bounds, END_MARK, START_MARK, Window};

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
    /// `tracing_mark_write`, or `print`: text from user space.
    Mark {
        /// The text.
        text: &'a str,
    },
    /// Any other event.
    Other,
}

impl<'a> Record<'a> {
    /// Decodes the event.
    ///
    /// # Errors
    /// [`Fault::Field`] with the field's name when a known event lacks it, [`Fault::Hidden`] for hidden
    /// pointers.
    ///
    /// ```
    /// use quiescent_trace::{Event, Reader};
    ///
    /// let text = "a-7 [001] d..2. 1.5: rcu_callback: rcu_preempt rhp=ff10 func=__d_free 3\n";
    /// let mut reader = Reader::new("example", text.as_bytes());
    /// let event = reader.next_record()?.unwrap().decode().unwrap();
    /// assert_eq!(event, Event::Callback { head: 0xff10, function: "__d_free" });
    /// # Ok::<(), quiescent_trace::Error>(())
    /// ```
    #[inline(always)]
    pub fn decode(&self) -> Result<Event<'a>, Fault> {
        if let Some((fields, text)) = self.fields {
            return made::decode(fields, text);
        }
        match fast::decode(self.event, self.text) {
            Some(event) => Ok(event),
            None => self.decode_any(),
        }
    }

    /// The same for every form of text.
    fn decode_any(&self) -> Result<Event<'a>, Fault> {
        let text = self.text;
        if let Some(rest) = self.event.strip_prefix("rcu_") {
            return rcu::decode(rest, text);
        }
        Ok(match self.event {
            "sched_wakeup" => wakeup(text, false)?,
            "sched_wakeup_new" => wakeup(text, true)?,
            "sched_waking" => waking(text)?,
            "sched_switch" => switch(text)?,
            "cpu_idle" => idle(text)?,
            "hrtimer_expire_entry" => {
                let function = function(text, "function")?;
                // It could be the tick's.
                if function.starts_with("0x") {
                    return Err(Fault::Address);
                }
                if TICKS.contains(&function) {
                    Event::Tick {
                        now_ns: numbered(text, "now")?,
                    }
                } else {
                    Event::Hrtimer { function }
                }
            }
            "timer_expire_entry" => Event::Timer {
                function: function(text, "function")?,
                jiffies: numbered(text, "now")?,
                base: numbered(text, "baseclk").ok(),
            },
            "softirq_entry" => Event::Softirq {
                vec: numbered(text, "vec")?,
            },
            "softirq_exit" => Event::SoftirqExit {
                vec: numbered(text, "vec")?,
            },
            "tick_stop" => Event::TickStop {
                stopped: numbered::<u8>(text, "success")? != 0,
                dependency: crate::event::fields::value(text, "dependency")
                    .ok_or(Fault::Field("dependency"))?,
            },
            "sys_exit" => Event::SysExit,
            event if event.starts_with("sys_") => syscall(event, text)?,
            "tracing_mark_write" | "print" => Event::Mark {
                // trace-cmd puts the writer's name before the text.
                text: text.strip_prefix("tracing_mark_write: ").unwrap_or(text),
            },
            _ => Event::Other,
        })
    }
}

fn wakeup(text: &str, new: bool) -> Result<Event<'_>, Fault> {
    if text.starts_with("comm=") {
        return Ok(Event::Wakeup {
            task: task(text, "comm", "pid")?,
            pid: numbered(text, "pid")?,
            target: cpu(numbered(text, "target_cpu"), "target_cpu")?,
            new,
        });
    }
    // trace-cmd's own form: `comm:pid [prio] CPU:000`.
    let (task, pid) = plugin(text).ok_or(Fault::Field("comm"))?;
    let target = text.rsplit_once("CPU:").and_then(|(_, n)| number(n.trim()));
    let target = cpu(target.ok_or(Fault::Field("CPU")), "CPU")?;
    Ok(Event::Wakeup {
        task,
        pid,
        target,
        new,
    })
}

/// The same formats as a wake-up's.
fn waking(text: &str) -> Result<Event<'_>, Fault> {
    let Event::Wakeup { task, pid, .. } = wakeup(text, false)? else {
        return Ok(Event::Other);
    };
    Ok(Event::Waking { task, pid })
}

/// `sys_enter: NR 87 (…)`, with names for fields `id=87`; of one call `sys_enter_unlink: …`,
/// `sys_exit_unlink: …`, and as the kernel itself prints it `sys_unlink(pathname: …)`, `sys_unlink -> 0x0`.
fn syscall<'a>(event: &'a str, text: &'a str) -> Result<Event<'a>, Fault> {
    if event == "sys_enter" {
        let number = match text.strip_prefix("NR ") {
            Some(rest) => rest.split_whitespace().next(),
            None => crate::event::fields::value(text, "id"),
        };
        let call = number.ok_or(Fault::Field("NR"))?;
        return Ok(Event::SysEnter { call });
    }
    if event.starts_with("sys_exit_") || text.starts_with("-> ") {
        return Ok(Event::SysExit);
    }
    let call = match event.strip_prefix("sys_enter_") {
        Some(call) => Some(call),
        None => match event.split_once('(') {
            Some((name, _)) => name.strip_prefix("sys_"),
            None => event.strip_prefix("sys_").filter(|_| text.starts_with('(')),
        },
    };
    Ok(call.map_or(Event::Other, |call| Event::SysEnter { call }))
}

fn switch(text: &str) -> Result<Event<'_>, Fault> {
    if text.starts_with("prev_comm=") {
        return Ok(Event::Switch {
            prev: task(text, "prev_comm", "prev_pid")?,
            prev_pid: numbered(text, "prev_pid")?,
            state: state(text),
            next: task(text, "next_comm", "next_pid")?,
            next_pid: numbered(text, "next_pid")?,
        });
    }
    // trace-cmd's own form: `comm:pid [prio] S ==> comm:pid [prio]`.
    let (prev, next) = text.split_once(" ==> ").ok_or(Fault::Field("==>"))?;
    let state = prev.trim_end().rsplit(' ').next().unwrap_or("");
    let (prev, prev_pid) = plugin(prev).ok_or(Fault::Field("prev_comm"))?;
    let (next, next_pid) = plugin(next).ok_or(Fault::Field("next_comm"))?;
    Ok(Event::Switch {
        prev,
        prev_pid,
        state,
        next,
        next_pid,
    })
}

/// `prev_state=R+`; where fields have names it is a number.
fn state(text: &str) -> &str {
    let word = crate::event::fields::value(text, "prev_state").unwrap_or("");
    match number::<u64>(word).map(|bits| bits & 0xff) {
        Some(0) => "R",
        Some(1) => "S",
        Some(2) => "D",
        _ => word,
    }
}

/// `comm:pid [prio]`.
fn plugin(text: &str) -> Option<(&str, u32)> {
    let (who, _) = text.split_once(" [")?;
    let (task, pid) = who.rsplit_once(':')?;
    Some((task.trim(), pid.parse().ok()?))
}

fn idle(text: &str) -> Result<Event<'_>, Fault> {
    let cpu = cpu(numbered(text, "cpu_id"), "cpu_id")?;
    Ok(Event::idle(numbered(text, "state")?, cpu))
}

impl Event<'_> {
    /// `cpu_idle`; the state that is none is -1 in 32 bits or more.
    #[inline]
    fn idle(state: i64, cpu: u32) -> Self {
        match u32::try_from(state) {
            Ok(u32::MAX) | Err(_) => Event::IdleExit { cpu },
            Ok(state) => Event::IdleEntry { cpu, state },
        }
    }
}

/// A CPU number that tables may be indexed by.
fn cpu(number: Result<u32, Fault>, name: &'static str) -> Result<u32, Fault> {
    number.and_then(|n| {
        if n < 1 << 16 {
            Ok(n)
        } else {
            Err(Fault::Field(name))
        }
    })
}

#[cfg(test)]
mod tests;
