//! What recorders have left in the kernel that ended together with their guards, as in a cgroup that was
//! killed: found by their names. The number of the process in a name is one of the recorder's own namespace,
//! so it cannot tell whether that lives: the lock on the folder does, which a recorder holds while it lives.

use crate::buffers::instance::{OURS, Removal, lock};
use crate::buffers::probes;
use quiescent_report::Error;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Instances, with their probes, by what became of them.
#[derive(Debug, Clone, Default)]
pub struct Cleaned {
    /// Removed.
    pub removed: Vec<String>,
    /// Kept: the recorder that made it lives.
    pub kept: Vec<String>,
    /// In use by another process, or not to be removed.
    pub failed: Vec<String>,
}

/// Removes the instances and probes of recorders that have ended, below this folder of tracing.
///
/// # Errors
/// [`Error::Failed`]: the instances or the probes that there are cannot be read; nothing was removed.
pub fn clean(tracing: &Path) -> Result<Cleaned, Error> {
    let refused = |path: &Path, why| {
        let what = format!("cannot read {}", path.display());
        Error::failed(what, why, "run it as root, outside of containers")
    };
    let definitions = probes::file(tracing);
    let text = definitions.as_deref().map_or(Ok(String::new()), |it| {
        fs::read_to_string(it).map_err(|why| refused(it, why))
    })?;
    let instances = tracing.join("instances");
    let folders = fs::read_dir(&instances).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let folders = folders.map_err(|why| refused(&instances, why))?.into_iter();
    let folders = folders.filter_map(|it| it.file_name().into_string().ok());
    let mut found: BTreeMap<String, Vec<String>> = folders.map(|it| (it, Vec::new())).collect();
    for line in text.lines() {
        let defined = line.split(' ').next().and_then(|it| it.split_once(':'));
        if let Some((_, event)) = defined
            && let Some((group, _)) = event.rsplit_once('/')
            && let Some((instance, number)) = group.rsplit_once('_')
            && number.parse::<u32>().is_ok()
        {
            let name = instance.replace('_', "-");
            found.entry(name).or_default().push(event.to_owned());
        }
    }
    let mut cleaned = Cleaned::default();
    for (name, events) in found {
        if !is_ours(&name) {
            continue;
        }
        let probes = events.len();
        let folder = instances.join(&name);
        let removal = Removal::of(&folder, definitions.as_deref(), events.into_iter());
        let to = match () {
            () if is_held(&folder) => &mut cleaned.kept,
            // SAFETY: it makes system calls on names of its own.
            () if unsafe { removal.carry_out() } => &mut cleaned.removed,
            () => &mut cleaned.failed,
        };
        to.push(format!("{name} with {probes} probes"));
    }
    Ok(cleaned)
}

/// The name has the number of a process, and one within that process.
fn is_ours(name: &str) -> bool {
    let numbers = name.strip_prefix(OURS).and_then(|it| it.split_once('-'));
    numbers.is_some_and(|(process, number)| {
        [process, number].iter().all(|it| it.parse::<u32>().is_ok())
    })
}

/// A recorder that lives has this folder.
fn is_held(folder: &Path) -> bool {
    lock(folder).is_err_and(|why| why.kind() == ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recorder_that_is_gone_has_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (gone, own) = (4_000_000, std::process::id());
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
        let _held = lock(&kept[0]).unwrap();
        let events = folder.path().join("dynamic_events");
        let text = format!(
            "f:quiescent_{gone}_0_7/rcu_callback __call_rcu_common\nr100:quiescent_{gone}_1_0/rcu_barrier \
             rcu_barrier\np:quiescent_{own}_0_7/rcu_callback call_rcu\np:mine/rcu_callback call_rcu\n\
             p:quiescent_{gone}_2_x/rcu_callback call_rcu\n"
        );
        fs::write(&events, &text).unwrap();
        let cleaned = clean(folder.path()).unwrap();
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

    #[test]
    fn what_cannot_be_read_is_not_taken_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let why = clean(folder.path()).unwrap_err().to_string();
        assert!(why.contains("/instances") && why.contains("root"), "{why}");
        fs::create_dir(folder.path().join("instances")).unwrap();
        assert!(clean(folder.path()).unwrap().removed.is_empty());
        fs::create_dir(folder.path().join("dynamic_events")).unwrap();
        let why = clean(folder.path()).unwrap_err().to_string();
        assert!(why.contains("/dynamic_events"), "{why}");
    }
}
