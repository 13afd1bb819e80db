//! A run as the text that a kernel's tracer prints, so that whatever reads a kernel's traces reads a
//! simulated one.
//!
//! RCU's events are the engine's and print themselves; scheduler, idle, soft interrupt, timer and (of tasks
//! that make some) system call events are the machine's, in the same layout. The clock is the machine's own,
//! in seconds with six digits. Two things are simpler than in a kernel: a wake-up is printed on the CPU that
//! wakes, not on the one that is interrupted for it, and everything that one piece of work does has the time
//! of its beginning. Addresses are positions: the engine holds no callbacks. The interrupt of `rcu_barrier`
//! (`IRQ`) comes after its `OnlineQ`: the caller has put the callback in its place already.

use std::io::{self, Write};

use quiescent_kernel::event::{CallbackEvent, Event};

use crate::kernel::machine::Machine;
use crate::record::notes::{Level, NotePlace, What, address};

/// The kernel's threads have numbers from here on, as the grace-period thread of a kernel has.
const FIRST_PID: usize = 15;

const HEAD: &str = "# tracer: nop
#
";

const COLUMNS: &str = "#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

impl Machine {
    /// From now on every event is kept, for [`write_trace`](Machine::write_trace). That takes memory: about a
    /// hundred bytes an event.
    pub fn keep_trace(&mut self) {
        self.rcu.notes().trace();
    }

    /// From now on system calls and callbacks are kept, and nothing else.
    pub(crate) fn keep_calls(&mut self) {
        self.rcu.notes().trace_calls();
    }

    /// What was kept.
    pub(crate) fn kept(&self) -> std::cell::Ref<'_, Vec<(NotePlace, What)>> {
        self.rcu.notes().lines()
    }

    /// The events that were kept, as a kernel's tracer prints them.
    ///
    /// ```
    /// use quiescent_sim::{Steps, Machine, Options};
    ///
    /// let mut machine = Machine::new(Options::kernel_6_12(2, 1000));
    /// machine.keep_trace();
    /// machine.spawn("caller", 1, 0, Steps::caller(1, 0));
    /// machine.run_tasks(1_000_000_000);
    /// let mut text = Vec::new();
    /// machine.write_trace(&mut text)?;
    /// assert!(String::from_utf8_lossy(&text).contains("rcu_grace_period: rcu_preempt -1199 start"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write_trace(&self, out: &mut impl Write) -> io::Result<()> {
        let lines = self.rcu.notes().lines();
        let (n, cpus) = (lines.len(), self.sys.options.cpus);
        write!(
            out,
            "{HEAD}# entries-in-buffer/entries-written: {n}/{n}   #P:{cpus}\n{COLUMNS}"
        )?;
        for (place, what) in lines.iter() {
            self.trace_place(out, *place)?;
            self.trace_what(out, *place, what)?;
        }
        out.flush()
    }

    /// What stands before the event.
    fn trace_place(&self, out: &mut impl Write, place: NotePlace) -> io::Result<()> {
        let NotePlace {
            at,
            cpu,
            task,
            level,
        } = place;
        let (name, pid) = match task {
            Some(_) => self.comm(task, cpu),
            None => ("<idle>".to_owned(), 0),
        };
        let flags = match (level, task) {
            (Level::Irq, _) => "d.h1.",
            (Level::Softirq, _) => "..s1.",
            (Level::Task, None) => "d..1.",
            (Level::Task, Some(_)) => ".....",
        };
        let us = at / 1000;
        let (seconds, us) = (us / 1_000_000, us % 1_000_000);
        write!(
            out,
            "{name:>16}-{pid:<7} [{cpu:03}] {flags} {seconds:>5}.{us:06}: "
        )
    }

    fn trace_what(&self, out: &mut impl Write, place: NotePlace, what: &What) -> io::Result<()> {
        let cpu = place.cpu;
        let callback = |whose, pos, func: usize| {
            let (rhp, func) = (address(whose, pos), &self.sys.stats.funcs[func].name);
            format!("rcu_preempt rhp={rhp} func={func}")
        };
        match *what {
            What::Rcu(event) => self.rcu_event(out, &event),
            What::Queued {
                whose,
                pos,
                func,
                n_cbs,
            } => {
                let it = callback(whose, pos, func);
                writeln!(out, "rcu_callback: {it} {n_cbs}")
            }
            What::Invoke { whose, pos, func } => {
                let it = callback(whose, pos, func);
                writeln!(out, "rcu_invoke_callback: {it}")
            }
            What::Wakeup { task, target } => {
                let (name, pid) = self.comm(Some(task), target);
                writeln!(
                    out,
                    "sched_wakeup: comm={name} pid={pid} prio=120 target_cpu={target:03}"
                )
            }
            What::Switch { prev, state, next } => {
                let ((prev, prev_pid), (next, next_pid)) =
                    (self.comm(prev, cpu), self.comm(next, cpu));
                writeln!(
                    out,
                    "sched_switch: prev_comm={prev} prev_pid={prev_pid} prev_prio=120 prev_state={state} ==> \
                     next_comm={next} next_pid={next_pid} next_prio=120"
                )
            }
            What::Text(ref text) => writeln!(out, "{text}"),
            What::SysEnter(name, argument) => {
                let number = name.number();
                writeln!(out, "sys_enter: NR {number} ({argument:x}, 0, 0, 0, 0, 0)")
            }
            What::SysExit(name) => writeln!(out, "sys_exit: NR {} = 0", name.number()),
        }
    }

    fn rcu_event(&self, out: &mut impl Write, event: &Event) -> io::Result<()> {
        debug_assert!(
            !matches!(
                event,
                Event::Callbacks(CallbackEvent::Queued { .. } | CallbackEvent::Invoke { .. })
            ),
            "these two are the host's"
        );
        writeln!(out, "{}: {}", event.name(), event.text("rcu_preempt"))
    }

    /// A task's name as traces have it, and its number; none is the idle task.
    fn comm(&self, task: Option<usize>, cpu: u32) -> (String, usize) {
        match task {
            Some(task) => {
                let name = self.sys.tasks[task].name.chars().take(15).collect();
                (name, FIRST_PID + task)
            }
            None => (format!("swapper/{cpu}"), 0),
        }
    }
}
