//! What a run has shown of idle states.

use super::package::{Cause, Who};
use super::power::Profile;
use super::{Book, Idling};
use crate::film::Span;
use crate::machine::Machine;

/// The times at which one column of the histogram of idle times ends and the next begins, in nanoseconds.
pub const EDGES: [u64; 18] = {
    let mut edges = [0; 18];
    let (mut at, mut unit) = (0, 10_000);
    while at < 18 {
        edges[at] = unit;
        edges[at + 1] = 2 * unit;
        edges[at + 2] = 5 * unit;
        unit *= 10;
        at += 3;
    }
    edges
};

/// A state, and how much of the time something was in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Its name, with the kind's of CPU before it where there are several.
    pub name: String,
    /// The time in it, in nanoseconds: of all CPUs, or cores, of the kind together.
    pub ns: u64,
    /// The time of all of them, in whatever state.
    pub of_ns: u64,
    /// Times that it was entered.
    pub entries: u64,
    /// Times that whoever was in it was woken too early for it to be worth it.
    pub too_deep: u64,
    /// Times that the next deeper one would have been worth it.
    pub too_shallow: u64,
}

/// A column of the histogram of idle times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Idle times of at least this, in nanoseconds.
    pub from: u64,
    /// And below this; none for the last one.
    pub to: Option<u64>,
    /// How many.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub ns: u64,
}

/// Who kept the package out of a state, or woke it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct By {
    /// A thread, or what else it was, in words.
    pub thread: String,
    /// The callback's function, if it was about callbacks.
    pub function: Option<String>,
    /// It is RCU's.
    pub rcu: bool,
}

/// So long was the package kept out of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The state; deeper ones count as being in it.
    pub state: String,
    /// By whom.
    pub by: By,
    /// How long, in nanoseconds.
    pub ns: u64,
}

/// What it took, by a profile; in femtojoules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Energy {
    /// The profile's name.
    pub profile: String,
    /// Something in it was fitted to a published figure.
    pub fitted: bool,
    /// At least.
    pub low: u128,
    /// At most.
    pub high: u128,
    /// In so many nanoseconds.
    pub ns: u64,
}

impl Energy {
    /// Watts, at least and at most.
    pub fn watts(&self) -> (f64, f64) {
        let watts = |it: u128| it as f64 / 1e6 / self.ns.max(1) as f64;
        (watts(self.low), watts(self.high))
    }
}

/// What a run has shown of idle states, within its window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idled {
    /// The table's name.
    pub table: String,
    /// Nanoseconds of the window.
    pub ns: u64,
    /// States of CPUs: what each had asked for.
    pub cpus: Vec<Residency>,
    /// States of cores; empty where every CPU is one.
    pub cores: Vec<Residency>,
    /// States of the package.
    pub package: Vec<Residency>,
    /// How long CPUs were idle.
    pub periods: Vec<Period>,
    /// Who kept the package out of its states, the shallowest state first; within one, whoever did so longest.
    pub blocked: Vec<Blocked>,
    /// Wake-ups that ended the package's rest.
    pub breaks: Vec<(By, u64)>,
    /// What it took, if there is a profile.
    pub energy: Option<Energy>,
}

impl Idled {
    /// The share of the time that the package was in this state or a deeper one, in per cent.
    pub fn package_pct(&self, state: &str) -> f64 {
        let deeper = self.package.iter().skip_while(|it| it.name != state);
        100.0 * deeper.map(|it| it.ns).sum::<u64>() as f64 / self.ns.max(1) as f64
    }

    /// The time that the package was kept out of this state, in nanoseconds, by RCU or (`false`) by others.
    pub fn blocked_ns(&self, state: &str, rcu: bool) -> u64 {
        let those = self.blocked.iter();
        let those = those.filter(|it| it.state == state && it.by.rcu == rcu);
        those.map(|it| it.ns).sum()
    }
}

/// Idle times, by length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram([(u64, u64); EDGES.len() + 1]);

impl Histogram {
    pub fn add(&mut self, idle: u64) {
        let column = EDGES.partition_point(|&it| it <= idle);
        self.0[column].0 += 1;
        self.0[column].1 += idle;
    }

    fn shown(&self) -> Vec<Period> {
        let column = |(index, &(count, ns)): (usize, &(u64, u64))| Period {
            from: index.checked_sub(1).map_or(0, |it| EDGES[it]),
            to: EDGES.get(index).copied(),
            count,
            ns,
        };
        self.0.iter().enumerate().map(column).collect()
    }
}

impl Machine {
    /// What there is to show of idle states, if there are any.
    pub(crate) fn idled(&self) -> Option<Idled> {
        let mut idling = self.idling.clone()?;
        let window = (self.stats.from, self.stats.until);
        for cpu in 0..self.options.cpus {
            idling.closes(cpu, self.now, window);
        }
        for core in 0..idling.cores.len() {
            let it = &mut idling.cores[core];
            let kind = idling.cpus[it.threads[0] as usize].kind;
            idling.core_books[kind][it.slot].time += super::within(window, it.since, self.now);
        }
        idling.package.ends(self.now, window);
        let ns = super::within(window, 0, self.now);
        let mut all = Idled {
            table: idling.table.name.clone(),
            ns,
            periods: idling.periods.shown(),
            ..Idled::default()
        };
        all.cpus = idling.residencies(&idling.cpu_books);
        if !idling.cores.is_empty() {
            all.cores = idling.residencies(&idling.core_books);
        }
        all.package = idling.package_residencies(ns);
        let books = &idling.package.books;
        for depth in 1..=idling.package.deepest() {
            let those = books.blocked.iter().filter(|it| it.0.0 == depth);
            let mut those: Vec<Blocked> = those
                .map(|((_, cause), &ns)| Blocked {
                    state: idling.table.package_name(depth).into(),
                    by: self.by(*cause),
                    ns,
                })
                .collect();
            those.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.by.cmp(&b.by)));
            all.blocked.append(&mut those);
        }
        let breaks = books.breaks.iter();
        all.breaks = breaks
            .map(|(cause, &count)| (self.by(*cause), count))
            .collect();
        let profile = self.options.idle.power.as_deref();
        all.energy = profile.map(|it: &Profile| it.energy(&all, &idling.exits()));
        Some(all)
    }

    /// How deep the idle state is that `cpu` is in, from 1; 1 where there is no table of them.
    pub(crate) fn idle_depth(&self, cpu: u32) -> u8 {
        let slot = self.idling.as_ref().map(|it| it.cpus[cpu as usize].slot);
        slot.unwrap_or(1).clamp(1, 255) as u8
    }

    /// The names of the idle states of `cpu`, the shallowest first.
    pub(crate) fn idle_names(&self, cpu: u32) -> Vec<String> {
        let Some(idling) = &self.idling else {
            return Vec::new();
        };
        let kind = &idling.table.kinds[idling.cpus[cpu as usize].kind];
        kind.states.iter().map(|it| it.name.clone()).collect()
    }

    /// The package's states are filmed as well.
    pub(crate) fn film_package(&mut self, from: u64, until: u64) {
        if let Some(idling) = &mut self.idling {
            idling.package.film(from, until);
        }
    }

    /// What was filmed of them, and their names.
    pub(crate) fn filmed_package(&self) -> (Vec<Span<u8>>, Vec<String>) {
        let Some(idling) = &self.idling else {
            return Default::default();
        };
        let names = (0..=idling.package.deepest()).map(|it| idling.table.package_name(it).into());
        (idling.package.filmed(self.now), names.collect())
    }

    fn by(&self, cause: Cause) -> By {
        let (thread, rcu) = match cause.who {
            Who::Task(task) => (self.tasks[task].name.as_str(), self.is_rcus(task)),
            Who::TickForCallbacks => ("tick for callbacks", true),
            Who::Tick => ("tick", false),
            Who::Clock => ("clock of a stopped timer", true),
            Who::Look => ("look at callbacks", true),
            Who::Interrupt => ("interrupt", true),
            Who::Hotplug => ("hotplug", false),
            Who::Governor => ("governor", false),
            Who::End => ("end of the run", false),
        };
        By {
            thread: thread.into(),
            function: cause.func.map(|it| self.stats.funcs[it].name.clone()),
            rcu,
        }
    }
}

impl Idling {
    /// The time until now counts for `cpu`.
    fn closes(&mut self, cpu: u32, now: u64, window: super::Window) {
        let it = &self.cpus[cpu as usize];
        self.cpu_books[it.kind][it.slot].time += super::within(window, it.since, now);
    }

    fn residencies(&self, books: &[Vec<Book>]) -> Vec<Residency> {
        let mut all = Vec::new();
        for (kind, books) in books.iter().enumerate() {
            let of_ns = books.iter().map(|it| it.time).sum();
            let state = |(slot, book): (usize, &Book)| Residency {
                name: self.table.state_name(kind, slot),
                ns: book.time,
                of_ns,
                entries: book.entries,
                too_deep: book.too_deep,
                too_shallow: book.too_shallow,
            };
            all.extend(books.iter().enumerate().map(state));
        }
        all
    }

    fn package_residencies(&self, of_ns: u64) -> Vec<Residency> {
        let books = &self.package.books;
        let state = |depth: usize| Residency {
            name: self.table.package_name(depth).into(),
            ns: books.times[depth],
            of_ns,
            entries: match depth {
                0 => books.breaks.values().sum(), // each is a time in it
                depth => books.entries[depth],
            },
            too_deep: 0,
            too_shallow: 0,
        };
        (0..=self.package.deepest()).map(state).collect()
    }

    /// How often the package was woken from each of its states.
    fn exits(&self) -> Vec<(String, u64)> {
        let exits = self.package.books.exits.iter().enumerate();
        let exit =
            |(depth, &count): (usize, &u64)| (self.table.package_name(depth).to_owned(), count);
        exits.map(exit).collect()
    }
}
