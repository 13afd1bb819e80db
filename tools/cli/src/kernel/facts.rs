//! The facts about this kernel, as far as they can be read, as the machine model's settings.
//!
//! Each fact has its source. A fact that a container hides, or that an older kernel does not have, is
//! assumed, with the reason; a file with an invalid content is an error, unless the setting is given. No file
//! shows which idle loop a kernel of 2026 has without a cpuidle driver, or whether CPUs really execute at the
//! same time. Both possibilities are kept ([`Facts::idle_loops`], [`Facts::smps`]), so that a prediction is a
//! range.

use quiescent_live::files::{Root, configured, cpu_list};
use quiescent_live::{Machine, Version};
use quiescent_report::Error;
use quiescent_sim::{IdleLoop, Options, Release, Smp, settings};
use serde_json::{Value, json};

const CPU: &str = "/sys/devices/system/cpu";
const RCUTREE: &str = "/sys/module/rcutree/parameters";
const WAKE_FROM_GP: &str = "rcu_normal_wake_from_gp";
/// The largest number of CPUs: the model's.
pub(super) const MOST_CPUS: usize = settings::MOST_CPUS as usize;

/// The sources of facts.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The files.
    pub root: Root,
    /// The step of the coarse clock: a tick, in nanoseconds.
    pub tick_ns: Option<u64>,
    /// CPUs on which this process may run, if no file has the number.
    pub cpus: usize,
}

impl Sources {
    /// This machine.
    pub fn here() -> Self {
        Sources {
            root: Root::here(),
            tick_ns: quiescent_live::coarse_tick_ns(),
            cpus: std::thread::available_parallelism().map_or(1, Into::into),
        }
    }
}

/// The known facts.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The list of facts.
    pub list: Vec<Fact>,
    /// The model's machine.
    pub options: Options,
    /// The idle loops that this kernel may have.
    pub idle_loops: Vec<IdleLoop>,
    /// Whether CPUs execute at the same time: both values, unless it is given.
    pub smps: Vec<Smp>,
    /// The machine's numbers of the CPUs that are on line; the model counts from 0.
    pub cpus: Vec<u32>,
    /// Properties that the model does not have.
    pub warnings: Vec<String>,
}

/// Reads the facts; `sets` are given settings of the model, which are not read.
///
/// # Errors
/// [`Error::Usage`] for an unknown setting; [`Error::Failed`] for a file with an invalid content: it names
/// the file, its content, and the remedy.
pub fn read(sources: &Sources, sets: &[(&str, &str)]) -> Result<Facts, Error> {
    // The given settings are checked before anything is read.
    let mut scratch = Options::kernel_6_12(u32::from(u16::MAX), 1000);
    let apply = |options: &mut Options, sets: &[(&str, &str)]| {
        settings::apply(options, sets).map_err(|why| Error::Usage(why.to_string()))
    };
    apply(&mut scratch, sets)?;
    let mut it = Reader {
        machine: Machine::read(sources.root.clone()),
        given: sets
            .iter()
            .filter_map(|set| Some(settings::find(set.0)?.key))
            .collect(),
        list: Vec::new(),
    };
    it.shown(
        "kernel",
        &it.machine.release.clone(),
        "/proc/sys/kernel/osrelease".into(),
        false,
    );
    let cpus = it.cpus(sources.cpus)?;
    it.hz(sources.tick_ns)?;
    it.parameters(cpus.len())?;
    it.offloaded(&cpus);
    let idle_loops = it.idle_loops();
    // What no parameter shows: the version decides it.
    for name in ["early_qs", "timer_migration", "wake_from_gp_latch"] {
        let why = format!("kernel {}, by its version", it.machine.release);
        it.add(Fact::assumed(name, it.default_of(name, cpus.len()), why));
    }
    let warnings = it.warnings();
    it.execution();
    let mut options = Options::kernel_6_12(cpus.len() as u32, 1000);
    let read: Vec<_> = it.list.iter().filter(|fact| fact.sets).collect();
    let read = read.iter().map(|fact| (fact.name, fact.value.as_str()));
    let all: Vec<_> = read.chain(sets.iter().copied()).collect();
    apply(&mut options, &all)?;
    for (key, value) in sets {
        let name = settings::find(key).map_or("", |setting| setting.key);
        it.list.push(Fact::read(name, value, "--set").shown_only());
    }
    let given = |key| it.given.contains(&key);
    Ok(Facts {
        idle_loops: match given("idle_loop") {
            true => vec![options.idle_loop],
            false => idle_loops,
        },
        smps: match given("smp") {
            true => vec![options.smp],
            false => vec![Smp::Parallel, Smp::Serial],
        },
        cpus: match given("cpus") {
            true => (0..options.cpus).collect(),
            false => cpus,
        },
        list: it.list,
        options,
        warnings,
    })
}

/// A text, and its place.
type Found = Option<(String, String)>;

/// What the text of a fact may be.
#[derive(Clone, Copy)]
enum Kind {
    Ticks,
    /// A switch that may be left to the version, whose default this is.
    Switch(&'static str),
    /// A count; anything above 0 is on.
    Count,
    FanOut,
}

impl Kind {
    const fn wanted(self) -> &'static str {
        match self {
            Kind::Ticks => "a number of ticks",
            Kind::Switch(_) => "0, 1 or -1",
            Kind::Count => "a number",
            Kind::FanOut => "a fan-out of 2 to 64",
        }
    }

    /// The value, and what to say behind the file's name; none if the text is not as wanted.
    fn value(self, text: &str) -> Option<(String, &'static str)> {
        let number = text.parse::<u64>().ok();
        match (self, text) {
            (Kind::Ticks, _) => Some(match number? {
                ticks @ 0..=100_000 => (ticks.to_string(), ""),
                _ => ("default".into(), ": not set"),
            }),
            (Kind::Switch(_), "0" | "N") => Some(("0".into(), "")),
            (Kind::Switch(_), "1" | "Y") => Some(("1".into(), "")),
            (Kind::Switch(usual), "-1") => Some((usual.into(), ": -1, by the number of CPUs")),
            (Kind::Switch(_), _) => None,
            (Kind::Count, _) => Some((u8::from(number? > 0).to_string(), "")),
            (Kind::FanOut, _) => {
                let number = number.filter(|it| (2..=64).contains(it))?;
                Some((number.to_string(), ""))
            }
        }
    }
}

/// Reads one fact after another.
struct Reader {
    machine: Machine,
    /// Settings that are given.
    given: Vec<&'static str>,
    list: Vec<Fact>,
}

impl Reader {
    fn add(&mut self, fact: Fact) {
        if !self.given.contains(&fact.name) {
            self.list.push(fact);
        }
    }

    /// A fact that is no setting.
    fn shown(&mut self, name: &'static str, value: &str, from: String, assumed: bool) {
        let fact = Fact::read(name, value, from);
        self.add(Fact { assumed, ..fact }.shown_only());
    }

    /// A fact that is in one place; `missing` where there is none.
    fn one(&mut self, kind: Kind, found: Found, missing: Fact) -> Result<(), Error> {
        let name = missing.name;
        let fact = match found {
            _ if self.given.contains(&name) => return Ok(()),
            None => missing,
            Some((text, place)) => match kind.value(&text) {
                Some((value, note)) => Fact::read(name, value, place + note),
                None => return Err(nonsense(&place, &text, kind.wanted(), name)),
            },
        };
        self.list.push(fact);
        Ok(())
    }

    fn line(&self, file: String) -> Found {
        Some((self.machine.root.line(&file)?, file))
    }

    fn configured(&self, name: &str) -> Found {
        let (text, file) = self.machine.config.as_ref()?;
        Some((
            configured(text, name)?.to_owned(),
            format!("{file}, {name}"),
        ))
    }

    fn cpus(&mut self, usable: usize) -> Result<Vec<u32>, Error> {
        if self.given.contains(&"cpus") {
            return Ok(vec![0]);
        }
        let file = format!("{CPU}/online");
        let Some((text, file)) = self.line(file.clone()) else {
            let why = format!("{file} cannot be read; this process may run on so many");
            self.add(Fact::assumed("cpus", usable, why));
            return Ok((0..usable as u32).collect());
        };
        let list = cpu_list(&text, MOST_CPUS).filter(|cpus| !cpus.is_empty());
        let list = list.ok_or_else(|| nonsense(&file, &text, "a list of CPUs", "cpus"))?;
        let possible = self.line(format!("{CPU}/possible"));
        let possible = possible.map_or(String::new(), |it| format!("; possible: {}", it.0));
        let from = format!("{file}: {text}{possible}");
        self.add(Fact::read("cpus", list.len(), from));
        Ok(list)
    }

    fn hz(&mut self, tick_ns: Option<u64>) -> Result<(), Error> {
        let clock = tick_ns.map(|ns| (1_000_000_000 + ns / 2) / ns);
        let fact = match (self.configured("CONFIG_HZ"), clock) {
            _ if self.given.contains(&"hz") => return Ok(()),
            (None, Some(hz)) => Fact::read("hz", hz, "resolution of CLOCK_MONOTONIC_COARSE"),
            (None, None) => Fact::assumed("hz", 250, "no configuration and no coarse clock"),
            (Some((text, place)), clock) => {
                let hz = text.parse::<u64>().ok().filter(|hz| *hz > 0);
                let hz = hz.ok_or_else(|| nonsense(&place, &text, "ticks a second", "hz"))?;
                let from = match clock {
                    Some(clock) if clock == hz => format!("{place}; and from the coarse clock"),
                    Some(_) => format!("CLOCK_MONOTONIC_COARSE; {place} says {hz}"),
                    None => place,
                };
                Fact::read("hz", clock.unwrap_or(hz), from)
            }
        };
        self.add(fact);
        Ok(())
    }

    /// What has a parameter, a switch of its own, or a word of the configuration.
    fn parameters(&mut self, cpus: usize) -> Result<(), Error> {
        let is_seen = self.machine.has_parameters("rcutree");
        let hidden = |name: &str, why: &str| match is_seen {
            true => format!("{RCUTREE} has no {name}{why}"),
            false => format!("{RCUTREE} cannot be read{why}"),
        };
        for name in ["jiffies_till_first_fqs", "jiffies_till_next_fqs"] {
            let why = hidden(name, "; the kernel's own number");
            let found = self.line(format!("{RCUTREE}/{name}"));
            self.one(Kind::Ticks, found, Fact::assumed(name, "default", why))?;
        }
        let usual = self.default_of(WAKE_FROM_GP, cpus);
        let is_new = self.machine.version() >= Some(Version::new(6, 17));
        let why = match is_new {
            true => "; from 6.17 on it is 1 up to 16 CPUs, from 7.2 on for any number",
            false => "; 0 was the default before 6.17",
        };
        let missing = match is_seen {
            true => Fact::read(WAKE_FROM_GP, 0, hidden(WAKE_FROM_GP, "")),
            false => Fact::assumed(WAKE_FROM_GP, usual, hidden(WAKE_FROM_GP, why)),
        };
        let found = self.line(format!("{RCUTREE}/{WAKE_FROM_GP}"));
        self.one(Kind::Switch(usual), found, missing)?;
        for name in ["rcu_expedited", "rcu_normal"] {
            let files = ["/sys/kernel", "/sys/module/rcupdate/parameters"];
            let found = files
                .iter()
                .find_map(|folder| self.line(format!("{folder}/{name}")));
            let why = format!("/sys/kernel/{name} cannot be read");
            self.one(Kind::Count, found, Fact::assumed(name, 0, why))?;
        }
        let leaf = self.line(format!("{RCUTREE}/rcu_fanout_leaf"));
        let inner = self.configured("CONFIG_RCU_FANOUT");
        for (name, found, usual) in [("rcu_fanout_leaf", leaf, 16), ("rcu_fanout", inner, 64)] {
            let missing = Fact::assumed(name, usual, "not to be read; the usual one");
            self.one(Kind::FanOut, found, missing)?;
        }
        Ok(())
    }

    /// The offloaded CPUs: their threads exist. Where threads are invisible, the command line is used.
    fn offloaded(&mut self, cpus: &[u32]) {
        let it = &self.machine;
        let own = it.offloaded();
        let assumed = own.is_none();
        let asked = it.asked("rcu_nocbs").or(it.asked("nohz_full"));
        let (own, from) = match (own, asked) {
            (Some(own), _) => (own, "threads rcuop/N in /proc"),
            _ if it.command.is_none() => (Vec::new(), "threads and command line are invisible"),
            (None, asked) => {
                let all = it.is_set("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == Some(true);
                let own = match asked {
                    Some("all") => cpus.to_vec(),
                    Some(list) => it.named(list).unwrap_or_default(),
                    None if all => cpus.to_vec(),
                    None => Vec::new(),
                };
                (own, "/proc/cmdline; the kernel's threads are invisible")
            }
        };
        // The model counts CPUs that are on line.
        let places = cpus.iter().enumerate().filter(|it| own.contains(it.1));
        let list: Vec<String> = places.map(|it| it.0.to_string()).collect();
        let value = match list.len() {
            0 => "none".to_owned(),
            n if n == cpus.len() => "all".to_owned(),
            _ => list.join(","),
        };
        let fact = Fact::read("rcu_nocbs", value, from);
        self.add(Fact { assumed, ..fact });
    }

    /// Up to 6.18 the tick stops at each idle entry. Later kernels may keep it for one tick more, without a
    /// cpuidle driver.
    fn idle_loops(&mut self) -> Vec<IdleLoop> {
        let file = format!("{CPU}/cpuidle/current_driver");
        let driver = self.machine.root.line(&file).filter(|it| !it.is_empty());
        let has_driver = driver.as_deref().is_some_and(|it| it != "none");
        let driver = driver.map_or(format!("{file} cannot be read"), |it| {
            format!("{file}: {it}")
        });
        let old = self
            .machine
            .version()
            .is_some_and(|it| it < Version::new(7, 0));
        let release = &self.machine.release;
        if has_driver || old {
            let why = match old {
                true => format!("kernel {release}, before 7.0; {driver}"),
                false => driver,
            };
            self.add(Fact::read("idle_loop", "classic", why));
            return vec![IdleLoop::Classic];
        }
        let why = format!("kernel {release}, {driver}: either is possible");
        self.shown("idle_loop", "classic or retain", why, true);
        vec![IdleLoop::Classic, IdleLoop::Retain]
    }

    /// The default of this kernel's version; of 6.12 if that is unknown.
    fn default_of(&self, name: &str, cpus: usize) -> &'static str {
        let number = |it| u16::try_from(it).unwrap_or(u16::MAX);
        let version = self.machine.version().unwrap_or(Version::new(6, 12));
        let release = Release(number(version.major), number(version.minor));
        let history = settings::HISTORY.iter().find(|it| it.key == name);
        let history = history.expect("the table has it");
        history.value(release, cpus as u32)
    }

    fn execution(&mut self) {
        let cpuinfo = self.machine.root.text("/proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo.lines().find(|it| it.starts_with("flags"));
        let mut flags = flags.unwrap_or_default().split_ascii_whitespace();
        let why = match flags.any(|it| it == "hypervisor") {
            true => "a virtual machine: its host decides",
            false => "hardware is parallel; a virtual machine's host decides",
        };
        self.shown("smp", "parallel or serial", why.into(), true);
    }

    /// The properties that the model does not have.
    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        let thread = super::place::gp_thread(&self.machine);
        let thread = thread.map(|it| (it.name == "rcu_preempt", format!("thread {}", it.name)));
        let preemptible = thread.or_else(|| {
            let (text, place) = self.configured("CONFIG_PREEMPT_RCU")?;
            Some((text == "y", place))
        });
        let assumed = preemptible.is_none();
        let unseen = (true, "neither thread nor configuration is visible".into());
        let (value, from) = preemptible.unwrap_or(unseen);
        let word = if value {
            "preemptible"
        } else {
            "not preemptible"
        };
        self.shown("readers", word, from, assumed);
        let it = &self.machine;
        if !value {
            warnings.push(
                "this kernel's RCU is not preemptible, the model's is: there a tick in the idle \
                 loop is a quiescent state"
                    .into(),
            );
        }
        if it.is_set("CONFIG_HZ_PERIODIC") == Some(true) || it.asked("nohz") == Some("off") {
            warnings
                .push("ticks of idle CPUs never stop on this kernel; in the model they do".into());
        }
        if let Some(list) = it.asked("nohz_full") {
            warnings.push(format!(
                "nohz_full={list}: the model's CPUs tick while a program runs"
            ));
        }
        if it.parameter("rcutree", "use_softirq").as_deref() == Some("N") {
            warnings.push(
                "use_softirq=N: RCU's soft interrupt is a thread here, in the model it is none"
                    .into(),
            );
        }
        warnings
    }
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name: that of a setting of the machine model where there is one.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The file, or the reason for the assumption.
    pub from: String,
    /// No file on this machine has it.
    pub assumed: bool,
    /// A setting of the model's machine follows it.
    pub sets: bool,
}

impl Fact {
    /// Read from `from`.
    pub fn read(name: &'static str, value: impl ToString, from: impl Into<String>) -> Self {
        Fact {
            name,
            value: value.to_string(),
            from: from.into(),
            assumed: false,
            sets: true,
        }
    }

    /// Could not be read, and assumed because of `why`.
    pub fn assumed(name: &'static str, value: impl ToString, why: impl Into<String>) -> Self {
        Fact {
            assumed: true,
            ..Fact::read(name, value, why)
        }
    }

    /// Shown only; the model has no such setting.
    pub fn shown_only(self) -> Self {
        Fact {
            sets: false,
            ..self
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({"name": self.name, "value": self.value, "from": self.from, "assumed": self.assumed})
    }
}

/// An error about a file with an invalid content: its path, its content, and the remedy.
pub fn nonsense(file: &str, content: &str, wanted: &str, setting: &str) -> Error {
    let shown: String = content.chars().take(60).collect();
    Error::failed(
        format!("{file}: `{}`", shown.escape_debug()),
        format!("this is not {wanted}"),
        &format!("is that a kernel's file? --set {setting}=VALUE replaces it"),
    )
}

#[cfg(test)]
mod tests;
