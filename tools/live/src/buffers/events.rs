//! Which events are wanted, and which of them this kernel has.
//!
//! Kernels commonly lack some of these events (RCU's own depend on the build), so a missing event is reported
//! and is no error.

use crate::state::files::Root;
use quiescent_report::Error;
use std::path::Path;

/// What an analysis of RCU uses, in the order of its use (docs/tools.md, "What to record").
pub const DEFAULT: [&str; 8] = [
    "rcu:*",
    "sched:sched_wakeup",
    "sched:sched_waking",
    "sched:sched_switch",
    "power:cpu_idle",
    "irq:softirq_entry",
    "timer:hrtimer_expire_entry",
    "timer:timer_expire_entry",
];

/// A third of all events where RCU's are on; nothing uses it.
const NOISE: &str = "rcu_utilization";

/// A list as it is given: `default`, `rcu:*`, `sched:sched_switch`, `cpu_idle`, with commas in between.
///
/// # Errors
/// [`Error::Usage`] for a word that names no event; none is looked for in a kernel.
///
/// ```
/// let events = quiescent_live::events::list("default,raw_syscalls:*")?;
/// assert_eq!(events.last().map(String::as_str), Some("raw_syscalls:*"));
/// assert!(quiescent_live::events::list("sched switch").is_err());
/// # Ok::<(), quiescent_report::Error>(())
/// ```
pub fn list(text: &str) -> Result<Vec<String>, Error> {
    let mut all: Vec<String> = Vec::new();
    for word in text.split(',').map(str::trim) {
        let is_name = |it: &str| {
            !it.is_empty()
                && it
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || it == b'_')
        };
        let is_event = match word.split_once(':') {
            Some((of, "*")) => is_name(of),
            Some((of, name)) => is_name(of) && is_name(name),
            None => is_name(word),
        };
        if !is_event {
            return Err(Error::Usage(format!(
                "`{word}` is no event: give names such as sched:sched_switch, cpu_idle, rcu:* or default, \
                 with commas in between"
            )));
        }
        match word {
            "default" => all.extend(DEFAULT.map(str::to_owned)),
            word => all.push(word.to_owned()),
        }
    }
    Ok(all)
}

/// Those there are, as `subsystem/name`, each once; and the words for which there is none.
pub(crate) fn found(folder: &Path, wanted: &[String]) -> (Vec<String>, Vec<String>) {
    let mut there: Vec<String> = Vec::new();
    let mut missing = Vec::new();
    for word in wanted {
        let own: Vec<String> = match word.split_once(':') {
            Some((of, "*")) => {
                let all = Root::new(folder).folders(of).into_iter();
                let all = all.filter(|it| it != NOISE);
                all.map(|name| format!("{of}/{name}")).collect()
            }
            Some((of, name)) => one(folder, of, name).into_iter().collect(),
            None => {
                let all = Root::new(folder).folders("").into_iter();
                all.filter_map(|of| one(folder, &of, word)).collect()
            }
        };
        // A kernel without CONFIG_RCU_TRACE has a subsystem `rcu` with next to nothing in it.
        let is_poor = word == "rcu:*" && !own.iter().any(|it| it == "rcu/rcu_grace_period");
        if own.is_empty() || is_poor {
            missing.push(word.clone());
        }
        for it in own {
            if !there.contains(&it) {
                there.push(it);
            }
        }
    }
    (there, missing)
}

fn one(folder: &Path, of: &str, name: &str) -> Option<String> {
    let is_there = folder.join(of).join(name).join("enable").exists();
    is_there.then(|| format!("{of}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn kernel(events: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for it in events {
            let event = folder.path().join(it);
            fs::create_dir_all(&event).unwrap();
            fs::write(event.join("enable"), "0\n").unwrap();
        }
        folder
    }

    #[test]
    fn words_find_events_and_the_others_are_reported() {
        let kernel = kernel(&[
            "rcu/rcu_utilization",
            "rcu/rcu_grace_period",
            "power/cpu_idle",
            "sched/sched_switch",
        ]);
        let wanted =
            list("rcu:*,cpu_idle,power:cpu_idle,sched:sched_switch,sched:no_such,nothing").unwrap();
        let (there, missing) = found(kernel.path(), &wanted);
        assert_eq!(
            there,
            [
                "rcu/rcu_grace_period",
                "power/cpu_idle",
                "sched/sched_switch"
            ]
        );
        assert_eq!(missing, ["sched:no_such", "nothing"]);
    }

    #[test]
    fn a_kernel_without_rcu_trace_misses_the_whole() {
        let kernel = kernel(&["rcu/rcu_utilization", "rcu/rcu_stall_warning"]);
        let (there, missing) = found(kernel.path(), &list("rcu:*").unwrap());
        assert_eq!(
            (there, missing),
            (
                vec!["rcu/rcu_stall_warning".into()],
                vec!["rcu:*".to_owned()]
            )
        );
        let (there, _) = found(kernel.path(), &list("rcu:rcu_utilization").unwrap());
        assert_eq!(there, ["rcu/rcu_utilization"], "who names it has it");
    }

    #[test]
    fn words_that_are_no_events() {
        for text in ["", "a b", "a:b:c", "../x", "sched:", ":x", "a,,b", "*"] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}
