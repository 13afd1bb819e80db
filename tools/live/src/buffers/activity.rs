//! What the kernel's RCU does, live, by the best source there is.
//!
//! | source | what it is | figures |
//! |---|---|---|
//! | [`Rung::Events`] | RCU's own events (`CONFIG_RCU_TRACE`, root) | exact, but see `counters` |
//! | [`Rung::Probes`] | probes on RCU's functions (`CONFIG_KPROBE_EVENTS`, root) | as exact |
//! | [`Rung::Frees`] | frees in RCU's context (`kmem:*`, root) | an estimate of executed callbacks |
//! | [`Rung::Rates`] | `/proc` alone | exact counts of soft interrupts, none by function |
//!
//! The upper three record in an instance of their own, which is removed at every kind of exit. It is read at
//! each reading of the display: if more happens between two readings than its buffer holds, the rest is lost,
//! and the number lost is shown.

use crate::buffers::counters::Counters;
use crate::buffers::events;
use crate::buffers::instance::{Instance, drain};
use crate::buffers::mount::tracing;
use crate::buffers::probes;
use crate::state::files::Root;
use quiescent_report::Error;
use std::fs::File;
use std::io;
use std::path::Path;

/// KiB of the buffer of each CPU.
const BUFFER_KB: u64 = 8192;

/// Bytes of text read at a time, at most. A reader that is too slow loses events, which are counted.
const MOST: usize = 64 << 20;

/// Where figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// RCU's own events.
    Events,
    /// Probes in their place.
    Probes,
    /// Memory that is freed in RCU's soft interrupt and threads.
    Frees,
    /// Rates of soft interrupts.
    Rates,
}

impl Rung {
    /// All, the most exact first.
    pub const ALL: [Rung; 4] = [Rung::Events, Rung::Probes, Rung::Frees, Rung::Rates];

    /// Its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Rung::Events => "events",
            Rung::Probes => "probes",
            Rung::Frees => "frees",
            Rung::Rates => "rates",
        }
    }

    /// Its exactness and its method.
    pub const fn words(self) -> &'static str {
        match self {
            Rung::Events => "exact, by its own events; a lazy callback is seen when it is invoked",
            Rung::Probes => "exact, by probes on its functions",
            Rung::Frees => "estimated, by what its callbacks free",
            Rung::Rates => "exact rates, by /proc; nothing by function",
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Rung::Events | Rung::Probes => {
                "rcu:rcu_grace_period,rcu:rcu_callback,rcu:rcu_kvfree_callback,rcu:rcu_invoke_callback,\
                 rcu:rcu_invoke_kvfree_callback,rcu:rcu_invoke_kfree_bulk_callback"
            }
            Rung::Frees => "irq:softirq_entry,irq:softirq_exit,kmem:kfree,kmem:kmem_cache_free",
            Rung::Rates => "",
        }
    }

    /// Events without which the source does not work.
    const fn needed(self) -> &'static [&'static str] {
        match self {
            Rung::Events | Rung::Probes => &[
                "rcu/rcu_grace_period",
                "rcu/rcu_callback",
                "rcu/rcu_invoke_callback",
            ],
            Rung::Frees => &[
                "irq/softirq_entry",
                "irq/softirq_exit",
                "kmem/kmem_cache_free",
            ],
            Rung::Rates => &[],
        }
    }
}

/// The kernel as a source of live figures.
#[derive(Debug)]
pub struct Activity {
    /// Where its figures come from.
    pub rung: Rung,
    /// Why no better source is used; empty if there is none.
    pub why: String,
    /// Counts since the beginning.
    pub counters: Counters,
    /// Dropped before the instance: an instance with an open file cannot be removed.
    pipe: Option<File>,
    instance: Option<Instance>,
    /// An unfinished line.
    rest: Vec<u8>,
}

impl Activity {
    /// Uses this source, or the best there is. With `mount` ([`tracing`]) it must be called before this
    /// process has a second thread.
    ///
    /// # Errors
    /// [`Error::Failed`]: the requested source is not available; the error has the remedy. [`Rung::Rates`] is
    /// always available.
    pub fn new(wanted: Option<Rung>, mount: bool) -> Result<Activity, Error> {
        let mut why = String::new();
        for rung in Rung::ALL
            .into_iter()
            .filter(|it| wanted.is_none_or(|wanted| wanted == *it))
        {
            match Activity::by(rung, mount) {
                Err(error) if wanted.is_some() => return Err(error),
                Err(error) if why.is_empty() => why = error.to_string(),
                Err(_) => {}
                Ok(activity) => return Ok(Activity { why, ..activity }),
            }
        }
        Activity::by(Rung::Rates, mount)
    }

    fn by(rung: Rung, mount: bool) -> Result<Activity, Error> {
        let mut activity = Activity {
            rung,
            why: String::new(),
            counters: Counters::default(),
            pipe: None,
            instance: None,
            rest: Vec::new(),
        };
        if rung == Rung::Rates {
            return Ok(activity);
        }
        let (instance, events) = prepared(rung, &tracing(mount)?)?;
        activity.pipe = Some(started(&instance, &events)?);
        activity.instance = Some(instance);
        Ok(activity)
    }

    /// Counts what has happened since the last reading.
    ///
    /// # Errors
    /// The kernel's buffer cannot be read any more.
    pub fn update(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        let (rest, counters) = (&mut self.rest, &mut self.counters);
        let mut block = vec![0; 256 * 1024];
        drain(pipe, &mut block, MOST, |part| {
            rest.extend_from_slice(part);
            let whole = rest
                .iter()
                .rposition(|it| *it == b'\n')
                .map_or(0, |it| it + 1);
            counters.feed(&rest[..whole]);
            rest.drain(..whole);
            Ok(())
        })?;
        Ok(())
    }

    /// Events that were lost so far: counts are too low by these.
    pub fn lost(&self) -> u64 {
        self.instance.as_ref().map_or(0, Instance::lost)
    }
}

impl Activity {
    /// Ends it, as dropping it does. What the kernel would not remove, as another process uses it: the
    /// buffer's folder, probes.
    pub fn end(self) -> Vec<String> {
        drop(self.pipe);
        self.instance.map_or_else(Vec::new, Instance::remove)
    }
}

/// An instance in which the probes of this source are on, and the events that are to be turned on.
fn prepared(rung: Rung, tracing: &Path) -> Result<(Instance, Vec<String>), Error> {
    let wanted = events::list(rung.wanted())?;
    let check = |there: &[String], why: &str| {
        let is_missing = |it: &&&str| !there.iter().any(|name| name == **it);
        let lacking: Vec<&str> = rung.needed().iter().filter(is_missing).copied().collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let what = format!("{}/events", tracing.display());
        let remedy =
            "boot a kernel that is built with CONFIG_RCU_TRACE=y, or CONFIG_KPROBE_EVENTS=y";
        Err(Error::failed(
            what,
            format!("no {}{why}", lacking.join(", ")),
            remedy,
        ))
    };
    if rung == Rung::Probes {
        let instance = Instance::new(tracing, probes::of(&wanted))?;
        let probed = instance.probe();
        let placed = probed
            .placed
            .iter()
            .map(|(event, _)| format!("rcu/{event}"));
        let why = format!(" by a probe: {}", probed.refused.join(", "));
        check(&placed.collect::<Vec<_>>(), &why)?;
        return Ok((instance, Vec::new()));
    }
    // Checked first: an instance is costly to make.
    let (there, _) = events::found(&tracing.join("events"), &wanted);
    check(&there, "")?;
    Ok((Instance::new(tracing, Vec::new())?, there))
}

/// Starts recording with these events: what is recorded, as text.
fn started(instance: &Instance, events: &[String]) -> Result<File, Error> {
    instance.write("buffer_size_kb", &BUFFER_KB.to_string())?;
    for event in events {
        let filter = format!("events/{event}/filter");
        if event.starts_with("kmem/") {
            // In a soft interrupt (a flag of each event), or in a thread of RCU's. Without the filter there
            // are only more events to read.
            let _ = instance.write(&filter, "common_flags & 16 || comm ~ \"rcu*\"");
        }
        if event.starts_with("irq/") {
            let _ = instance.write(&filter, "vec == 9");
        }
        instance.write(&format!("events/{event}/enable"), "1")?;
    }
    let pipe = instance.pipe()?;
    instance.write("tracing_on", "1")?;
    Ok(pipe)
}

/// RCU's soft interrupts since boot, by CPU: the line `RCU:` of `/proc/softirqs`. None if it cannot be read.
///
/// ```
/// use quiescent_live::{files::Root, softirqs};
///
/// if let Some(counts) = softirqs(&Root::here()) {
///     assert!(!counts.is_empty());
/// }
/// ```
pub fn softirqs(root: &Root) -> Option<Vec<(u32, u64)>> {
    let text = root.text("/proc/softirqs")?;
    let mut lines = text.lines();
    let cpus = lines.next()?.split_ascii_whitespace();
    let cpus = cpus.filter_map(|it| it.strip_prefix("CPU")?.parse::<u32>().ok());
    let counts = lines.find_map(|it| it.trim_start().strip_prefix("RCU:"))?;
    let counts = counts
        .split_ascii_whitespace()
        .filter_map(|it| it.parse::<u64>().ok());
    Some(cpus.zip(counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_can_always_be_had() {
        let mut activity = Activity::new(Some(Rung::Rates), false).unwrap();
        activity.update().unwrap();
        assert_eq!((activity.rung, activity.lost()), (Rung::Rates, 0));
    }

    #[test]
    fn the_best_source_is_taken_and_why_no_better_one_is_said() {
        let mut activity = Activity::new(None, false).unwrap();
        activity.update().unwrap();
        assert_eq!(
            activity.why.is_empty(),
            activity.rung == Rung::Events,
            "{activity:?}"
        );
        assert_eq!(activity.counters.unread, 0);
    }

    #[test]
    fn soft_interrupts_by_cpu() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let text = "      CPU0  CPU2\n  HI:  1  2\n RCU:  30  40\n";
        std::fs::write(folder.path().join("proc/softirqs"), text).unwrap();
        assert_eq!(
            softirqs(&Root::new(folder.path())),
            Some(vec![(0, 30), (2, 40)])
        );
        assert_eq!(softirqs(&Root::new("/no/such/folder")), None);
    }
}
