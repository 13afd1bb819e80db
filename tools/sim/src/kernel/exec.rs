//! The next action of a CPU: interrupts, soft interrupts, tasks, the idle loop, in this order.
//!
//! A CPU does one piece of work after the other. A piece makes its changes at its beginning; then the CPU is
//! busy for its cost. Interrupts that arrive in this time are taken between two pieces; they cut short only a
//! program's computation. Within one tick the timers' soft interrupt comes before RCU's, and a task that
//! either of them woke runs after both.

use quiescent_kernel::CpuId;
use quiescent_kernel::tick::{At, Interrupted};

use crate::input::options::Smp;
use crate::kernel::cpu::Exec;
use crate::kernel::event::Event;
use crate::kernel::state::{Act, Machine, Rcu, System};
use crate::kernel::task::State;
use crate::kernel::wheel::Timer;
use crate::record::notes::{Level, NotePlace, address};

impl Machine {
    /// A piece of work is done.
    pub(crate) fn done(&mut self, cpu: CpuId) {
        let core = &mut self.sys.cores[cpu as usize];
        if std::mem::take(&mut core.hands_over) && !self.sys.waiting.is_empty() {
            return self.sys.waits(cpu);
        }
        if core.exec == Exec::Computing {
            core.left = 0;
            core.since = self.sys.now;
            if self.sys.options.smp == Smp::Parallel {
                return self.sys.poke(cpu);
            }
            core.exec = Exec::Running;
        }
        loop {
            let (length, exec) = match self.act(cpu) {
                Act::Again => continue,
                Act::Busy(length) => (length, Exec::Running),
                Act::Compute(_) if !self.rcu.enter_user(&mut self.sys, cpu) => continue,
                Act::Compute(length) => (length, Exec::Computing),
                Act::Halt => {
                    self.sys.cores[cpu as usize].exec = Exec::Halted;
                    self.sys.halts(cpu);
                    return self.sys.release(cpu);
                }
            };
            let faulty = self.sys.faulty.as_mut();
            let stands = faulty.map_or(0, |it| it.standstill(&self.sys.options));
            let until = self.sys.now + length + stands;
            let core = &mut self.sys.cores[cpu as usize];
            core.exec = exec;
            core.work += 1;
            core.since = self.sys.now;
            let work = core.work;
            self.sys.queue.put(until, Event::Done { cpu, work });
            return;
        }
    }

    fn act(&mut self, cpu: CpuId) -> Act {
        let from_user = self.rcu.leave_user(cpu);
        if self.sys.options.smp == Smp::Serial {
            self.sys.wheel.executes(cpu, self.sys.jiffy_now());
        }
        let core = &mut self.sys.cores[cpu as usize];
        let place = NotePlace {
            at: self.sys.now,
            cpu,
            task: core.current,
            level: Level::Task,
        };
        let counts = self.sys.stats.counts(self.sys.now);
        self.rcu.notes().go_to(place, counts);
        if core.has_irq() {
            return self.interrupt(cpu, from_user);
        }
        if std::mem::take(&mut core.soft_timers) {
            return self.rcu.timers(&mut self.sys, cpu);
        }
        if core.soft_rcu && !core.handed {
            return self.softirq_in_irq(cpu);
        }
        if std::mem::take(&mut core.in_irq) {
            self.sys.interrupted(cpu);
            self.rcu.look_after_full_tick(&mut self.sys, cpu);
            if std::mem::take(&mut self.sys.cores[cpu as usize].from_halt) {
                self.rcu
                    .text(|| format!("cpu_idle: state=4294967295 cpu_id={cpu}"));
                let watch = &mut self.rcu.watch[cpu as usize];
                watch.irq_exit();
                watch.idle_exit();
            }
        }
        let core = &mut self.sys.cores[cpu as usize];
        if std::mem::take(&mut core.sleeps) {
            return self.falls_asleep(cpu);
        }
        if core.dying {
            return self.dies(cpu);
        }
        let current = core.current;
        match current {
            Some(_) if self.can_give_way(cpu) => self.gives_way(cpu),
            Some(task) => self.run_task(cpu, task),
            None if self.sys.cores[cpu as usize].ready.is_empty() => {
                self.rcu.pass_idle(&mut self.sys, cpu)
            }
            None => self.switch(cpu, None),
        }
    }

    // Interrupts.

    fn interrupt(&mut self, cpu: CpuId, from_user: bool) -> Act {
        self.rcu.notes().level(Level::Irq);
        let core = &mut self.sys.cores[cpu as usize];
        if !core.in_irq {
            core.in_irq = true;
            core.begins_softirqs();
            core.irq_since = self.sys.now;
            core.from_halt = core.is_idle() && !self.rcu.watch[cpu as usize].is_watching();
            if core.from_halt {
                self.rcu.watch[cpu as usize].irq_enter();
                self.rcu.cleanup_after_idle(&mut self.sys, cpu);
            } else if !from_user {
                self.rcu.irq_in_kernel(cpu);
            }
        }
        let costs = self.sys.options.costs;
        let mut cost = 0;
        let core = &mut self.sys.cores[cpu as usize];
        let clock = core.tick || !core.alarms.is_empty();
        if core.tick {
            core.alarms.append(&mut core.deferred);
        }
        for (task, round) in std::mem::take(&mut core.alarms) {
            cost += costs.irq;
            if self.sys.tasks[task].round == round {
                self.sys.wake(&self.rcu, task, cpu);
            }
        }
        let core = &mut self.sys.cores[cpu as usize];
        if std::mem::take(&mut core.tick) {
            cost += costs.tick;
            self.rcu.tick(&mut self.sys, cpu);
        }
        if std::mem::take(&mut self.sys.cores[cpu as usize].ipi) {
            cost += costs.irq;
            if std::mem::take(&mut self.sys.cores[cpu as usize].exp_asked) {
                self.rcu.exp_interrupt(&mut self.sys, cpu);
            }
            if std::mem::take(&mut self.sys.cores[cpu as usize].barrier_asked) {
                self.barrier
                    .says(&self.rcu, "IRQ", None, self.barrier.engine.seq());
            }
        }
        if clock {
            self.sys.sets_clock(cpu);
        }
        Act::Busy(cost)
    }

    // Tasks.

    /// A context switch, to the task that was woken first; who had to give way comes after those.
    fn switch(&mut self, cpu: CpuId, from: Option<usize>) -> Act {
        self.rcu.note_switch(&mut self.sys, cpu, from);
        let core = &mut self.sys.cores[cpu as usize];
        let tasks = &self.sys.tasks;
        let woken = core.ready.iter().position(|&it| !tasks[it].gave_way);
        let next = core.ready.remove(woken.unwrap_or(0));
        let next = next.expect("a task is ready");
        self.sys.tasks[next].gave_way = false;
        core.current = Some(next);
        core.runs_since = self.sys.now;
        core.passing = false;
        core.resched = false;
        if std::mem::take(&mut core.idle) {
            let watch = &mut self.rcu.watch[cpu as usize];
            if !watch.is_watching() {
                watch.idle_exit();
            }
            if !self.rcu.is_full(cpu) && !self.sys.wheel.ticks(cpu) {
                self.sys.wheel.start_tick(cpu);
                self.sys.expect_jiffy();
                self.sys.sets_clock(cpu);
            }
        }
        self.rcu.look_after_full_tick(&mut self.sys, cpu);
        self.sys.tasks[next].cpu = Some(cpu);
        self.sys.say_switch(&self.rcu, cpu, Some(next));
        let rcus =
            self.sys.tasks[next].is_rcus() || from.is_some_and(|it| self.sys.tasks[it].is_rcus());
        self.switching(rcus)
    }

    /// Has the running task been asked to give way, and can it? Not in a section, in a kernel that cannot be
    /// preempted: it does so after it.
    fn can_give_way(&mut self, cpu: CpuId) -> bool {
        let can = self.sys.options.preempt || self.sys.depth(cpu) == 0;
        can && std::mem::take(&mut self.sys.cores[cpu as usize].resched)
    }

    /// The running task has been asked to give way.
    fn gives_way(&mut self, cpu: CpuId) -> Act {
        let core = &mut self.sys.cores[cpu as usize];
        let task = core.current.expect("it runs");
        if core.ready.is_empty() {
            self.rcu.note_switch(&mut self.sys, cpu, Some(task));
            return Act::Busy(self.sys.options.costs.switch);
        }
        // What was left of its work waits with it.
        self.sys.tasks[task].left = std::mem::take(&mut core.left);
        self.sys.tasks[task].gave_way = true;
        core.ready.push_back(task);
        self.sys.turn_ends(cpu);
        self.switch(cpu, Some(task))
    }

    /// The running task goes to sleep, unless it was woken meanwhile.
    fn falls_asleep(&mut self, cpu: CpuId) -> Act {
        let task = self.sys.cores[cpu as usize].current.expect("it runs");
        let it = &mut self.sys.tasks[task];
        if it.state == State::Awake {
            if std::mem::take(&mut it.woken) {
                return Act::Again;
            }
            it.state = State::Sleeping;
        }
        self.sys.turn_ends(cpu);
        let core = &mut self.sys.cores[cpu as usize];
        core.resched = false;
        if !core.ready.is_empty() {
            return self.switch(cpu, Some(task));
        }
        self.rcu.note_switch(&mut self.sys, cpu, Some(task));
        self.sys.say_switch(&self.rcu, cpu, None);
        self.switching(self.sys.tasks[task].is_rcus())
    }

    /// A switch to or from a task; one of RCU's threads is RCU's CPU time.
    fn switching(&mut self, rcus: bool) -> Act {
        let cost = self.sys.options.costs.switch;
        if rcus {
            self.sys.took(cost);
        }
        Act::Busy(cost)
    }
}

impl Rcu {
    fn tick(&mut self, sys: &mut System, cpu: CpuId) {
        self.text(|| {
            let timer = address(cpu, 0);
            format!(
                "hrtimer_expire_entry: hrtimer={timer} function=tick_nohz_handler now={}",
                sys.now
            )
        });
        if sys.options.smp == Smp::Serial {
            sys.wheel.counts(cpu, sys.jiffy_now());
        }
        let core = &mut sys.cores[cpu as usize];
        let idle = core.is_idle();
        core.ticked_in_idle = true;
        if self.is_full(cpu) {
            self.count_full_tick(sys, cpu);
        }
        let depth = sys.depth(cpu);
        let core = &mut sys.cores[cpu as usize];
        let computing = core.current.is_some() && core.left > 0 && depth == 0;
        let from = match (idle, computing) {
            (true, _) => Interrupted::Idle,
            (false, true) => Interrupted::User,
            (false, false) => Interrupted::Kernel,
        };
        if sys.counts() {
            let totals = &mut sys.stats.totals;
            totals.idle_ticks += u64::from(idle);
            totals.busy_ticks += u64::from(!idle);
        }
        sys.cores[cpu as usize].soft_timers = sys.wheel.has_due(cpu, sys.jiffies());
        // Tasks that share a CPU take turns, a tick each. The kernel's threads too: an rcuog whose leaf has
        // seen the end of a grace period looks again and again until its members' leaves have, and the thread
        // that shows it to them may be next.
        let core = &mut sys.cores[cpu as usize];
        core.resched |= core.current.is_some() && !core.ready.is_empty();
        let at = At {
            now: sys.engine_now(cpu),
            from,
            depth,
            // Without preemption no count says where the kernel could be preempted.
            held: !sys.options.preempt && from == Interrupted::Kernel,
            deferred_wake: self.owes_wake(cpu),
            // A tick that callbacks keep on serves them, as on any CPU.
            nohz_full: self.is_full(cpu) && self.cpus[cpu as usize].is_offloaded(),
            ..At::default()
        };
        let (global, cpus, _, view) = self.parts();
        let ticked = cpus[cpu as usize].tick(global, at, &view);
        let core = &mut sys.cores[cpu as usize];
        core.soft_rcu |= ticked.core.is_some();
        core.resched |= ticked.resched && core.current.is_some();
        if let (true, Some(task)) = (ticked.ask_unlock, core.current) {
            sys.tasks[task].sections.asked = true;
        }
    }

    /// The timers' soft interrupt.
    fn timers(&mut self, sys: &mut System, cpu: CpuId) -> Act {
        let now = sys.jiffies();
        self.notes().level(Level::Softirq);
        self.text(|| "softirq_entry: vec=1 [action=TIMER]".into());
        loop {
            let cores = &sys.cores;
            let ticking = |cpu: CpuId| {
                let core = &cores[cpu as usize];
                core.tick || core.soft_timers
            };
            let Some(timer) = sys.wheel.take_due(cpu, now, ticking) else {
                break;
            };
            let function = match timer {
                Timer::Wake(_) => "process_timeout",
                Timer::Group(_) => "do_nocb_deferred_wakeup_timer",
            };
            self.text(|| {
                let timer = address(cpu, 1);
                format!(
                    "timer_expire_entry: timer={timer} function={function} now={now} baseclk={now}"
                )
            });
            match timer {
                Timer::Wake(task) => sys.wake(self, task, cpu),
                Timer::Group(group) => {
                    let (.., groups, view) = self.parts();
                    let it = groups[group as usize].as_mut().expect("it has a timer");
                    let todo = it.timer_fired(now, &view);
                    self.carry_out(sys, cpu, Some(group), todo);
                }
            }
        }
        self.text(|| "softirq_exit: vec=1 [action=TIMER]".into());
        Act::Busy(sys.options.costs.timers)
    }
}

impl System {
    /// An interrupt and its soft interrupts are over: one more, and how long was that?
    fn interrupted(&mut self, cpu: CpuId) {
        if self.counts() {
            let length = self.now - self.cores[cpu as usize].irq_since;
            let (times, longest) = &mut self.stats.interruptions[cpu as usize];
            *times += 1;
            *longest = length.max(*longest);
        }
    }
}
