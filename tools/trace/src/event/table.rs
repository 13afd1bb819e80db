//! The events that are decoded: the fields of each, and what is made of them.
//!
//! This is the list for all kinds of traces. An event asks its [`Source`] for fields, in the order in which
//! the kernel prints them, each with what stands in front of it in the text and with its name in the event's
//! format:
//!
//! | source | what it has | how it finds a field |
//! |---|---|---|
//! | `Exact` | text of the tracefs file | the field stands here, byte for byte; otherwise `Loose` is asked |
//! | `Loose` | any other text | by name, or by its place among the words |
//! | `Plugin` | trace-cmd's own text of wake-ups and switches | by the marks around it |
//! | `Stored` | the fields of a trace that is no text | in the order in which they are asked for |
//! | `Needs` | nothing | it notes what is asked for, which is what such a trace stores |

use super::{Event, TICKS};
use crate::Fault;

/// How a number stands in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// Decimal, and not negative.
    Plain,
    /// Decimal.
    Signed,
    /// Hexadecimal: bits, or a pointer.
    Bits,
    /// Decimal: callbacks, of which old kernels print `lazy/all`.
    Callbacks,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// It ends at a blank.
    Word,
    /// The name of a task, which may have blanks: it ends in front of this field and its equals sign.
    Task(&'static str),
    /// The name of a function, without offset, size and module; or its address.
    Function,
    /// The letters of the state in which a task left its CPU.
    State,
    /// What needs the tick.
    Dependency,
    /// The functions of a stack, a line each.
    Stack,
    /// All of the event's text.
    Whole,
}

/// Where the fields of an event come from.
pub(super) trait Source<'a> {
    /// Why a field could not be read.
    type Wrong: From<Fault>;

    /// The number `name`, which follows `before` in the kernel's text.
    fn number(&mut self, before: &str, name: &'static str, how: Number)
    -> Result<u64, Self::Wrong>;

    /// The text `name`, likewise.
    fn text(&mut self, before: &str, name: &'static str, how: Text)
    -> Result<&'a str, Self::Wrong>;

    /// A field that is not needed.
    fn skip(&mut self, _before: &str) -> Result<(), Self::Wrong> {
        Ok(())
    }

    /// The number that stands last, if there is one.
    fn last(&mut self, before: &str, name: &'static str) -> Result<Option<u64>, Self::Wrong> {
        Ok(self.number(before, name, Number::Plain).ok())
    }

    /// What follows the last field is not needed either.
    fn end(&mut self) -> Result<(), Self::Wrong> {
        Ok(())
    }

    /// A number, in its type.
    #[inline(always)]
    fn small<T: TryFrom<u64>>(
        &mut self,
        before: &str,
        name: &'static str,
    ) -> Result<T, Self::Wrong> {
        let number = self.number(before, name, Number::Plain)?;
        T::try_from(number).map_err(|_| Fault::Field(name).into())
    }

    /// The number of a CPU, by which tables may be indexed.
    #[inline(always)]
    fn cpu(&mut self, before: &str, name: &'static str) -> Result<u32, Self::Wrong> {
        self.small::<u16>(before, name).map(u32::from)
    }

    #[inline(always)]
    fn signed(&mut self, before: &str, name: &'static str) -> Result<i64, Self::Wrong> {
        let number = self.number(before, name, Number::Signed)?;
        Ok(number as i64)
    }

    #[inline(always)]
    fn bits(&mut self, before: &str, name: &'static str) -> Result<u64, Self::Wrong> {
        self.number(before, name, Number::Bits)
    }

    #[inline(always)]
    fn word(&mut self, before: &str, name: &'static str) -> Result<&'a str, Self::Wrong> {
        self.text(before, name, Text::Word)
    }

    #[inline(always)]
    fn function(&mut self, before: &str, name: &'static str) -> Result<&'a str, Self::Wrong> {
        self.text(before, name, Text::Function)
    }
}

/// In front of the first field of RCU's events: the flavour.
const RCU: &str = "rcu_preempt ";

/// The event of this name.
#[inline(always)]
pub(super) fn decode<'a, S: Source<'a>>(name: &'a str, it: &mut S) -> Result<Event<'a>, S::Wrong> {
    match name.starts_with("rcu_") {
        true => of_rcu(name, it),
        false => of_others(name, it),
    }
}

/// By length first: most comparisons are never made.
#[inline(always)]
fn of_others<'a, S: Source<'a>>(name: &'a str, it: &mut S) -> Result<Event<'a>, S::Wrong> {
    let event = match name.len() {
        8 if name == "cpu_idle" => {
            let state = it.signed("state=", "state")?;
            Event::idle(state, it.cpu(" cpu_id=", "cpu_id")?)
        }
        12 if name == "sched_switch" => {
            let prev = it.text("prev_comm=", "prev_comm", Text::Task(" prev_pid"))?;
            let prev_pid = it.small("=", "prev_pid")?;
            it.skip(" prev_prio=")?;
            let state = it.text(" prev_state=", "prev_state", Text::State)?;
            let next = it.text(" ==> next_comm=", "next_comm", Text::Task(" next_pid"))?;
            let next_pid = it.small("=", "next_pid")?;
            it.skip(" next_prio=")?;
            Event::Switch {
                prev,
                prev_pid,
                state,
                next,
                next_pid,
            }
        }
        12 if name == "sched_wakeup" => wakeup(it, false)?,
        12 if name == "sched_waking" => {
            let task = it.text("comm=", "comm", Text::Task(" pid"))?;
            let pid = it.small("=", "pid")?;
            it.skip(" prio=")?;
            let target = it.cpu(" target_cpu=", "target_cpu")?;
            Event::Waking { task, pid, target }
        }
        16 if name == "sched_wakeup_new" => wakeup(it, true)?,
        12 if name == "softirq_exit" => Event::SoftirqExit {
            vec: it.small("vec=", "vec")?,
        },
        13 if name == "softirq_entry" => Event::Softirq {
            vec: it.small("vec=", "vec")?,
        },
        18 if name == "timer_expire_entry" => {
            it.skip("timer=")?;
            Event::Timer {
                function: it.function(" function=", "function")?,
                jiffies: it.number(" now=", "now", Number::Plain)?,
                base: it.last(" baseclk=", "baseclk")?,
            }
        }
        20 if name == "hrtimer_expire_entry" => {
            it.skip("hrtimer=")?;
            let function = it.function(" function=", "function")?;
            let now_ns = it.number(" now=", "now", Number::Plain)?;
            match function {
                // It could be the tick's.
                _ if function.starts_with("0x") => return Err(Fault::Address.into()),
                _ if TICKS.contains(&function) => Event::Tick { now_ns },
                _ => Event::Hrtimer { function },
            }
        }
        _ => return rare(name, it),
    };
    it.end()?;
    Ok(event)
}

#[inline(always)]
fn wakeup<'a, S: Source<'a>>(it: &mut S, new: bool) -> Result<Event<'a>, S::Wrong> {
    let task = it.text("comm=", "comm", Text::Task(" pid"))?;
    let pid = it.small("=", "pid")?;
    it.skip(" prio=")?;
    Ok(Event::Wakeup {
        task,
        pid,
        target: it.cpu(" target_cpu=", "target_cpu")?,
        new,
    })
}

/// Events that a trace has few of, and those that are not decoded. Each ends with a word.
#[inline]
fn rare<'a, S: Source<'a>>(name: &'a str, it: &mut S) -> Result<Event<'a>, S::Wrong> {
    Ok(match name {
        "print" | "tracing_mark_write" => {
            let text = it.text("", "buf", Text::Whole)?;
            // trace-cmd puts the writer's name before the text.
            Event::Mark {
                text: text.strip_prefix("tracing_mark_write: ").unwrap_or(text),
            }
        }
        "tick_stop" => Event::TickStop {
            stopped: it.small::<u8>("success=", "success")? != 0,
            dependency: it.text(" dependency=", "dependency", Text::Dependency)?,
        },
        "workqueue_execute_start" => {
            it.skip("work struct ")?;
            Event::Work {
                function: it.function(" function ", "function")?,
            }
        }
        "kernel_stack" | "<stack trace>" => Event::Stack {
            frames: it.text("", "caller", Text::Stack)?,
        },
        "sys_enter" => Event::SysEnter {
            call: it.word("NR ", "id")?,
        },
        "sys_exit" => Event::SysExit,
        _ if name.starts_with("sys_") => syscall(name, it)?,
        _ => Event::Other,
    })
}

/// Of one call `sys_enter_unlink: …`, `sys_exit_unlink: …`; and as the kernel itself prints it
/// `sys_unlink(pathname: …)`, `sys_unlink -> 0x0`.
fn syscall<'a, S: Source<'a>>(name: &'a str, it: &mut S) -> Result<Event<'a>, S::Wrong> {
    if name.starts_with("sys_exit_") {
        return Ok(Event::SysExit);
    }
    if let Some(call) = name.strip_prefix("sys_enter_") {
        return Ok(Event::SysEnter { call });
    }
    let text = it.text("", "", Text::Whole)?;
    if text.starts_with("-> ") {
        return Ok(Event::SysExit);
    }
    let call = match name.split_once('(') {
        Some((name, _)) => name.strip_prefix("sys_"),
        None => name.strip_prefix("sys_").filter(|_| text.starts_with('(')),
    };
    Ok(call.map_or(Event::Other, |call| Event::SysEnter { call }))
}

#[inline(always)]
fn of_rcu<'a, S: Source<'a>>(name: &'a str, it: &mut S) -> Result<Event<'a>, S::Wrong> {
    let event = match name.len() {
        7 if name == "rcu_fqs" => {
            it.skip(RCU)?;
            Event::Scan {
                cpu: it.cpu(" ", "cpu")?,
                what: it.word(" ", "qsevent")?,
            }
        }
        11 if name == "rcu_barrier" => Event::Barrier {
            what: it.word(RCU, "s")?,
        },
        13 if name == "rcu_sr_normal" => {
            it.skip("rcu_preempt rhp=")?;
            Event::Synchronize {
                what: it.word(" event=", "srevent")?,
            }
        }
        13 if name == "rcu_nocb_wake" => Event::NocbWake {
            cpu: it.cpu(RCU, "cpu")?,
            what: it.word(" ", "reason")?,
        },
        16 if name == "rcu_grace_period" => Event::GracePeriod {
            seq: it.signed(RCU, "gp_seq")?,
            what: it.word(" ", "gpevent")?,
        },
        20 if name == "rcu_exp_grace_period" => Event::Expedited {
            seq: it.signed(RCU, "gpseq")?,
            what: it.word(" ", "gpevent")?,
        },
        21 if name == "rcu_grace_period_init" => {
            it.skip(RCU)?;
            let (level, first_cpu) = (it.small(" ", "level")?, it.cpu(" ", "grplo")?);
            it.skip(" ")?;
            Event::NodeInit {
                level,
                first_cpu,
                mask: it.bits(" ", "qsmask")?,
            }
        }
        23 if name == "rcu_future_grace_period" => {
            it.skip(RCU)?;
            let wanted = it.signed(" ", "gp_seq_req")?;
            // The node: its level, its first and last CPU.
            it.skip(" ")?;
            it.skip(" ")?;
            it.skip(" ")?;
            Event::FutureGp {
                wanted,
                what: it.word(" ", "gpevent")?,
            }
        }
        26 if name == "rcu_quiescent_state_report" => {
            it.skip(RCU)?;
            Event::Report {
                cleared: it.bits(" ", "mask")?,
                left: it.bits(">", "qsmask")?,
                level: it.small(" ", "level")?,
                first_cpu: it.cpu(" ", "grplo")?,
            }
        }
        _ => return of_callbacks(name, it),
    };
    it.end()?;
    Ok(event)
}

#[inline(always)]
fn of_callbacks<'a, S: Source<'a>>(name: &'a str, it: &mut S) -> Result<Event<'a>, S::Wrong> {
    const HEAD: &str = "rcu_preempt rhp=";
    let event = match name.len() {
        12 if name == "rcu_callback" => Event::Callback {
            head: it.bits(HEAD, "rhp")?,
            function: it.function(" func=", "func")?,
        },
        13 if name == "rcu_batch_end" => Event::BatchEnd {
            invoked: it.number(
                "rcu_preempt CBs-invoked=",
                "callbacks_invoked",
                Number::Callbacks,
            )?,
        },
        15 if name == "rcu_batch_start" => Event::BatchStart {
            callbacks: it.number("rcu_preempt CBs=", "qlen", Number::Callbacks)?,
        },
        18 | 19 if matches!(name, "rcu_kvfree_callback" | "rcu_kfree_callback") => Event::Kvfree {
            head: it.bits(HEAD, "rhp")?,
        },
        19 if name == "rcu_invoke_callback" => Event::Invoke {
            head: it.bits(HEAD, "rhp")?,
            function: it.function(" func=", "func")?,
        },
        25 | 26
            if matches!(
                name,
                "rcu_invoke_kvfree_callback" | "rcu_invoke_kfree_callback"
            ) =>
        {
            Event::InvokeKvfree {
                head: it.bits(HEAD, "rhp")?,
            }
        }
        30 if name == "rcu_invoke_kfree_bulk_callback" => {
            it.skip("rcu_preempt bulk=")?;
            Event::InvokeBulk {
                records: it.number(" nr_records=", "nr_records", Number::Plain)?,
            }
        }
        _ => return Ok(Event::Other),
    };
    it.end()?;
    Ok(event)
}
