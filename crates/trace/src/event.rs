//! What an event says, by the kernel's text formats.
//!
//! Only the events that a model of RCU and of the scheduler's ticks needs are decoded; the others are [`Event::Other`].
//! RCU's events start with the flavour (`rcu_preempt`, or `rcu_sched` on kernels without preemption), which is left out.

use crate::fields::{function, hex, number, numbered, pointed, pointer, task};
use crate::{Fault, Record};

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
    /// `sched_switch`.
    Switch {
        /// Who ran.
        prev: &'a str,
        /// Its id.
        prev_pid: u32,
        /// Who runs now.
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
    /// `cpu_idle` with state -1: it goes on.
    IdleExit {
        /// The CPU.
        cpu: u32,
    },
    /// `hrtimer_expire_entry` of the tick.
    Tick {
        /// The clock at the interrupt, ns.
        now_ns: u64,
    },
    /// `hrtimer_expire_entry` of anything else.
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
    },
    /// `softirq_entry`.
    Softirq {
        /// Its number; RCU's is 9.
        vec: u32,
    },
    /// `rcu_grace_period`.
    GracePeriod {
        /// The sequence number, as printed.
        seq: i64,
        /// `start`, `fqsend`, `end`, `cpuqs`…
        what: &'a str,
    },
    /// `rcu_grace_period_init`: a node is set up.
    NodeInit {
        /// 0 is the root.
        level: u32,
        /// The first CPU below it.
        first_cpu: u32,
        /// Who is waited for, a bit each.
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
    /// Anything else.
    Other,
}

impl<'a> Record<'a> {
    /// What the event says.
    ///
    /// # Errors
    /// [`Fault::Field`] with the field's name when a known event lacks it, [`Fault::Hidden`] for hidden pointers.
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
    pub fn decode(&self) -> Result<Event<'a>, Fault> {
        let text = self.text;
        if let Some(rest) = self.event.strip_prefix("rcu_") {
            return rcu(rest, text);
        }
        Ok(match self.event {
            "sched_wakeup" => wakeup(text, false)?,
            "sched_wakeup_new" => wakeup(text, true)?,
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
            },
            "softirq_entry" => Event::Softirq {
                vec: numbered(text, "vec")?,
            },
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

fn switch(text: &str) -> Result<Event<'_>, Fault> {
    if text.starts_with("prev_comm=") {
        return Ok(Event::Switch {
            prev: task(text, "prev_comm", "prev_pid")?,
            prev_pid: numbered(text, "prev_pid")?,
            next: task(text, "next_comm", "next_pid")?,
            next_pid: numbered(text, "next_pid")?,
        });
    }
    // trace-cmd's own form: `comm:pid [prio] S ==> comm:pid [prio]`.
    let (prev, next) = text.split_once(" ==> ").ok_or(Fault::Field("==>"))?;
    let (prev, prev_pid) = plugin(prev).ok_or(Fault::Field("prev_comm"))?;
    let (next, next_pid) = plugin(next).ok_or(Fault::Field("next_comm"))?;
    Ok(Event::Switch {
        prev,
        prev_pid,
        next,
        next_pid,
    })
}

/// `comm:pid [prio]`.
fn plugin(text: &str) -> Option<(&str, u32)> {
    let (who, _) = text.split_once(" [")?;
    let (task, pid) = who.rsplit_once(':')?;
    Some((task.trim(), pid.parse().ok()?))
}

fn idle(text: &str) -> Result<Event<'_>, Fault> {
    let cpu = cpu(numbered(text, "cpu_id"), "cpu_id")?;
    let state = numbered::<i64>(text, "state")?;
    Ok(match u32::try_from(state) {
        Ok(u32::MAX) | Err(_) => Event::IdleExit { cpu },
        Ok(state) => Event::IdleEntry { cpu, state },
    })
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

/// The events `rcu_*`, without the prefix.
fn rcu<'a>(event: &str, text: &'a str) -> Result<Event<'a>, Fault> {
    // A third of all events where it is traced, and nothing in it is needed.
    if event == "utilization" {
        return Ok(Event::Other);
    }
    let mut words = text.split_ascii_whitespace();
    // The `fields` option, `trace-cmd report -R` and formats that cannot be followed have names for all fields.
    let named = text.starts_with("rcuname=");
    words.next();
    // Words after the flavour, by their place; a field that is not there is an error with its name.
    let mut at = |place: usize, name| {
        let word = if named {
            pointed(text, name)
        } else {
            words.nth(place)
        };
        word.ok_or(Fault::Field(name))
    };
    Ok(match event {
        "grace_period" => Event::GracePeriod {
            seq: sequence(at(0, "gp_seq")?)?,
            what: at(0, "gpevent")?,
        },
        "grace_period_init" => Event::NodeInit {
            level: parsed(at(1, "level")?, "level")?,
            first_cpu: cpu(parsed(at(0, "grplo")?, "grplo"), "grplo")?,
            mask: mask(at(1, "qsmask")?, named, "qsmask")?,
        },
        "quiescent_state_report" => {
            let masks = at(1, "mask")?;
            let (cleared, left) = match masks.split_once('>') {
                Some(both) => both,
                None if named => (masks, at(0, "qsmask")?),
                None => return Err(Fault::Field("mask")),
            };
            Event::Report {
                cleared: mask(cleared, named, "mask")?,
                left: mask(left, named, "qsmask")?,
                level: parsed(at(0, "level")?, "level")?,
                first_cpu: cpu(parsed(at(0, "grplo")?, "grplo"), "grplo")?,
            }
        }
        "fqs" => Event::Scan {
            cpu: cpu(parsed(at(1, "cpu")?, "cpu"), "cpu")?,
            what: at(0, "qsevent")?,
        },
        "nocb_wake" => Event::NocbWake {
            cpu: cpu(parsed(at(0, "cpu")?, "cpu"), "cpu")?,
            what: at(0, "reason")?,
        },
        "callback" => Event::Callback {
            head: pointer(text, "rhp")?,
            function: function(text, "func")?,
        },
        "kvfree_callback" | "kfree_callback" => Event::Kvfree {
            head: pointer(text, "rhp")?,
        },
        "invoke_callback" => Event::Invoke {
            head: pointer(text, "rhp")?,
            function: function(text, "func")?,
        },
        "invoke_kvfree_callback" | "invoke_kfree_callback" => Event::InvokeKvfree {
            head: pointer(text, "rhp")?,
        },
        "batch_start" => Event::BatchStart {
            callbacks: batch(text, "CBs")?,
        },
        "batch_end" => Event::BatchEnd {
            invoked: batch(text, "CBs-invoked")?,
        },
        _ => Event::Other,
    })
}

/// A sequence number; with names it may be in hexadecimal, as it lies in memory.
fn sequence(word: &str) -> Result<i64, Fault> {
    let hex = word.strip_prefix("0x").and_then(hex).map(|n| n as i64);
    hex.or_else(|| number(word)).ok_or(Fault::Field("gp_seq"))
}

/// Bits: hexadecimal; with names decimal, or hexadecimal behind `0x`.
fn mask(word: &str, named: bool, name: &'static str) -> Result<u64, Fault> {
    let bits = if named { number(word) } else { hex(word) };
    bits.ok_or(Fault::Field(name))
}

fn parsed<T: TryFrom<i128>>(word: &str, name: &'static str) -> Result<T, Fault> {
    number(word).ok_or(Fault::Field(name))
}

/// A number of callbacks; old kernels print `lazy/all`.
fn batch(text: &str, name: &'static str) -> Result<u64, Fault> {
    let word = crate::fields::value(text, name).ok_or(Fault::Field(name))?;
    let all = word.rsplit('/').next().unwrap_or(word);
    parsed(all, name)
}

#[cfg(test)]
mod tests;
