//! What RCU's threads cost in wake-ups, from events of the scheduler and of idle CPUs alone.
//!
//! **Wake-ups** are `sched_wakeup` events; where a trace has none, its `sched_waking` events stand for them.
//!
//! **Idle periods.** A CPU is idle from `cpu_idle` with a state, or, where it writes none, from a switch to
//! pid 0. A wake-up of a thread that is to run there ends the period (without `sched_wakeup`: the switch to
//! the thread does), as does any event of a task there. A period of all CPUs is one in which each CPU whose
//! state is known is idle. An interrupt that wakes no thread for its CPU ends the period, too; it is counted
//! when the CPU goes idle again.
//!
//! **Bounds.** Laziness delays grace periods that no task waits for: at most all wake-ups of the threads that
//! run grace periods and invoke callbacks are saved. Offloading moves RCU's work from interrupts of the CPU
//! that queued to threads: at most all interrupts that ended an idle period and woke no thread are saved, of
//! CPUs that are not offloaded yet.

use super::bounded::{ByCpu, named};
use super::findings::{Figure, Findings, Table, count};
use super::own::{Own, Tally};
use super::{Part, Seen, per_second};
use crate::base::map::Map;
use crate::base::names::key;
use crate::record::offloading::Offloading;
use crate::{Error, Event, Role, role};

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// RCU's threads by kind, and whether laziness can save their wake-ups.
    kinds: Map<String, (bool, Wakes)>,
    others: Wakes,
    cpus: ByCpu<Cpu>,
    /// CPUs of which the state is known, that are idle, and that are not in an interrupt either.
    known: u64,
    idle: u64,
    halted: u64,
    /// Wake-ups that ended an idle period, of any CPU: the number tells whether there was one in between.
    ends: u64,
    offloading: Offloading,
    /// There are such events.
    wakeup: bool,
    switch: bool,
    states: bool,
}

/// Wake-ups of one kind of thread.
#[derive(Debug, Default, Clone)]
struct Wakes {
    /// By `sched_wakeup`, and by `sched_waking`.
    by: [Tally; 2],
    ended: Tally,
    ended_all: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Busy,
    Halted,
    /// Idle but for an interrupt; whether it ended a period of all CPUs, and `ends` at that time.
    Interrupt(bool, u64),
}

#[derive(Debug, Default)]
struct Cpu {
    state: State,
    /// It writes `cpu_idle`.
    writes: bool,
    interrupted: u64,
    interrupted_all: u64,
}

impl State {
    fn is_idle(self) -> bool {
        matches!(self, State::Halted | State::Interrupt(..))
    }
}

impl Part for Summary {
    fn reset(&mut self) {
        self.kinds.clear();
        self.others = Wakes::default();
        for cpu in self.cpus.values_mut() {
            (cpu.interrupted, cpu.interrupted_all) = (0, 0);
        }
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let record = seen.record;
        self.offloading.see(record, seen.event);
        match *seen.event {
            Event::IdleEntry { cpu, .. } => self.enters(seen, cpu),
            Event::IdleExit { cpu } => {
                self.states = true;
                let state = &mut self.cpus.row(cpu).state;
                if matches!(state, State::Halted | State::Unknown) {
                    let all = self.halted == self.known;
                    self.set(cpu, State::Interrupt(all, self.ends));
                }
                self.cpus.row(cpu).writes = true;
            }
            Event::Switch { next, next_pid, .. } => {
                self.switch = true;
                let cpu = self.cpus.row(record.cpu);
                match next_pid {
                    0 if cpu.writes => {}
                    0 => self.set(record.cpu, State::Halted),
                    _ if self.wakeup => self.set(record.cpu, State::Busy),
                    pid => self.ends(seen, record.cpu, next, pid),
                }
            }
            _ if record.pid != 0 => self.set(record.cpu, State::Busy),
            _ if self.cpus.row(record.cpu).state == State::Unknown => {
                self.set(record.cpu, State::Halted);
            }
            _ => {}
        }
        match *seen.event {
            Event::Wakeup {
                task,
                pid,
                target,
                new,
            } => {
                self.wakeup = true;
                if !new {
                    self.wakes(seen, 0, (task, pid, target));
                    self.ends(seen, target, task, pid);
                } else if self.cpus.row(target).state.is_idle() {
                    self.set(target, State::Busy);
                }
            }
            Event::Waking { task, pid, target } => self.wakes(seen, 1, (task, pid, target)),
            _ => {}
        }
    }

    fn finish(self: Box<Self>, findings: &mut Findings, own: &Own) -> Result<(), Error> {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(name, (_, of))| (std::cmp::Reverse(self.n(of).n), *name));
        let (mut lazy, mut rcu) = (Wakes::default(), Wakes::default());
        for (_, (saved, of)) in &kinds {
            rcu.join(of);
            if *saved {
                lazy.join(of);
            }
        }
        let mut all = self.others.clone();
        all.join(&rcu);
        let total = self.n(&all).n;
        let mut table = Table::new("Wake-ups of RCU's threads, by kind", "", &["thread"]);
        let mut add = |name: &str, of: &Wakes| {
            let n = self.n(of);
            let part = (total > 0).then(|| n.n as f64 * 100.0 / total as f64);
            let [per_s, ended, ended_all] = self.rates(of, own);
            let figures = [
                ("wakeups", "wakeups", "count", count(n.n)),
                per_s,
                ("% of all", "wakeups_pct", "%", part),
                ended,
                ended_all,
            ];
            table.add(&[name], &figures);
        };
        kinds.iter().for_each(|(name, (_, of))| add(name, of));
        add("(RCU)", &rcu);
        add("(all)", &all);
        let title = "What settings could save, at most";
        let mut bounds = Table::new(title, "bound ", &["setting"]);
        bounds.add(&["laziness"], &self.rates(&lazy, own));
        let (interrupts, noted) = self.interrupts();
        let mut rates = self.rates(&interrupts, own);
        rates[0].3 = None;
        if !self.cpus.iter().any(|(_, cpu)| cpu.writes) {
            rates.iter_mut().for_each(|it| it.3 = None);
        }
        bounds.add(&["offloading"], &rates);
        // What a table means, if it is shown.
        if !bounds.is_empty() {
            findings.notes.extend([
                "laziness (rcu=lazy): all wake-ups for grace periods and callbacks; those for a task that \
                 waits remain"
                    .to_owned(),
                format!(
                    "offloading (rcu_nocbs): all interrupts that ended an idle period and woke no \
                     thread{noted}"
                ),
            ]);
        }
        findings.tables.extend([table, bounds]);
        let waking = "no sched_wakeup event: sched_waking was counted".to_owned();
        findings.notes.extend((!self.wakeup).then_some(waking));
        Ok(())
    }
}

impl Summary {
    /// The CPU's new state.
    fn set(&mut self, cpu: u32, state: State) {
        let before = std::mem::replace(&mut self.cpus.row(cpu).state, state);
        self.known += u64::from(before == State::Unknown);
        self.idle += u64::from(state.is_idle());
        self.idle -= u64::from(before.is_idle());
        self.halted += u64::from(state == State::Halted);
        self.halted -= u64::from(before == State::Halted);
    }

    fn enters(&mut self, seen: &Seen<'_>, number: u32) {
        self.states = true;
        let cpu = self.cpus.row(number);
        cpu.writes = true;
        if let State::Interrupt(all, ends) = cpu.state
            && seen.inside
            && seen.filter.cpu(number)
        {
            cpu.interrupted += 1;
            cpu.interrupted_all += u64::from(all && ends == self.ends);
        }
        self.set(number, State::Halted);
    }

    fn wakes(&mut self, seen: &Seen<'_>, by: usize, (task, pid, target): (&str, u32, u32)) {
        if let Some(of) = self.kind(seen, target, task, pid) {
            of.by[by].add(seen.record.cpu);
        }
    }

    /// A thread is to run on this CPU, which may be idle.
    fn ends(&mut self, seen: &Seen<'_>, cpu: u32, task: &str, pid: u32) {
        if !self.cpus.row(cpu).state.is_idle() {
            return;
        }
        let all = self.idle == self.known;
        self.set(cpu, State::Busy);
        self.ends += 1;
        if let Some(of) = self.kind(seen, cpu, task, pid) {
            of.ended.add(cpu);
            of.ended_all += u64::from(all);
        }
    }

    /// Where a thread that is to run there counts, if it does.
    fn kind(&mut self, seen: &Seen<'_>, cpu: u32, task: &str, pid: u32) -> Option<&mut Wakes> {
        let role = role(task);
        if !seen.wants(cpu, task, pid) {
            return None;
        }
        if role == Role::Other {
            return Some(&mut self.others);
        }
        let of = named(&mut self.kinds, key(task));
        of.0 = role != Role::OtherRcu;
        Some(&mut of.1)
    }

    fn n<'a>(&self, of: &'a Wakes) -> &'a Tally {
        &of.by[usize::from(!self.wakeup)]
    }

    fn rates(&self, of: &Wakes, own: &Own) -> [Figure; 3] {
        // Without either, nothing says that a thread ended a period.
        let known = self.switch || self.states && self.wakeup;
        let ended = own.rate(&of.ended).filter(|_| known);
        // Of a time that not all CPUs cover nothing is known of all of them.
        let ended_all = per_second(of.ended_all, own.window).filter(|_| known && own.is_whole());
        [
            ("per s", "wakeups_per_s", "1/s", own.rate(self.n(of))),
            ("end idle/s", "idle_ended_per_s", "1/s", ended),
            ("of all CPUs/s", "all_ended_per_s", "1/s", ended_all),
        ]
    }

    /// Interrupts of CPUs that are not offloaded, and a note on those that are.
    fn interrupts(&self) -> (Wakes, String) {
        let mut sum = Wakes::default();
        let (mut cpus, mut offloaded) = (0, 0);
        for (number, cpu) in self.cpus.iter().filter(|it| it.1.state != State::Unknown) {
            cpus += 1;
            if self.offloading.is(number) {
                offloaded += 1;
                continue;
            }
            sum.ended.add_n(number, cpu.interrupted);
            sum.ended_all += cpu.interrupted_all;
        }
        let noted = match offloaded {
            0 => String::new(),
            n => format!("; without {n} of {cpus} CPUs, which are offloaded already"),
        };
        (sum, noted)
    }
}

impl Wakes {
    fn join(&mut self, other: &Wakes) {
        self.by[0].join(&other.by[0]);
        self.by[1].join(&other.by[1]);
        self.ended.join(&other.ended);
        self.ended_all += other.ended_all;
    }
}

#[cfg(test)]
mod tests;
