//! What a machine's files say about its kernel, read once: the input of the doctor's rules.
//!
//! Everything comes from one [`Root`], so the files of another machine work as well as those of this one.
//! Facts that no file has (whether the system call `membarrier` is answered, the resolution of the coarse
//! clock) are asked of the running kernel, only where the root is this machine's own. `None` means unknown:
//! neither yes nor no.

use crate::state::cpus::{cpu_numbers, known_list};
use crate::state::files::{Root, commanded, configured};
use crate::state::task::Task;
use crate::state::tracefs::{self, Place};
use crate::state::version::{self, Version};

/// Where CPUs are described.
pub(crate) const CPU: &str = "/sys/devices/system/cpu";

/// What is known of a machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its files.
    pub root: Root,
    /// They are this machine's own.
    pub here: bool,
    /// The kernel's release.
    pub release: String,
    /// The file that has it; none if it is not known.
    pub release_file: Option<&'static str>,
    /// Its build configuration, and the file that has it.
    pub config: Option<(String, String)>,
    /// Its command line.
    pub command: Option<String>,
    /// Possible CPUs.
    pub possible: Option<Vec<u32>>,
    /// Present CPUs.
    pub online: Option<Vec<u32>>,
    /// Ticks a second, and the source of this.
    pub hz: Option<(u64, String)>,
    /// RCU's threads, in the order of their names and numbers; none where the kernel's threads are not
    /// visible.
    pub tasks: Option<Vec<Task>>,
    /// Where its events are described.
    pub tracing: Place,
    /// The commands of membarrier(2), or why there are none; `None` where it was not asked.
    pub membarrier: Option<Result<i64, String>>,
}

impl Machine {
    /// This machine.
    ///
    /// ```
    /// let machine = quiescent_live::Machine::here();
    /// assert!(machine.here && !machine.release.is_empty());
    /// ```
    pub fn here() -> Self {
        let mut machine = Machine::read(Root::here());
        machine.here = true;
        machine.membarrier = Some(membarrier());
        if machine.hz.is_none() {
            machine.hz = coarse_tick_ns().map(|ns| {
                let hz = (1_000_000_000 + ns / 2) / ns;
                (hz, "resolution of CLOCK_MONOTONIC_COARSE".to_owned())
            });
        }
        machine
    }

    /// A machine by its files alone: those below `root`, named as on the machine itself.
    pub fn read(root: Root) -> Self {
        let (release, release_file) = version::release(&root).unzip();
        let config = root.config(release.as_deref().unwrap_or_default());
        let hz = config.as_ref().and_then(|(text, file)| {
            let hz = configured(text, "CONFIG_HZ")?.parse().ok()?;
            Some((hz, format!("CONFIG_HZ in {file}")))
        });
        Machine {
            here: false,
            release: release.unwrap_or_else(|| "unknown".to_owned()),
            release_file,
            hz,
            config,
            command: root.line("/proc/cmdline"),
            possible: known_list(&root, &format!("{CPU}/possible")),
            online: known_list(&root, &format!("{CPU}/online")),
            tasks: Task::all(&root),
            tracing: tracefs::place(&root),
            membarrier: None,
            root,
        }
    }

    /// The kernel's version; none if it is not known.
    pub fn version(&self) -> Option<Version> {
        Version::of(&self.release)
    }

    /// What to do about a file that cannot be read: on this machine, or in a copy of another machine's files.
    pub(crate) fn remedy<'a>(&self, here: &'a str, copied: &'a str) -> &'a str {
        match self.here {
            true => here,
            false => copied,
        }
    }

    /// Is `CONFIG_…` set (built in or a module)? None if the configuration is not visible.
    pub fn is_set(&self, name: &str) -> Option<bool> {
        self.config.as_ref()?;
        Some(matches!(self.configured(name), Some("y" | "m")))
    }

    /// The value of `CONFIG_…`.
    pub(crate) fn configured(&self, name: &str) -> Option<&str> {
        configured(&self.config.as_ref()?.0, name)
    }

    /// The file with the configuration.
    pub fn config_file(&self) -> &str {
        self.config.as_ref().map_or("no configuration", |it| &it.1)
    }

    /// That it is set, in words.
    pub(crate) fn with(&self, name: &str) -> String {
        format!("{name}=y in {}", self.config_file())
    }

    /// That it is not.
    pub(crate) fn without(&self, name: &str) -> String {
        format!("no {name} in {}", self.config_file())
    }

    /// What the command line says of `name=`; the last one counts.
    pub fn asked(&self, name: &str) -> Option<&str> {
        commanded(self.command.as_deref()?, name)
    }

    /// A parameter as the kernel shows it now, such as `rcutree`, `enable_rcu_lazy`.
    pub fn parameter(&self, module: &str, name: &str) -> Option<String> {
        self.root.line(&parameter_file(module, name))
    }

    /// The folder of a module's parameters can be read, so a parameter that is not in it does not exist.
    pub fn has_parameters(&self, module: &str) -> bool {
        self.root.has(&format!("/sys/module/{module}/parameters"))
    }

    /// The CPUs that a list on the command line names. None: it is no list.
    pub fn named(&self, list: &str) -> Option<Vec<u32>> {
        cpu_numbers(list, self.possible.as_deref())
    }

    /// CPUs whose callbacks are offloaded: those that have a thread for it. None if threads are not visible.
    pub fn offloaded(&self) -> Option<Vec<u32>> {
        let tasks = self.tasks.as_ref()?;
        let mut cpus: Vec<u32> = tasks.iter().filter_map(Task::invokes).collect();
        cpus.sort_unstable();
        Some(cpus)
    }

    /// The wait before a scan that the kernel has by itself, in ticks: `1 + (HZ > 250) + (HZ > 500) + CPUs /
    /// 256`.
    pub fn usual_wait(&self) -> Option<u64> {
        let (hz, _) = self.hz.as_ref()?;
        let cpus = self.possible.as_ref()?.len() as u64;
        Some(1 + u64::from(*hz > 250) + u64::from(*hz > 500) + cpus / 256)
    }

    /// Ticks in milliseconds.
    pub fn ms(&self, ticks: u64) -> Option<f64> {
        let (hz, _) = self.hz.as_ref()?;
        Some(ticks as f64 * 1e3 / (*hz).max(1) as f64)
    }
}

/// The file of a parameter.
pub(crate) fn parameter_file(module: &str, name: &str) -> String {
    format!("/sys/module/{module}/parameters/{name}")
}

/// What the running kernel's coarse clock advances by, in nanoseconds: once a tick, so it is 1/HZ
/// (`AT_CLKTCK` is not: that is 100 everywhere).
pub fn coarse_tick_ns() -> Option<u64> {
    let mut step = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes to a timespec of ours.
    let got = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    let ns = u64::try_from(step.tv_nsec).ok()?;
    (got == 0 && step.tv_sec == 0 && ns > 0).then_some(ns)
}

/// `MEMBARRIER_CMD_QUERY` of membarrier(2): the commands that there are, a bit each.
#[allow(clippy::useless_conversion, reason = "a `long` has 32 bits elsewhere")]
fn membarrier() -> Result<i64, String> {
    // SAFETY: membarrier takes three plain numbers.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) };
    match result {
        0.. => Ok(i64::from(result)),
        _ => Err(std::io::Error::last_os_error().to_string()),
    }
}
