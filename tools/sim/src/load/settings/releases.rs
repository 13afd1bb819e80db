//! Kernel versions: what each of them decides, as a table of settings (`data/kernel-releases.toml`).
//!
//! `kernel=7.0` gives every setting of [`HISTORY`] the value that it has in that version. The row is carried
//! out before all others, so that a setting which is given as well counts more, whatever the order; a
//! workload's file counts more too, since it describes one machine. [`warnings`] names what was given and
//! the version does not have. Without `kernel` nothing here is in force.
//!
//! The facts and their limits: `docs/kernel-behaviour.md`, *Versions*.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::find;
use crate::input::options::Options;
use crate::input::release::Release;

/// The versions that can be named.
pub static RELEASES: [Release; 5] = [
    Release(6, 1),
    Release(6, 12),
    Release(6, 17),
    Release(7, 0),
    Release(7, 2),
];

/// They as `kernel` takes them.
pub(super) const ALLOWED: &str = "6.1, 6.12, 6.17, 7.0, 7.2, or `none`";

/// A setting whose default has changed with versions, or differs from this program's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The setting.
    pub key: String,
    /// The first version that has the mechanism at all, on or off; none if every one has it.
    pub exists: Option<Release>,
    /// Its defaults, each from a version on. The first counts for all before.
    pub values: Vec<Since>,
    /// The reason, and the source where it is not `docs/kernel-behaviour.md`.
    pub why: String,
}

/// A default, from a version on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// The first version that has it.
    pub since: Release,
    /// The value.
    pub is: String,
    /// That of machines with more than 16 CPUs, if it is another.
    pub beyond_16: Option<String>,
}

impl History {
    /// The default of that version.
    pub fn value(&self, release: Release, cpus: u32) -> &str {
        let since = self.values.iter().rfind(|it| it.since <= release);
        let it = since.unwrap_or(&self.values[0]);
        it.beyond_16
            .as_ref()
            .filter(|_| cpus > 16)
            .unwrap_or(&it.is)
    }
}

/// All of them, in the order of the first version that changed something.
pub static HISTORY: LazyLock<Vec<History>> = LazyLock::new(|| {
    let file = include_str!("../../../../../data/kernel-releases.toml");
    let all: BTreeMap<String, Vec<History>> = toml::from_str(file).expect("a test reads it");
    all.into_values().flatten().collect()
});

/// Sets what the version of this name decides; `none` decides nothing. None if the name is none.
pub(super) fn set(options: &mut Options, name: &str) -> Option<()> {
    if name == "none" {
        options.kernel = None;
        return Some(());
    }
    let release = *RELEASES.iter().find(|it| it.to_string() == name)?;
    for it in HISTORY.iter() {
        let setting = find(&it.key).expect("a test looks all up");
        let value = it.value(release, options.cpus);
        setting
            .set(options, value)
            .expect("a test sets all of them");
    }
    options.kernel = Some(release);
    Some(())
}

/// The name of the version, as [`set`] reads it.
pub(super) fn get(options: &Options) -> String {
    options.kernel.map_or("none".into(), |it| it.to_string())
}

/// Mechanisms in force that the version does not have, in words.
pub(super) fn warnings(options: &Options) -> Vec<String> {
    let Some(release) = options.kernel else {
        return Vec::new();
    };
    let foreign = HISTORY.iter().filter_map(|it| {
        let (exists, setting) = (it.exists.filter(|&it| it > release)?, find(&it.key)?);
        let value = setting.get(options);
        let key = &it.key;
        (value != it.value(release, options.cpus)).then(|| {
            format!(
                "{key}={value}: Linux {release} does not have it, {exists} is the first that does"
            )
        })
    });
    foreign.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{apply, warnings};
    use super::*;
    use crate::text::values::switch;
    use quiescent_kernel::EarlyQs;

    fn machine(cpus: &str, sets: &[(&str, &str)]) -> Options {
        let mut options = Options::kernel_6_12(8, 1000);
        let all = [&[("cpus", cpus)], sets].concat();
        apply(&mut options, &all).expect("a machine");
        options
    }

    fn of(release: Release, cpus: &str) -> Options {
        machine(cpus, &[("kernel", &release.to_string())])
    }

    #[test]
    fn each_version_has_what_the_table_says() {
        for release in RELEASES {
            for cpus in ["8", "64"] {
                let options = of(release, cpus);
                assert_eq!(options.kernel, Some(release));
                for it in HISTORY.iter() {
                    let value = find(&it.key).expect(&it.key).get(&options);
                    assert_eq!(
                        value,
                        it.value(release, options.cpus),
                        "{release}: {}",
                        it.key
                    );
                }
                assert_eq!(warnings(&options), [""; 0], "{release}");
            }
        }
        let allowed = RELEASES.map(|it| it.to_string()).join(", ");
        assert_eq!(ALLOWED, format!("{allowed}, or `none`"));
        assert!(RELEASES.is_sorted());
    }

    #[test]
    fn a_table_s_rows_are_in_order_and_begin_before_the_mechanism() {
        for it in HISTORY.iter() {
            assert!(
                it.values.is_sorted_by(|a, b| a.since < b.since),
                "{}",
                it.key
            );
            let Some(exists) = it.exists else { continue };
            let first = it.values[0].is.as_str();
            assert!(it.values[0].since < exists, "{}", it.key);
            let off = first == "none" || first == "off" || switch(first) == Some(false);
            assert!(off, "{}: {first}", it.key);
        }
    }

    #[test]
    fn direct_wake_ups_depend_on_the_size_in_one_version_only() {
        let wakes = |release, cpus| {
            let it = of(release, cpus);
            (it.wake_from_gp, it.wake_latch)
        };
        assert_eq!(wakes(Release(6, 12), "4"), (false, None));
        assert_eq!(wakes(Release(6, 17), "16"), (true, None));
        assert_eq!(wakes(Release(6, 17), "17"), (false, None));
        assert_eq!(wakes(Release(7, 2), "17"), (true, Some(64)));
    }

    #[test]
    fn what_is_given_as_well_counts_more_in_either_order() {
        let sets = [("early_qs", "off"), ("kernel", "7.2")];
        for sets in [sets, [sets[1], sets[0]]] {
            let options = machine("8", &sets);
            assert_eq!(options.early_qs, EarlyQs::Off);
            assert_eq!(options.wake_latch, Some(64));
        }
        assert!(!machine("8", &[("rcu", "offload"), ("kernel", "6.12")]).lazy);
    }

    #[test]
    fn what_a_version_does_not_have_is_said_and_what_it_has_off_is_not() {
        let said = |sets: &[(&str, &str)]| warnings(&machine("8", sets)).join("\n");
        let early = said(&[("kernel", "6.1"), ("early_qs", "init")]);
        assert_eq!(
            early,
            "early_qs=init: Linux 6.1 does not have it, 7.0 is the first that does"
        );
        let lazy = said(&[("kernel", "6.1"), ("rcu", "lazy")]);
        assert!(lazy.contains("6.2 is the first"), "{lazy}");
        let on = [("kernel", "6.12"), ("rcu_normal_wake_from_gp", "1")];
        assert_eq!(said(&on), "");
        assert_eq!(said(&[("early_qs", "init")]), "", "no version was named");
    }

    #[test]
    fn an_unknown_version_is_refused_with_those_that_are_known() {
        for name in ["6.13", "6", "6.12.1", "v6.12", "7.20"] {
            let mut options = Options::kernel_6_12(8, 1000);
            let error = apply(&mut options, &[("kernel", name)]).unwrap_err();
            assert!(error.to_string().contains(ALLOWED), "{error}");
        }
    }
}
