//! The machine of a figure, as far as an unprivileged process can read it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Facts about the machine, printed with every report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// CPUs this process may run on.
    pub cpus: u64,
    /// Processor model, or `unknown`.
    pub model: String,
    /// Target architecture of this program.
    pub arch: String,
    /// Other facts: on-line CPUs, clock source, RCU settings, absent peers.
    #[serde(flatten)]
    pub more: BTreeMap<String, Value>,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let mut more = BTreeMap::new();
        for (name, path) in [
            ("online", "/sys/devices/system/cpu/online"),
            ("nohz_full", "/sys/devices/system/cpu/nohz_full"),
            (
                "clocksource",
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            ("rcu_expedited", "/sys/kernel/rcu_expedited"),
            ("rcu_normal", "/sys/kernel/rcu_normal"),
            ("loadavg", "/proc/loadavg"),
        ] {
            if let Some(text) = first_line(path) {
                more.insert(name.into(), text.into());
            }
        }
        more.insert("build".into(), build().into());
        Host {
            kernel: first_line("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into()),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            model: model().unwrap_or_else(|| "unknown".into()),
            arch: std::env::consts::ARCH.into(),
            more,
        }
    }

    /// A line for the head of a text table.
    pub fn line(&self) -> String {
        format!(
            "{} CPUs ({}), Linux {}, {}, {} build",
            self.cpus,
            self.model,
            self.kernel,
            self.arch,
            build()
        )
    }
}

/// Debug builds measure the compiler, so a report contains the kind of build.
fn build() -> &'static str {
    if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}

fn model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("model name") || line.starts_with("CPU part"))?;
    let name = line.split_once(':')?.1.trim();
    (!name.is_empty()).then(|| name.to_string())
}

/// The first line of a small file, trimmed; `None` when it cannot be read or is empty.
pub fn first_line(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_cpu_and_a_kernel() {
        let host = Host::here();
        assert!(host.cpus >= 1);
        assert_ne!(host.kernel, "unknown");
        assert!(host.line().contains(&host.kernel));
    }
}
