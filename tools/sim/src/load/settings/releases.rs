//! Kernel versions: what each of them decides, as a table of settings (`data/kernel-releases.toml`).
//!
//! `kernel=7.0` gives every setting of [`HISTORY`] the value that it has in that version. The row is carried
//! out before all others, so that a setting which is given as well counts more, whatever the order; a
//! workload's file counts more too, since it describes one machine. [`warnings`] names what was given and
//! the version does not have. Without `kernel` nothing here is in force.
//!
//! The facts and their limits: `docs/kernel-behaviour.md`, *Versions*.

use std::sync::LazyLock;

use serde::Deserialize;

use super::find;
use crate::input::options::Options;
use crate::input::release::Release;

/// The first version that can be named, and the last one that the table knows.
pub const RELEASES: [Release; 2] = [Release(5, 10), Release(7, 3)];

/// The version whose rules a machine has without one.
const PLAIN: Release = Release(6, 12);

/// The greatest second number of a version.
const MOST_MINOR: u16 = 19;

/// What `kernel` takes.
pub(super) const ALLOWED: &str =
    "5.10 to 7.3, such as 6.6 or 6.12.95, or `none`; for a newer one give 7.3";

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
    /// It changes nothing where no CPU is offloaded.
    #[serde(default)]
    pub offloaded: bool,
    /// The reason, and the source where it is not `docs/kernel-behaviour.md`.
    pub why: String,
}

/// What a version has and the model has not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    since: Release,
    what: String,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    setting: Vec<History>,
    left_out: Vec<LeftOut>,
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

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let file = include_str!("../../../../../data/kernel-releases.toml");
    toml::from_str(file).expect("a test reads it")
});

/// All settings of the table, in the order of the first version that changed something.
pub static HISTORY: LazyLock<&'static [History]> = LazyLock::new(|| &TABLE.setting);

/// Sets what the version of this name decides; `none` decides nothing. None if the name is none. What follows
/// the first two numbers of a kernel's release (`6.12.95-amd64`, `7.3-rc2`) decides nothing.
pub(super) fn set(options: &mut Options, name: &str) -> Option<()> {
    if name == "none" {
        options.kernel = None;
        return Some(());
    }
    let third = name.match_indices(['.', '-']).nth(1);
    let (name, rest) = name.split_at(third.map_or(name.len(), |it| it.0));
    let mut rest = rest.chars();
    let is_number = match (rest.next(), rest.next()) {
        (None, _) => true,
        (Some('.'), Some(digit)) => digit.is_ascii_digit(),
        (_, letter) => letter.is_some(),
    };
    let release = Release::try_from(name.to_owned()).ok()?;
    let known = RELEASES[0]..=RELEASES[1];
    let is_known = known.contains(&release) && release.1 <= MOST_MINOR;
    if !is_number || !is_known || release.to_string() != name {
        return None;
    }
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

/// What the machine's version changes in it beside 6.12, in words.
pub fn differences(options: &Options) -> Vec<String> {
    let Some(release) = options.kernel else {
        return Vec::new();
    };
    let here = HISTORY
        .iter()
        .filter(|it| !it.offloaded || !options.offloaded().is_empty());
    here.filter_map(|it| {
        let [value, plain] = [release, PLAIN].map(|of| it.value(of, options.cpus));
        (value != plain).then(|| format!("{}={value} ({plain} in {PLAIN}): {}", it.key, it.why))
    })
    .collect()
}

/// Mechanisms in force that the version does not have, and what it has and the model has not, in words.
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
    let left_out = TABLE.left_out.iter().filter(|it| it.since <= release);
    let left_out = left_out.map(|it| format!("Linux {release}: {}: not in the model", it.what));
    foreign.chain(left_out).collect()
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
        for (major, minors) in [(5, 10..=19), (6, 0..=19), (7, 0..=3)] {
            for (minor, cpus) in minors.flat_map(|it| [(it, "8"), (it, "64")]) {
                let release = Release(major, minor);
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
                let said = warnings(&options).join("");
                let left_out = release >= Release(7, 3);
                assert_eq!(said.contains("not in the model"), left_out, "{said}");
            }
        }
        for (name, release) in [
            ("6.12.95", "6.12"),
            ("6.12.95-amd64", "6.12"),
            ("7.0-rc3", "7.0"),
        ] {
            let options = machine("8", &[("kernel", name)]);
            assert_eq!(get(&options), release, "{name}");
        }
        let [first, last] = RELEASES;
        assert!(ALLOWED.starts_with(&format!("{first} to {last}, ")));
        let all = HISTORY.iter().flat_map(|it| &it.values).map(|it| it.since);
        assert!(
            all.chain(TABLE.left_out.iter().map(|it| it.since))
                .all(|it| it <= last)
        );
    }

    #[test]
    fn a_version_s_differences_are_those_that_matter_to_the_machine() {
        let said = |sets: &[(&str, &str)]| differences(&machine("8", sets)).join("\n");
        assert_eq!(said(&[("kernel", "6.12")]), "");
        assert_eq!(said(&[]), "");
        let old = said(&[("kernel", "6.6")]);
        assert!(
            old.starts_with("timer_migration=0 (1 in 6.12): since 6.9"),
            "{old}"
        );
        assert_eq!(old.lines().count(), 1, "{old}");
        let offloaded = said(&[("kernel", "6.1"), ("rcu_nocbs", "all")]);
        assert!(offloaded.contains("rcu_lazy=0 (1 in 6.12)"), "{offloaded}");
        let new = said(&[("kernel", "7.1")]);
        assert!(new.contains("early_qs=init (off in 6.12)") && new.contains("wake_from_gp=1"));
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
        for name in [
            "5.9.1", "6", "6.12.", "6.12.x", "6.12-", "v6.12", "06.12", "6.20", "7.4.2", "8.0",
        ] {
            let mut options = Options::kernel_6_12(8, 1000);
            let error = apply(&mut options, &[("kernel", name)]).unwrap_err();
            assert!(error.to_string().contains(ALLOWED), "{error}");
        }
    }
}
