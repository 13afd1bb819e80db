//! What recorders have left in the kernel that ended together with their guards, as in a cgroup that was
//! killed: found by their names, which have the number of the process.

use crate::buffers::instance::{OURS, Removal};
use crate::buffers::probes;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Instances, with their probes, by what became of them.
#[derive(Debug, Clone, Default)]
pub struct Cleaned {
    /// Removed.
    pub removed: Vec<String>,
    /// Kept: the process that made it lives.
    pub kept: Vec<String>,
    /// In use by another process, or not to be removed.
    pub failed: Vec<String>,
}

/// Removes the instances and probes of recorders that have ended, below this folder of tracing.
pub fn clean(tracing: &Path) -> Cleaned {
    let definitions = probes::file(tracing);
    let text = definitions.as_deref().map(fs::read_to_string);
    let text = text.and_then(Result::ok).unwrap_or_default();
    let instances = fs::read_dir(tracing.join("instances"));
    let folders = instances.into_iter().flatten().flatten();
    let folders = folders.filter_map(|it| it.file_name().into_string().ok());
    let mut found: BTreeMap<String, Vec<String>> = folders.map(|it| (it, Vec::new())).collect();
    for line in text.lines() {
        let defined = line.split(' ').next().and_then(|it| it.split_once(':'));
        if let Some((_, event)) = defined
            && let Some((instance, _)) = event.rsplit_once('/').and_then(|it| it.0.rsplit_once('_'))
        {
            let name = instance.replace('_', "-");
            found.entry(name).or_default().push(event.to_owned());
        }
    }
    let mut cleaned = Cleaned::default();
    for (name, events) in found {
        let Some(process) = owner(&name) else {
            continue;
        };
        let probes = events.len();
        let folder = tracing.join("instances").join(&name);
        let removal = Removal::of(&folder, definitions.as_deref(), events.into_iter());
        let to = match () {
            () if lives(process) => &mut cleaned.kept,
            // SAFETY: it makes system calls on names of its own.
            () if unsafe { removal.carry_out() } == 0 => &mut cleaned.removed,
            () => &mut cleaned.failed,
        };
        to.push(format!("{name} with {probes} probes"));
    }
    cleaned
}

/// The process in the name of an instance of a recorder; none if it is no such name.
fn owner(name: &str) -> Option<libc::pid_t> {
    let (process, number) = name.strip_prefix(OURS)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    process.parse().ok().filter(|it| *it > 0)
}

fn lives(process: libc::pid_t) -> bool {
    // SAFETY: two numbers; no signal is sent.
    let answer = unsafe { libc::kill(process, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recorder_that_is_gone_has_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let (gone, own) = (ended.id(), std::process::id());
        let made = |name: &str| {
            let path = folder.path().join("instances").join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let left = made(&format!("quiescent-{gone}-0"));
        let kept = [
            made(&format!("quiescent-{own}-0")),
            made("others"),
            made("quiescent-x-0"),
        ];
        let events = folder.path().join("dynamic_events");
        let text = format!(
            "f:quiescent_{gone}_0_7/rcu_callback __call_rcu_common\nr100:quiescent_{gone}_1_0/rcu_barrier \
             rcu_barrier\np:quiescent_{own}_0_7/rcu_callback call_rcu\np:mine/rcu_callback call_rcu\n"
        );
        fs::write(&events, &text).unwrap();
        let cleaned = clean(folder.path());
        assert_eq!(
            cleaned.removed,
            [
                format!("quiescent-{gone}-0 with 1 probes"),
                format!("quiescent-{gone}-1 with 1 probes")
            ]
        );
        assert_eq!(cleaned.kept, [format!("quiescent-{own}-0 with 1 probes")]);
        assert!(cleaned.failed.is_empty(), "{cleaned:?}");
        assert!(!left.exists() && kept.iter().all(|it| it.exists()));
        // This file is an ordinary one, to which the kernel's lines for a removal are appended.
        let removals =
            format!("-:quiescent_{gone}_0_7/rcu_callback\n-:quiescent_{gone}_1_0/rcu_barrier\n");
        assert_eq!(fs::read_to_string(&events).unwrap(), text + &removals);
    }
}
