//! A run's figures of idle states.

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

/// A state, and the share of the time in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Its name, with the kind's of CPU before it where there are several.
    pub name: String,
    /// The time in it, in nanoseconds: of all CPUs, or cores, of the kind together.
    pub ns: u64,
    /// The time of all of them, in any state.
    pub of_ns: u64,
    /// Times that it was entered.
    pub entries: u64,
    /// Times that a CPU in it was woken before its target time.
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

/// The cause that kept the package out of a state, or woke it.
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
    /// The cause.
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
    /// States of CPUs: the requested ones.
    pub cpus: Vec<Residency>,
    /// States of cores; empty where every CPU is one.
    pub cores: Vec<Residency>,
    /// States of the package.
    pub package: Vec<Residency>,
    /// How long CPUs were idle.
    pub periods: Vec<Period>,
    /// The causes that kept the package out of its states, the shallowest state first; within one, the
    /// longest cause first.
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
pub(crate) struct Histogram([(u64, u64); EDGES.len() + 1]);

impl Histogram {
    pub fn add(&mut self, idle: u64) {
        let column = EDGES.partition_point(|&it| it <= idle);
        self.0[column].0 += 1;
        self.0[column].1 += idle;
    }

    pub fn shown(&self) -> Vec<Period> {
        let column = |(index, &(count, ns)): (usize, &(u64, u64))| Period {
            from: index.checked_sub(1).map_or(0, |it| EDGES[it]),
            to: EDGES.get(index).copied(),
            count,
            ns,
        };
        self.0.iter().enumerate().map(column).collect()
    }
}
