//! Idle states of a machine: halting CPUs, their wake-ups, and the package.
//!
//! This exists only if a table of idle states was chosen (`idle_table`). Without one no code here runs.
//!
//! * **A CPU that goes idle** asks the governor, which knows the time to the CPU's next timer with the tick
//!   stopped, the time to the next tick, and how long the CPU was idle before. The governor chooses a state,
//!   and may keep the tick. Of the wheel's timers those count for which the CPU would set its clock: its own,
//!   and all others if its tick is the last to stop.
//! * **A CPU that wakes** does nothing during its state's exit latency; the first CPU to wake also waits for
//!   the package's. What arrives meanwhile is taken after that. To RCU the CPU is idle until then. The cause
//!   of the wake-up is recorded (`blame`).
//! * **The package** follows ([`package`](crate::idling::package)).
//!
//! A machine boots with all CPUs in their deepest states, as if they had been idle before; an offline CPU is
//! in its deepest state. A core is in the shallowest state of its threads. Time in a state runs from the halt
//! to the wake-up; the exit latency counts as [`BUSY`](crate::idling::BUSY). So the times of all states add
//! up to the whole time, for CPUs, for cores and for the package.

use quiescent_kernel::CpuId;
use quiescent_kernel::fast_no_hz::IdleNeeds;

use crate::input::options::Options;
use crate::kernel::state::System;
use crate::kernel::state::idling::{Book, IdleCore, IdleCpu, Idling, Ticks};

mod blame;
mod shown;

use crate::idling::governor::Ask;
use crate::idling::package::{Cause, Package, Who, Window, within};
use crate::idling::shown::Histogram;

impl Idling {
    /// Of a machine like this, if it has idle states.
    pub fn new(options: &Options) -> Option<Box<Idling>> {
        let setup = &options.idle;
        let table = setup.table.clone()?;
        let layout = table.layout(options.cpus);
        let books: Vec<Vec<Book>> = table
            .kinds
            .iter()
            .map(|it| vec![Book::default(); it.states.len() + 1])
            .collect();
        let limit = setup.package_limit.as_deref();
        let deepest = limit.and_then(|it| table.depth_of(it));
        let threads = table.kinds.iter().any(|it| it.threads > 1);
        let mut cores: Vec<IdleCore> = Vec::new();
        let slot = |kind: usize| table.kinds[kind].states.len();
        let cpu = |&(kind, core): &(usize, u32)| IdleCpu {
            kind,
            core: core as usize,
            slot: slot(kind),
            ..IdleCpu::default()
        };
        for (cpu, &(kind, core)) in layout.iter().enumerate().filter(|_| threads) {
            cores.resize_with(core as usize + 1, IdleCore::default);
            let core = &mut cores[core as usize];
            core.threads.push(cpu as CpuId);
            core.slot = slot(kind);
        }
        let deepest = deepest.unwrap_or(table.package.len());
        Some(Box::new(Idling {
            governor: setup.governor,
            limit: setup.latency_limit.unwrap_or(u64::MAX),
            cpus: layout.iter().map(cpu).collect(),
            cores,
            package: Package::new(options.cpus, &table.package, deepest),
            sent_for: None,
            cpu_books: books.clone(),
            core_books: books,
            periods: Histogram::default(),
            table,
        }))
    }

    /// What `cpu` has to wait for until it has woken up.
    pub fn take_latency(&mut self, cpu: CpuId) -> u64 {
        std::mem::take(&mut self.cpus[cpu as usize].latency)
    }

    /// `cpu` is in this slot from now on.
    fn moves(&mut self, cpu: CpuId, slot: usize, now: u64, window: Window) {
        let it = &mut self.cpus[cpu as usize];
        let (kind, core, before) = (it.kind, it.core, it.slot);
        self.cpu_books[kind][before].time += within(window, it.since, now);
        (it.slot, it.since) = (slot, now);
        let counts = u64::from(window.0 <= now && now < window.1);
        self.cpu_books[kind][slot].entries += counts;
        if self.cores.is_empty() {
            return;
        }
        let slots = self.cores[core].threads.iter();
        let shallowest = slots.map(|&it| self.cpus[it as usize].slot).min();
        let core = &mut self.cores[core];
        let shallowest = shallowest.unwrap_or(core.slot);
        if shallowest != core.slot {
            self.core_books[kind][core.slot].time += within(window, core.since, now);
            self.core_books[kind][shallowest].entries += counts;
            (core.slot, core.since) = (shallowest, now);
        }
    }

    /// `cpu` halts; the next timer of the whole machine is so far away.
    fn halts(&mut self, cpu: CpuId, now: u64, timer: u64, window: Window) {
        let it = &self.cpus[cpu as usize];
        let state = it.choice.state;
        let allows = self.table.kinds[it.kind].states[state].allows;
        self.moves(cpu, state + 1, now, window);
        self.package.idles(cpu, allows, now, timer, window);
    }

    /// Wakes `cpu`, which is halted.
    fn wakes(&mut self, cpu: CpuId, now: u64, period: u64, window: Window) {
        let it = &mut self.cpus[cpu as usize];
        let cause = it.because.take().unwrap_or(Cause::of(Who::Interrupt));
        let (idle, slot) = (now - it.since, it.slot);
        let kept = it.ticks == Ticks::Governor && cause.who == Who::Tick;
        it.menu.woke(idle, kept, period);
        let states = &self.table.kinds[it.kind].states;
        let state = &states[slot - 1];
        let (kind, allowed) = (it.kind, state.allows);
        let worth = |depth: usize| {
            let allows = states.iter().find(|it| it.allows >= depth);
            allows.map_or(u64::MAX, |it| it.target)
        };
        let woken = (cpu, allowed);
        let more = self.package.wakes(woken, cause, now, worth, window);
        self.cpus[cpu as usize].latency = state.exit + more;
        if window.0 <= now && now < window.1 {
            let book = &mut self.cpu_books[kind][slot];
            book.too_deep += u64::from(idle < state.target);
            let deeper = states.get(slot).is_some_and(|it| idle >= it.target);
            book.too_shallow += u64::from(deeper);
            self.periods.add(idle);
        }
        self.moves(cpu, 0, now, window);
    }
}

impl System {
    fn window_of(&self) -> Window {
        (self.stats.from, self.stats.until)
    }

    /// `cpu` goes idle, and knows so much about its tick: the governor chooses. Does it keep the tick?
    pub fn asks_governor(
        &mut self,
        cpu: CpuId,
        needs: IdleNeeds,
        soon: bool,
        clock: Option<u64>,
    ) -> bool {
        let Some(idling) = &self.idling else {
            return false;
        };
        let jiffy = self.jiffies();
        let period = self.options.jiffy_ns();
        let away = |at: u64| at.saturating_sub(self.now);
        let rung = self.cores[cpu as usize].rung;
        let clock = clock
            .into_iter()
            .chain(self.wheel.next_without_tick(cpu, rung));
        let clock = clock.map(|at| away(self.begins(at.max(jiffy + 1))));
        let timer = self.next_alarm(|it| it == cpu).map(away);
        let running = self.wheel.ticks(cpu);
        let ask = Ask {
            timer: clock.chain(timer).min().unwrap_or(u64::MAX),
            tick: away(self.begins(jiffy + 1)),
            stopped: !running && needs != IdleNeeds::Tick,
            needs_tick: needs == IdleNeeds::Tick || (running && soon),
            period,
            limit: idling.limit,
        };
        let idling = self.idling.as_mut().expect("it is there");
        let it = &mut idling.cpus[cpu as usize];
        let states = &idling.table.kinds[it.kind].states;
        it.choice = idling.governor.choose(&mut it.menu, &ask, states);
        it.ticks = match (needs, it.choice.keeps_tick) {
            (IdleNeeds::Tick, _) => Ticks::Callbacks,
            (_, true) => Ticks::Governor,
            _ if running && soon => Ticks::Timer,
            _ => Ticks::No,
        };
        it.choice.keeps_tick
    }

    /// `cpu` has halted.
    pub fn halts(&mut self, cpu: CpuId) {
        if self.idling.is_none() {
            return;
        }
        let next = self.wheel.next_jiffy(self.jiffies() + 1);
        let next = next.map(|jiffy| self.begins(jiffy));
        let (now, window) = (self.now, self.window_of());
        let offline = !self.cores[cpu as usize].online;
        let idling = self.idling.as_mut().expect("it is there");
        if offline {
            let it = &mut idling.cpus[cpu as usize];
            it.choice.state = idling.table.kinds[it.kind].states.len() - 1;
            it.ticks = Ticks::No;
        }
        let timer = self.alarms.first().map(|it| it.0);
        let timer = next.into_iter().chain(timer).min();
        let away = timer.map_or(u64::MAX, |at| at.saturating_sub(now));
        idling.halts(cpu, now, away, window);
    }

    /// Wakes `cpu`, which is halted.
    pub fn leaves_halt(&mut self, cpu: CpuId) {
        let (now, window) = (self.now, self.window_of());
        let period = self.options.jiffy_ns();
        if let Some(idling) = &mut self.idling {
            idling.wakes(cpu, now, period, window);
        }
    }
}

#[cfg(test)]
mod tests;
