//! What a CPU does next: interrupts, soft interrupts, tasks, the idle loop, in this order.
//!
//! A CPU does one piece of work after the other. What a piece changes, it changes at its beginning; then the CPU is busy
//! for what it costs. Interrupts that arrive meanwhile are taken between two pieces; what a program computes is the only
//! piece that they cut short. Within one tick the timers' soft interrupt comes before RCU's, and a task that either of them
//! woke runs after both (machine-facts, K2).

use quiescent_engine::CpuId;
use quiescent_engine::fast_no_hz::IdleNeeds;
use quiescent_engine::limits::{Around, Context};
use quiescent_engine::tick::{At, Interrupted};

use crate::cpu::Exec;
use crate::events::Event;
use crate::machine::Machine;
use crate::notes::{Level, Place, Softirq, What};
use crate::options::IdleLoop;
use crate::task::State;
use crate::wheel::Timer;

/// What comes after a piece of work was begun.
pub(crate) enum Act {
    /// It takes so long.
    Busy(u64),
    /// Nothing: on with the next.
    Again,
    /// A program computes for so long, unless it is interrupted.
    Compute(u64),
    /// The CPU halts.
    Halt,
}

impl Machine {
    /// A piece of work is done.
    pub(crate) fn done(&mut self, cpu: CpuId) {
        let core = &mut self.cores[cpu as usize];
        if core.exec == Exec::Computing {
            core.left = 0;
            core.since = self.now;
            return self.poke(cpu);
        }
        loop {
            let (length, exec) = match self.act(cpu) {
                Act::Again => continue,
                Act::Busy(length) => (length, Exec::Running),
                Act::Compute(length) => (length, Exec::Computing),
                Act::Halt => {
                    self.cores[cpu as usize].exec = Exec::Halted;
                    return self.release(cpu);
                }
            };
            let core = &mut self.cores[cpu as usize];
            core.exec = exec;
            core.work += 1;
            core.since = self.now;
            let work = core.work;
            self.queue.put(self.now + length, Event::Done { cpu, work });
            if exec == Exec::Computing {
                self.release(cpu);
            }
            return;
        }
    }

    fn act(&mut self, cpu: CpuId) -> Act {
        let core = &mut self.cores[cpu as usize];
        let place = Place {
            at: self.now,
            cpu,
            task: core.current,
            level: Level::Task,
        };
        self.rcu
            .told
            .notes
            .go_to(place, self.stats.counts(self.now));
        if core.has_irq() {
            return self.interrupt(cpu);
        }
        if std::mem::take(&mut core.soft_timers) {
            return self.timers(cpu);
        }
        if std::mem::take(&mut core.soft_rcu) {
            return self.softirq(cpu);
        }
        if std::mem::take(&mut core.in_irq) {
            self.interrupted(cpu);
            if std::mem::take(&mut self.cores[cpu as usize].from_halt) {
                self.rcu.told.notes.say(What::IdleExit);
                let watch = &mut self.rcu.watch[cpu as usize];
                watch.irq_exit();
                watch.idle_exit();
            }
        }
        let core = &mut self.cores[cpu as usize];
        if std::mem::take(&mut core.sleeps) {
            return self.falls_asleep(cpu);
        }
        match core.current {
            Some(_) if std::mem::take(&mut core.resched) => self.gives_way(cpu),
            Some(task) => self.run_task(cpu, task),
            None if core.ready.is_empty() => self.pass_idle(cpu),
            None => self.switch(cpu),
        }
    }

    // Interrupts.

    /// An interrupt and its soft interrupts are over: how long was that?
    fn interrupted(&mut self, cpu: CpuId) {
        if self.stats.counts(self.now) {
            let length = self.now - self.cores[cpu as usize].irq_since;
            let longest = &mut self.stats.interruptions[cpu as usize];
            *longest = length.max(*longest);
        }
    }

    fn interrupt(&mut self, cpu: CpuId) -> Act {
        self.rcu.told.notes.level(Level::Irq);
        let core = &mut self.cores[cpu as usize];
        if !core.in_irq {
            core.in_irq = true;
            core.irq_since = self.now;
            core.from_halt = core.is_idle() && !self.rcu.watch[cpu as usize].is_watching();
            if core.from_halt {
                self.rcu.watch[cpu as usize].irq_enter();
            }
        }
        let costs = self.options.costs;
        let mut cost = 0;
        for (task, round) in std::mem::take(&mut core.alarms) {
            cost += costs.irq;
            if self.tasks[task].round == round {
                self.wake(task, cpu);
            }
        }
        let core = &mut self.cores[cpu as usize];
        if std::mem::take(&mut core.tick) {
            cost += costs.tick;
            self.tick(cpu);
        }
        if std::mem::take(&mut self.cores[cpu as usize].ipi) {
            cost += costs.irq;
        }
        Act::Busy(cost)
    }

    fn tick(&mut self, cpu: CpuId) {
        self.rcu.told.notes.say(What::Tick);
        let core = &mut self.cores[cpu as usize];
        let idle = core.is_idle();
        core.ticked_in_idle = true;
        let computing = core.current.is_some() && core.left > 0;
        let from = match (idle, computing) {
            (true, _) => Interrupted::Idle,
            (false, true) => Interrupted::User,
            (false, false) => Interrupted::Kernel,
        };
        if self.stats.counts(self.now) {
            let totals = &mut self.stats.totals;
            *(if idle {
                &mut totals.idle_ticks
            } else {
                &mut totals.busy_ticks
            }) += 1;
        }
        self.cores[cpu as usize].soft_timers = self.wheel.has_due(cpu, self.jiffies());
        let at = At {
            now: self.engine_now(),
            from,
            deferred_wake: self.rcu.owes_wake(cpu),
            ..At::default()
        };
        let (global, cpus, _, view) = self.rcu.parts();
        let ticked = cpus[cpu as usize].tick(global, at, &view);
        let core = &mut self.cores[cpu as usize];
        core.soft_rcu |= ticked.core.is_some();
        core.resched |= ticked.resched && core.current.is_some();
    }

    /// The timers' soft interrupt.
    fn timers(&mut self, cpu: CpuId) -> Act {
        let now = self.jiffies();
        self.rcu.told.notes.level(Level::Softirq);
        self.rcu.told.notes.say(What::SoftirqEntry(Softirq::Timer));
        loop {
            let cores = &self.cores;
            let ticking = |cpu: CpuId| {
                let core = &cores[cpu as usize];
                core.tick || core.soft_timers
            };
            let Some(timer) = self.wheel.take_due(cpu, now, ticking) else {
                break;
            };
            self.rcu.told.notes.say(What::Timer { jiffies: now });
            match timer {
                Timer::Wake(task) => self.wake(task, cpu),
                Timer::Group(group) => {
                    let (.., groups, view) = self.rcu.parts();
                    let it = groups[group as usize].as_mut().expect("it has a timer");
                    let todo = it.timer_fired(now, &view);
                    self.carry_out(cpu, Some(group), todo);
                }
            }
        }
        self.rcu.told.notes.say(What::SoftirqExit(Softirq::Timer));
        Act::Busy(self.options.costs.timers)
    }

    /// RCU's soft interrupt.
    fn softirq(&mut self, cpu: CpuId) -> Act {
        self.rcu.told.notes.level(Level::Softirq);
        self.rcu.told.notes.say(What::SoftirqEntry(Softirq::Rcu));
        let (global, cpus, _, view) = self.rcu.parts();
        let it = &mut cpus[cpu as usize];
        let noticed = it.core(global, &view);
        let invokes = it.invokes();
        if noticed.wake_gp {
            self.wake(self.gp_thread, cpu);
        }
        let mut cost = self.options.costs.softirq;
        if invokes {
            cost += self.batch(cpu, cpu, Context::Softirq);
        }
        self.deliver_wake(cpu);
        let (_, cpus, _, view) = self.rcu.parts();
        cpus[cpu as usize].core_done(&view);
        self.rcu.told.notes.say(What::SoftirqExit(Softirq::Rcu));
        self.took(cost);
        self.stats.totals.softirqs += u64::from(self.stats.counts(self.now));
        Act::Busy(cost)
    }

    /// RCU has taken so much CPU time.
    pub(crate) fn took(&mut self, ns: u64) {
        if self.stats.counts(self.now) {
            self.stats.totals.rcu_ns += ns;
        }
    }

    /// A batch of `whose` callbacks, invoked on `cpu`. What it costs.
    pub(crate) fn batch(&mut self, whose: CpuId, cpu: CpuId, context: Context) -> u64 {
        let (global, cpus, _, view) = self.rcu.parts();
        let begun = cpus[whose as usize].begin_batch_traced(global, context, &view);
        let Some((range, batch)) = begun else {
            return 0;
        };
        let each = self.options.costs.callback;
        let mut invoked = 0;
        let all = range.end.wrapping_sub(range.start);
        while invoked < all {
            let core = &mut self.cores[whose as usize];
            let callback = core.fifo.pop_front().expect("it was queued");
            let (pos, func) = (core.fifo_base, callback.func);
            core.fifo_base += 1;
            self.stats.holds(self.now, func, false);
            self.rcu.told.notes.say(What::Invoke { whose, pos, func });
            if self.stats.counts(self.now) {
                let func = &mut self.stats.funcs[callback.func];
                func.invoked += 1;
                func.delays.push(self.now - callback.queued_at);
            }
            if let Some(task) = callback.wakes {
                self.wake(task, cpu);
            }
            invoked += 1;
            let core = &self.cores[cpu as usize];
            let around = Around {
                need_resched: !core.ready.is_empty(),
                idle: core.is_idle(),
                elapsed_ns: batch.wants_clock(invoked).then_some(invoked * each),
            };
            if batch.stops(invoked, around) {
                break;
            }
        }
        self.stats.totals.batches += u64::from(self.stats.counts(self.now));
        let core = &self.cores[cpu as usize];
        let around = Around {
            need_resched: !core.ready.is_empty(),
            idle: core.is_idle(),
            elapsed_ns: None,
        };
        let (global, cpus, _, view) = self.rcu.parts();
        let it = &mut cpus[whose as usize];
        let more = it.end_batch_traced(global, (range, context), invoked, around, &view);
        if it.member().group().is_none() {
            self.cores[whose as usize].soft_rcu |= more;
            return invoked * each;
        }
        let group = it.member().group();
        let after = it.batch_over(context, global, &view);
        if after.again && context == Context::Softirq {
            self.cores[whose as usize].soft_rcu = true;
        }
        self.carry_out(cpu, group, after.todo);
        invoked * each
    }

    /// A wake-up of an offload thread that was put off is made now.
    fn deliver_wake(&mut self, cpu: CpuId) {
        if !self.rcu.owes_wake(cpu) {
            return;
        }
        let group = self.rcu.group_of(cpu).expect("it owes a wake-up");
        let (.., groups, view) = self.rcu.parts();
        let it = groups[group as usize].as_mut().expect("it has a thread");
        let todo = it.deliver(cpu, &view);
        self.carry_out(cpu, Some(group), todo);
    }

    // Tasks.

    /// A context switch, to the task that was woken first.
    fn switch(&mut self, cpu: CpuId) -> Act {
        self.note_switch(cpu);
        let core = &mut self.cores[cpu as usize];
        let next = core.ready.pop_front().expect("somebody is ready");
        core.current = Some(next);
        core.passing = false;
        core.resched = false;
        if std::mem::take(&mut core.idle) {
            let watch = &mut self.rcu.watch[cpu as usize];
            if !watch.is_watching() {
                watch.idle_exit();
            }
            self.wheel.start_tick(cpu);
            self.expect_jiffy();
        }
        self.tasks[next].cpu = Some(cpu);
        self.say_switch(cpu, Some(next));
        Act::Busy(self.options.costs.switch)
    }

    fn say_switch(&self, cpu: CpuId, next: Option<usize>) {
        let state = |task: usize| self.tasks[task].state_letter();
        self.rcu.told.notes.switched(cpu, next, state);
    }

    /// RCU is told of a context switch.
    fn note_switch(&mut self, cpu: CpuId) {
        let (global, cpus, _, view) = self.rcu.parts();
        let answer = cpus[cpu as usize].context_switch(global, &view);
        if answer.momentary_eqs {
            self.rcu.watch[cpu as usize].momentary_eqs();
        }
    }

    /// The running task has been asked to give way.
    fn gives_way(&mut self, cpu: CpuId) -> Act {
        let core = &mut self.cores[cpu as usize];
        let task = core.current.expect("it runs");
        if core.ready.is_empty() {
            self.note_switch(cpu);
            return Act::Busy(self.options.costs.switch);
        }
        core.current = None;
        // What was left of its work waits with it.
        self.tasks[task].left = std::mem::take(&mut core.left);
        core.ready.push_back(task);
        self.switch(cpu)
    }

    /// The running task goes to sleep, unless it was woken meanwhile.
    fn falls_asleep(&mut self, cpu: CpuId) -> Act {
        let task = self.cores[cpu as usize].current.expect("it runs");
        let it = &mut self.tasks[task];
        if it.state == State::Awake {
            if std::mem::take(&mut it.woken) {
                return Act::Again;
            }
            it.state = State::Sleeping;
        }
        let core = &mut self.cores[cpu as usize];
        core.current = None;
        core.resched = false;
        if !core.ready.is_empty() {
            return self.switch(cpu);
        }
        self.note_switch(cpu);
        let core = &mut self.cores[cpu as usize];
        core.idle = true;
        core.ticked_in_idle = false;
        self.say_switch(cpu, None);
        Act::Busy(self.options.costs.switch)
    }

    // Idle.

    /// One pass of the idle loop.
    fn pass_idle(&mut self, cpu: CpuId) -> Act {
        if !std::mem::replace(&mut self.cores[cpu as usize].passing, true) {
            return Act::Busy(self.options.costs.idle);
        }
        self.cores[cpu as usize].passing = false;
        self.deliver_wake(cpu);
        if !self.cores[cpu as usize].ready.is_empty() {
            return Act::Again;
        }
        let now = self.jiffies();
        let (global, cpus, _, view) = self.rcu.parts();
        let look = cpus[cpu as usize].idle_needs(global, now, &view);
        if look.wake_gp {
            self.wake(self.gp_thread, cpu);
        }
        let core = &mut self.cores[cpu as usize];
        let needs_tick = match look.needs {
            IdleNeeds::Nothing | IdleNeeds::WakeIn(_) => false,
            IdleNeeds::Tick => true,
            IdleNeeds::Core => {
                core.soft_rcu = true;
                return Act::Again;
            }
        };
        let retains = self.options.idle_loop == IdleLoop::Retain && !core.ticked_in_idle;
        let rung = std::mem::take(&mut core.rung);
        let soon = self.wheel.next_own(cpu).is_some_and(|at| at <= now + 1);
        if needs_tick {
            self.wheel.start_tick(cpu);
        } else if !(self.wheel.ticks(cpu) && (retains || soon)) {
            self.wheel.stop_tick(cpu);
            if rung {
                self.wheel.look_after_all(cpu);
            }
        }
        self.expect_jiffy();
        self.stats.totals.idle_entries += u64::from(self.stats.counts(self.now));
        self.rcu.told.notes.say(What::IdleEnter);
        let watch = &mut self.rcu.watch[cpu as usize];
        if watch.is_watching() {
            watch.idle_enter();
        }
        Act::Halt
    }
}
