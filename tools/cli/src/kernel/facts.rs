//! The facts about this kernel, as far as they can be read, as the machine model's settings.
//!
//! Each fact has its source. A fact that a container hides, or that an older kernel does not have, is
//! assumed, with the reason; a parameter with an invalid content is an error, unless the setting is given. No
//! file shows which idle loop a kernel of 2026 has without a cpuidle driver, or whether CPUs really execute
//! at the same time. Both possibilities are kept ([`Facts::idle_loops`], [`Facts::smps`]), so that a
//! prediction is a range.

use quiescent_live::files::configured;
use quiescent_live::{Machine, Task, Version, listed};
use quiescent_report::Error;
use quiescent_sim::{IdleLoop, Options, Release, Smp, settings};
use serde::Serialize;

const CPU: &str = "/sys/devices/system/cpu";
const RCUTREE: &str = "/sys/module/rcutree/parameters";
const WAKE_FROM_GP: &str = "rcu_normal_wake_from_gp";

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
    pub warnings: Vec<&'static str>,
}

/// Reads the facts; `sets` are given settings of the model, which are not read. This process may run on
/// `usable` CPUs.
///
/// # Errors
/// [`Error::Usage`] for an unknown setting; [`Error::Failed`] for a parameter with an invalid content: it
/// names the file, its content, and the remedy.
pub fn read(machine: &Machine, usable: usize, sets: &[(&str, &str)]) -> Result<Facts, Error> {
    let apply = |options: &mut Options, sets: &[(&str, &str)]| {
        settings::apply(options, sets).map_err(|why| Error::Usage(why.to_string()))
    };
    // The given settings are checked before anything is read.
    apply(&mut Options::kernel_6_12(u32::from(u16::MAX), 1000), sets)?;
    let key = |set: &(&str, &str)| settings::find(set.0).map_or("", |it| it.key);
    let mut it = Reader {
        machine,
        given: sets.iter().map(key).collect(),
        list: Vec::new(),
    };
    let release = fact("kernel", &machine.release, "/proc/sys/kernel/osrelease");
    it.add(release.shown_only());
    let cpus = it.cpus(usable);
    it.add(match &machine.hz {
        Some((hz, from)) => fact("hz", hz, from),
        None => fact("hz", 250, "no configuration and no coarse clock").assumed(),
    });
    it.parameters(cpus.len())?;
    it.offloaded(&cpus);
    let idle_loops = it.idle_loops();
    // What no parameter shows: the version decides it.
    for name in ["early_qs", "timer_migration", "wake_from_gp_latch"] {
        let why = format!("kernel {}, by its version", machine.release);
        it.add(fact(name, it.default_of(name, cpus.len()), why).assumed());
    }
    it.readers();
    let why = "hardware is parallel; a virtual machine's host decides";
    let smp = fact("smp", "parallel or serial", why).assumed();
    it.add(smp.shown_only());
    let mut options = Options::kernel_6_12(cpus.len() as u32, 1000);
    let read = it.list.iter().filter(|fact| fact.sets);
    let read = read.map(|fact| (fact.name, fact.value.as_str()));
    apply(
        &mut options,
        &read.chain(sets.iter().copied()).collect::<Vec<_>>(),
    )?;
    let given = sets.iter().map(|set| fact(key(set), set.1, "--set"));
    let list = it.list.into_iter().chain(given).collect();
    let given = |key| it.given.contains(&key);
    Ok(Facts {
        list,
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
        options,
        warnings: WARNINGS
            .iter()
            .filter_map(|(is_so, text)| is_so(machine).then_some(*text))
            .collect(),
    })
}

/// What the text of a fact may be: in words, and its value; an empty one is the version's default.
struct Kind(&'static str, fn(&str) -> Option<String>);

const TICKS: Kind = Kind("a number of ticks", |text| {
    let ticks = text.parse::<u64>().ok()?;
    // More than that is `-1`: the kernel's own number.
    Some(match ticks {
        0..=100_000 => ticks.to_string(),
        _ => "default".into(),
    })
});

const SWITCH: Kind = Kind("0, 1 or -1", |text| match text {
    "0" | "N" => Some("0".into()),
    "1" | "Y" => Some("1".into()),
    "-1" => Some(String::new()),
    _ => None,
});

const COUNT: Kind = Kind("a number", |text| {
    let number = text.parse::<u64>().ok()?;
    Some(u8::from(number > 0).to_string())
});

const FAN_OUT: Kind = Kind("a fan-out of 2 to 64", |text| {
    let number = text.parse::<u64>().ok()?;
    (2..=64).contains(&number).then(|| number.to_string())
});

/// Folders with the same parameters, one as good as the other.
const EXPEDITED: &[&str] = &["/sys/kernel", "/sys/module/rcupdate/parameters"];

/// Parameters that a kernel shows: name, folders, what it may be, and what is assumed; nothing: the version
/// decides.
const PARAMETERS: [(&str, &[&str], Kind, &str); 6] = [
    ("jiffies_till_first_fqs", &[RCUTREE], TICKS, "default"),
    ("jiffies_till_next_fqs", &[RCUTREE], TICKS, "default"),
    (WAKE_FROM_GP, &[RCUTREE], SWITCH, ""),
    ("rcu_expedited", EXPEDITED, COUNT, "0"),
    ("rcu_normal", EXPEDITED, COUNT, "0"),
    ("rcu_fanout_leaf", &[RCUTREE], FAN_OUT, "16"),
];

/// Reads one fact after another.
struct Reader<'a> {
    machine: &'a Machine,
    /// Settings that are given.
    given: Vec<&'static str>,
    list: Vec<Fact>,
}

impl Reader<'_> {
    fn add(&mut self, fact: Fact) {
        if !self.given.contains(&fact.name) {
            self.list.push(fact);
        }
    }

    fn cpus(&mut self, usable: usize) -> Vec<u32> {
        let online = self.machine.online.clone().filter(|it| !it.is_empty());
        let possible = self.machine.possible.as_deref().unwrap_or_default();
        let Some(cpus) = online else {
            let why = format!("{CPU}/online cannot be read; this process may run on so many");
            self.add(fact("cpus", usable, why).assumed());
            return (0..usable as u32).collect();
        };
        let (online, possible) = (listed(&cpus), listed(possible));
        let from = format!("{CPU}/online: {online}; possible: {possible}");
        self.add(fact("cpus", cpus.len(), from));
        cpus
    }

    fn parameters(&mut self, cpus: usize) -> Result<(), Error> {
        let machine = self.machine;
        for (name, folders, kind, usual) in PARAMETERS {
            let files = folders.iter().map(|folder| format!("{folder}/{name}"));
            let mut found = files.filter_map(|file| Some((machine.root.line(&file)?, file)));
            let found = found.next();
            let (folder, by_version) = (folders[0], usual.is_empty());
            // A kernel before 6.17 may lack this parameter; then it does not wake so.
            if by_version && found.is_none() && machine.root.has(folder) {
                self.add(fact(name, 0, format!("{folder} has no {name}")));
                continue;
            }
            let why = format!("{folder}/{name} cannot be read");
            let missing = match by_version {
                true => {
                    let why = format!("{why}; by the version: kernel {}", machine.release);
                    fact(name, self.default_of(name, cpus), why)
                }
                false => fact(name, usual, why),
            };
            self.one(kind, found, missing.assumed())?;
        }
        let config = machine.config.as_ref();
        let found = config.and_then(|(text, file)| {
            let name = "CONFIG_RCU_FANOUT";
            Some((
                configured(text, name)?.to_owned(),
                format!("{file}, {name}"),
            ))
        });
        let missing = fact("rcu_fanout", 64, "not to be read; the usual one").assumed();
        self.one(FAN_OUT, found, missing)
    }

    /// A fact that is in one place: its text, and the place; `missing` where there is none.
    fn one(
        &mut self,
        Kind(wanted, value): Kind,
        found: Option<(String, String)>,
        missing: Fact,
    ) -> Result<(), Error> {
        let name = missing.name;
        let fact = match found {
            _ if self.given.contains(&name) => return Ok(()),
            None => missing,
            Some((text, place)) => match value(&text) {
                Some(value) if value.is_empty() => {
                    fact(name, missing.value, place + ": -1, by the number of CPUs")
                }
                Some(value) => fact(name, value, place),
                None => return Err(nonsense(&place, &text, wanted, name)),
            },
        };
        self.list.push(fact);
        Ok(())
    }

    /// The offloaded CPUs: their threads exist. Where threads are invisible, the command line is used.
    fn offloaded(&mut self, cpus: &[u32]) {
        let it = self.machine;
        let asked = it.asked("rcu_nocbs").or(it.asked("nohz_full"));
        let by_default = it.is_set("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == Some(true);
        let (own, from) = match (it.offloaded(), asked) {
            (Some(own), _) => (own, "threads rcuop/N in /proc"),
            _ if it.command.is_none() => (Vec::new(), "threads and command line are invisible"),
            (_, asked) => {
                let own = match asked {
                    Some("all") => cpus.to_vec(),
                    None if by_default => cpus.to_vec(),
                    Some(list) => it.named(list).unwrap_or_default(),
                    None => Vec::new(),
                };
                (own, "/proc/cmdline; the kernel's threads are invisible")
            }
        };
        // The model counts CPUs that are on line.
        let places = (0..).zip(cpus).filter(|it| own.contains(it.1));
        let places: Vec<u32> = places.map(|it| it.0).collect();
        let fact = fact("rcu_nocbs", listed(&places), from);
        self.add(match it.tasks {
            Some(_) => fact,
            None => fact.assumed(),
        });
    }

    /// Before 6.12 the tick stops at each idle entry. Later kernels may keep it for one tick more, without a
    /// cpuidle driver; stable updates brought that, so the version does not decide it.
    fn idle_loops(&mut self) -> Vec<IdleLoop> {
        let file = format!("{CPU}/cpuidle/current_driver");
        let driver = self.machine.root.line(&file).filter(|it| !it.is_empty());
        let version = self.machine.version();
        let old = version.is_some_and(|it| it < Version::new(6, 12));
        let has_driver = driver.as_deref().is_some_and(|it| it != "none");
        let driver = driver.unwrap_or("cannot be read".into());
        let why = format!("kernel {}; {file}: {driver}", self.machine.release);
        if old || has_driver {
            self.add(fact("idle_loop", "classic", why));
            return vec![IdleLoop::Classic];
        }
        let fact = fact(
            "idle_loop",
            "classic or retain",
            why + ": either is possible",
        );
        self.add(fact.assumed().shown_only());
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

    fn readers(&mut self) {
        let from = match (&self.machine.tasks, &self.machine.config) {
            (Some(_), _) => "the name of the grace-period thread",
            (_, Some((_, file))) => file,
            _ => "neither thread nor configuration is visible",
        };
        let fact = |value| fact("readers", value, from).shown_only();
        self.add(match is_preemptible(self.machine) {
            Some(true) => fact("preemptible"),
            Some(false) => fact("not preemptible"),
            None => fact("preemptible").assumed(),
        });
    }
}

fn is_preemptible(machine: &Machine) -> Option<bool> {
    let thread = machine.tasks.as_deref().and_then(Task::of_grace_periods);
    let by_name = thread.map(|it| it.name == "rcu_preempt");
    by_name.or_else(|| machine.is_set("CONFIG_PREEMPT_RCU"))
}

/// What a machine may be: a property that the model does not have.
type Property = (fn(&Machine) -> bool, &'static str);

const WARNINGS: [Property; 4] = [
    (
        |it| is_preemptible(it) == Some(false),
        "this kernel's RCU is not preemptible, the model's is: there a tick in the idle loop is a quiescent \
         state",
    ),
    (
        |it| it.is_set("CONFIG_HZ_PERIODIC") == Some(true) || it.asked("nohz") == Some("off"),
        "ticks of idle CPUs never stop on this kernel; in the model they do",
    ),
    (
        |it| it.asked("nohz_full").is_some(),
        "nohz_full: the model's CPUs tick while a program runs",
    ),
    (
        |it| it.parameter("rcutree", "use_softirq").as_deref() == Some("N"),
        "use_softirq=N: RCU's soft interrupt is a thread here, in the model it is none",
    ),
];

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(skip)]
    pub sets: bool,
}

/// Read from `from`.
fn fact(name: &'static str, value: impl ToString, from: impl Into<String>) -> Fact {
    Fact {
        name,
        value: value.to_string(),
        from: from.into(),
        assumed: false,
        sets: true,
    }
}

impl Fact {
    fn assumed(mut self) -> Self {
        self.assumed = true;
        self
    }

    /// The model has no such setting.
    fn shown_only(mut self) -> Self {
        self.sets = false;
        self
    }
}

/// An error about a file with an invalid content: its path, its content, and the remedy.
fn nonsense(file: &str, content: &str, wanted: &str, setting: &str) -> Error {
    let shown: String = content.chars().take(60).collect();
    Error::failed(
        format!("{file}: `{}`", shown.escape_debug()),
        format!("this is not {wanted}"),
        &format!("is that a kernel's file? --set {setting}=VALUE replaces it"),
    )
}

#[cfg(test)]
mod tests;
