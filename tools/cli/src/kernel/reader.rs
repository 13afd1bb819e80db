//! Reads a kernel's facts one by one: each is read from its file, or assumed, or given.

use super::facts::{Fact, nonsense};
use quiescent_live::files::{Root, commanded, configured, cpu_list};
use quiescent_report::Error;
use quiescent_sim::{IdleLoop, Release, settings};

const CPU: &str = "/sys/devices/system/cpu";
const RCUTREE: &str = "/sys/module/rcutree/parameters";
/// The largest number of CPUs: the model's.
pub(super) const MOST_CPUS: usize = settings::MOST_CPUS as usize;

/// Reads one fact after another.
pub(super) struct Reader<'a> {
    root: &'a Root,
    sets: &'a [(&'a str, &'a str)],
    release: String,
    config: Option<(String, String)>,
    command: Option<String>,
    /// The names of the visible processes.
    threads: Vec<String>,
    pub list: Vec<Fact>,
}

impl<'a> Reader<'a> {
    pub fn new(root: &'a Root, sets: &'a [(&'a str, &'a str)]) -> Self {
        let release = root.line("/proc/sys/kernel/osrelease");
        let release = release.filter(|it| !it.is_empty());
        Reader {
            root,
            sets,
            config: root.config(release.as_deref().unwrap_or_default()),
            command: root.line("/proc/cmdline"),
            release: release.unwrap_or_else(|| "unknown".into()),
            threads: root.tasks().into_iter().map(|it| it.1).collect(),
            list: Vec::new(),
        }
    }

    pub fn given(&self, name: &str) -> bool {
        let key = |set: &&(&str, &str)| settings::find(set.0).map(|it| it.key);
        self.sets.iter().any(|set| key(&set) == Some(name))
    }

    fn add(&mut self, fact: Fact) {
        if !self.given(fact.name) {
            self.list.push(fact);
        }
    }

    /// Major and minor number of the kernel.
    fn version(&self) -> Option<(u32, u32)> {
        let mut parts = self.release.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    fn configured(&self, name: &str) -> Option<(&str, &str)> {
        let (text, file) = self.config.as_ref()?;
        Some((configured(text, name)?, file))
    }

    pub fn cpus(&mut self, usable: usize) -> Result<Vec<u32>, Error> {
        if self.given("cpus") {
            return Ok(vec![0]);
        }
        let file = format!("{CPU}/online");
        let Some(text) = self.root.line(&file) else {
            let why = format!("{file} cannot be read; this process may run on so many");
            self.add(Fact::assumed("cpus", usable, why));
            return Ok((0..usable as u32).collect());
        };
        let list = cpu_list(&text, MOST_CPUS).filter(|cpus| !cpus.is_empty());
        let list = list.ok_or_else(|| nonsense(&file, &text, "a list of CPUs", "cpus"))?;
        let possible = self.root.line(&format!("{CPU}/possible"));
        let possible = possible.map_or(String::new(), |it| format!("; possible: {it}"));
        let from = format!("{file}: {text}{possible}");
        self.add(Fact::read("cpus", list.len(), from));
        Ok(list)
    }

    pub fn hz(&mut self, tick_ns: Option<u64>) -> Result<(), Error> {
        if self.given("hz") {
            return Ok(());
        }
        let clock = tick_ns.map(|ns| (1_000_000_000 + ns / 2) / ns);
        let configured = self.configured("CONFIG_HZ");
        let configured = configured.map(|(text, file)| (text.to_owned(), file.to_owned()));
        let Some((text, file)) = configured else {
            let fact = match clock {
                Some(hz) => Fact::read("hz", hz, "resolution of CLOCK_MONOTONIC_COARSE"),
                None => Fact::assumed("hz", 250, "no configuration and no coarse clock"),
            };
            self.add(fact);
            return Ok(());
        };
        let hz = text.parse::<u64>().ok().filter(|hz| *hz > 0);
        let place = format!("{file}, CONFIG_HZ");
        let hz = hz.ok_or_else(|| nonsense(&place, &text, "ticks a second", "hz"))?;
        let fact = match clock {
            Some(clock) if clock == hz => {
                Fact::read("hz", hz, format!("{place}; and from the coarse clock"))
            }
            Some(clock) => {
                let from = format!("CLOCK_MONOTONIC_COARSE; {place} says {hz}");
                Fact::read("hz", clock, from)
            }
            None => Fact::read("hz", hz, place),
        };
        self.add(fact);
        Ok(())
    }

    /// A parameter of module rcutree, if it is visible.
    fn parameter(&self, name: &str) -> Option<(String, String)> {
        let file = format!("{RCUTREE}/{name}");
        Some((self.root.line(&file)?, file))
    }

    /// The reason why a parameter has no file.
    fn hidden(&self, name: &str) -> String {
        match self.root.has(RCUTREE) {
            true => format!("{RCUTREE} has no {name}"),
            false => format!("{RCUTREE} cannot be read"),
        }
    }

    pub fn wait(&mut self, name: &'static str) -> Result<(), Error> {
        if self.given(name) {
            return Ok(());
        }
        let Some((text, file)) = self.parameter(name) else {
            let why = self.hidden(name) + "; the kernel's own number";
            self.add(Fact::assumed(name, "default", why));
            return Ok(());
        };
        let wanted = "a number of ticks";
        let ticks: u64 = text
            .parse()
            .map_err(|_| nonsense(&file, &text, wanted, name))?;
        let fact = match ticks {
            0..=100_000 => Fact::read(name, ticks, file),
            _ => Fact::read(name, "default", format!("{file}: not set")),
        };
        self.add(fact);
        Ok(())
    }

    pub fn wake_from_gp(&mut self, cpus: usize) -> Result<(), Error> {
        let name = "rcu_normal_wake_from_gp";
        if self.given(name) {
            return Ok(());
        }
        let since_6_17 = self.version().is_some_and(|it| it >= (6, 17));
        let by_version = self.default_of(name, cpus);
        let fact = match self.parameter(name) {
            Some((text, file)) => match text.as_str() {
                "0" | "N" => Fact::read(name, 0, file),
                "1" | "Y" => Fact::read(name, 1, file),
                "-1" => Fact::read(
                    name,
                    by_version,
                    format!("{file}: -1, by the number of CPUs"),
                ),
                _ => return Err(nonsense(&file, &text, "0, 1 or -1", name)),
            },
            None if self.root.has(RCUTREE) => Fact::read(name, 0, self.hidden(name)),
            None => {
                let why = match since_6_17 {
                    true => "; from 6.17 on it is 1 up to 16 CPUs, from 7.2 on for any number",
                    false => "; 0 was the default before 6.17",
                };
                Fact::assumed(name, by_version, self.hidden(name) + why)
            }
        };
        self.add(fact);
        Ok(())
    }

    /// `rcu_expedited` and `rcu_normal`: the former is a count.
    pub fn switch(&mut self, name: &'static str) -> Result<(), Error> {
        if self.given(name) {
            return Ok(());
        }
        let files = ["/sys/kernel", "/sys/module/rcupdate/parameters"];
        let mut files = files.iter().map(|folder| format!("{folder}/{name}"));
        let found = files.find_map(|file| Some((self.root.line(&file)?, file)));
        let fact = match found {
            Some((text, file)) => match text.parse::<u64>() {
                Ok(count) => Fact::read(name, u8::from(count > 0), file),
                Err(_) => return Err(nonsense(&file, &text, "a number", name)),
            },
            None => Fact::assumed(name, 0, format!("/sys/kernel/{name} cannot be read")),
        };
        self.add(fact);
        Ok(())
    }

    pub fn fanouts(&mut self) -> Result<(), Error> {
        let leaf = self.parameter("rcu_fanout_leaf");
        let inner = self.configured("CONFIG_RCU_FANOUT");
        let inner =
            inner.map(|(text, file)| (text.to_owned(), format!("{file}, CONFIG_RCU_FANOUT")));
        for (name, found, usual) in [("rcu_fanout_leaf", leaf, 16), ("rcu_fanout", inner, 64)] {
            let fact = match found {
                None => Fact::assumed(name, usual, "not to be read; the usual one"),
                Some(_) if self.given(name) => continue,
                Some((text, file)) => match text.parse::<u32>() {
                    Ok(n) if (2..=64).contains(&n) => Fact::read(name, n, file),
                    _ => return Err(nonsense(&file, &text, "a fan-out of 2 to 64", name)),
                },
            };
            self.add(fact);
        }
        Ok(())
    }

    /// The offloaded CPUs: their threads exist. Where threads are invisible, the command line is used.
    pub fn offloaded(&mut self, cpus: &[u32]) {
        let name = "rcu_nocbs";
        let tasks = &self.threads;
        let gp_thread = self.gp_thread().is_some();
        let (own, from, assumed) = if gp_thread {
            let of = |task: &str| {
                let number = task
                    .strip_prefix("rcuop/")
                    .or(task.strip_prefix("rcuos/"))?;
                number.parse::<u32>().ok()
            };
            let own: Vec<u32> = tasks.iter().filter_map(|it| of(it)).collect();
            (own, "threads rcuop/N in /proc".to_owned(), false)
        } else if let Some(command) = &self.command {
            let asked = commanded(command, name).or(commanded(command, "nohz_full"));
            let all = self.configured("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL");
            let all = all.is_some_and(|it| it.0 == "y");
            let own = match asked {
                Some("all") => cpus.to_vec(),
                Some(list) => cpu_list(list, MOST_CPUS).unwrap_or_default(),
                None if all => cpus.to_vec(),
                None => Vec::new(),
            };
            (
                own,
                "/proc/cmdline; the kernel's threads are invisible".into(),
                true,
            )
        } else {
            (
                Vec::new(),
                "threads and command line are invisible".into(),
                true,
            )
        };
        let there = |it: &(usize, &u32)| own.contains(it.1);
        let list: Vec<String> = cpus
            .iter()
            .enumerate()
            .filter(there)
            .map(|it| it.0.to_string())
            .collect();
        let value = match list.len() {
            0 => "none".to_owned(),
            n if n == cpus.len() => "all".to_owned(),
            _ => list.join(","),
        };
        let fact = match assumed {
            true => Fact::assumed(name, value, from),
            false => Fact::read(name, value, from),
        };
        self.add(fact);
    }

    /// Up to 6.18 the tick stops at each idle entry. Later kernels may keep it for one tick more, without a
    /// cpuidle driver.
    pub fn idle_loops(&mut self) -> Vec<IdleLoop> {
        let file = format!("{CPU}/cpuidle/current_driver");
        let driver = self.root.line(&file).filter(|it| !it.is_empty());
        let has_driver = driver.as_deref().is_some_and(|it| it != "none");
        let driver = driver.map_or(format!("{file} cannot be read"), |it| {
            format!("{file}: {it}")
        });
        let old = self.version().is_some_and(|it| it < (7, 0));
        let name = "idle_loop";
        if has_driver || old {
            let why = match old {
                true => format!("kernel {}, before 7.0; {driver}", self.release),
                false => driver,
            };
            self.add(Fact::read(name, "classic", why));
            return vec![IdleLoop::Classic];
        }
        let why = format!("kernel {}, {driver}: either is possible", self.release);
        self.add(Fact::assumed(name, "classic or retain", why).shown_only());
        vec![IdleLoop::Classic, IdleLoop::Retain]
    }

    /// What no parameter shows: the version decides it.
    pub fn by_version(&mut self, cpus: usize) {
        for name in ["early_qs", "timer_migration", "wake_from_gp_latch"] {
            let why = format!("kernel {}, by its version", self.release);
            self.add(Fact::assumed(name, self.default_of(name, cpus), why));
        }
    }

    /// The default of this kernel's version; of 6.12 if that is unknown.
    fn default_of(&self, name: &str, cpus: usize) -> &'static str {
        let number = |it| u16::try_from(it).unwrap_or(u16::MAX);
        let version = self.version().unwrap_or((6, 12));
        let release = Release(number(version.0), number(version.1));
        let history = settings::HISTORY.iter().find(|it| it.key == name);
        let history = history.expect("the table has it");
        history.value(release, cpus as u32)
    }

    pub fn execution(&mut self) {
        let cpuinfo = self.root.text("/proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo.lines().find(|it| it.starts_with("flags"));
        let guest =
            flags.is_some_and(|it| it.split_ascii_whitespace().any(|it| it == "hypervisor"));
        let why = match guest {
            true => "a virtual machine: its host decides",
            false => "hardware is parallel; a virtual machine's host decides",
        };
        self.add(Fact::assumed("smp", "parallel or serial", why).shown_only());
        let release = self.release.clone();
        self.list.insert(
            0,
            Fact::read("kernel", release, "/proc/sys/kernel/osrelease").shown_only(),
        );
    }

    /// The properties that the model does not have.
    pub fn warnings(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        let preemptible = match (self.gp_thread(), self.configured("CONFIG_PREEMPT_RCU")) {
            (Some(name), _) => Some((name == "rcu_preempt", format!("thread {name}"))),
            (None, Some((text, file))) => {
                Some((text == "y", format!("{file}, CONFIG_PREEMPT_RCU")))
            }
            (None, None) => None,
        };
        let value = preemptible.as_ref().is_none_or(|it| it.0);
        let word = if value {
            "preemptible"
        } else {
            "not preemptible"
        };
        let fact = match preemptible {
            Some((_, from)) => Fact::read("readers", word, from),
            None => {
                let why = "neither thread nor configuration is visible";
                Fact::assumed("readers", word, why)
            }
        };
        self.add(fact.shown_only());
        if !value {
            warnings.push(
                "this kernel's RCU is not preemptible, the model's is: there a tick in the idle \
                 loop is a quiescent state"
                    .into(),
            );
        }
        let command = self.command.as_deref().unwrap_or_default();
        let periodic = self
            .configured("CONFIG_HZ_PERIODIC")
            .is_some_and(|it| it.0 == "y");
        if periodic || commanded(command, "nohz") == Some("off") {
            warnings
                .push("ticks of idle CPUs never stop on this kernel; in the model they do".into());
        }
        if let Some(list) = commanded(command, "nohz_full") {
            warnings.push(format!(
                "nohz_full={list}: the model's CPUs tick while a program runs"
            ));
        }
        if self.parameter("use_softirq").is_some_and(|it| it.0 == "N") {
            warnings.push(
                "use_softirq=N: RCU's soft interrupt is a thread here, in the model it is none"
                    .into(),
            );
        }
        warnings
    }

    /// The name of the grace-period thread, if it is visible.
    fn gp_thread(&self) -> Option<&str> {
        let names = super::place::NAMES;
        let found = names
            .iter()
            .find(|name| self.threads.iter().any(|it| it == *name));
        found.copied()
    }
}
