//! Settings: every field of [`Options`] by name, as text, for `--set key=value`, for files and for reports.
//!
//! Names are the kernel's parameters without the module's prefix. One table says how each is read and
//! written, so that what a report prints can be given back. [`apply`] takes all assignments at once and
//! carries them out in the order of the table, so it does not matter in which order they are given; of two
//! for one key the later one counts. What is assigned holds from the beginning to the end.
//!
//! ```
//! use quiescent_sim::{Options, settings};
//!
//! let sets = [("rcu_nocbs", "all"), ("cpus", "4")];
//! let mut options = Options::kernel_6_12(8, 1000);
//! settings::apply(&mut options, &sets)?;
//! assert_eq!(options.nocbs, [0, 1, 2, 3]);
//! let said = settings::apply(&mut options, &[("early_gs", "off")]).unwrap_err();
//! assert!(said.to_string().contains("did you mean `early_qs`"));
//! # Ok::<(), quiescent_sim::Error>(())
//! ```

mod checks;
mod releases;
mod table;

pub use checks::{MOST_CPUS, bytes_per_cpu, warnings};
pub use releases::{HISTORY, History, RELEASES, Since, differences};
pub use table::{SETTINGS, Setting};

use crate::base::error::{Error, is_near, nearest};
use crate::input::options::Options;

/// Carries out assignments, and checks that the machine can be.
///
/// # Errors
/// If a key is unknown, a value is none that its key takes, or the settings do not go together.
pub fn apply(options: &mut Options, sets: &[(&str, &str)]) -> Result<(), Error> {
    for &(key, _) in sets {
        if find(key).is_none() {
            return Err(unknown(key, std::iter::empty()));
        }
    }
    for setting in SETTINGS {
        let meant = |it: &&(&str, &str)| find(it.0).is_some_and(|it| it.key == setting.key);
        let Some(&(_, value)) = sets.iter().rev().find(meant) else {
            continue;
        };
        setting.set(options, value)?;
        options.later.retain(|it| it.1 != setting.key);
    }
    checks::check(options)
}

/// The setting of this name; a module's prefix and the names of other kernels are understood.
pub fn find(key: &str) -> Option<&'static Setting> {
    let bare = ["rcutree.", "rcupdate."]
        .iter()
        .find_map(|prefix| key.strip_prefix(prefix));
    let key = match bare.unwrap_or(key) {
        "enable_rcu_lazy" => "rcu_lazy",
        key => key,
    };
    SETTINGS.iter().find(|it| it.key == key)
}

/// The error for a key that is neither a setting nor one of `others`.
pub(crate) fn unknown<'a>(key: &str, others: impl Iterator<Item = &'a str>) -> Error {
    let known = SETTINGS.iter().map(|it| it.key).chain(others);
    let mut nearest = nearest(key, known);
    if !is_near(key, &nearest) {
        nearest.clear();
    }
    Error::UnknownKey {
        key: key.into(),
        nearest,
    }
}

/// Takes `key=value` apart.
///
/// # Errors
/// If it is none.
pub fn assignment(text: &str) -> Result<(&str, &str), Error> {
    let parts = text.split_once('=');
    let parts = parts.map(|(key, value)| (key.trim(), value.trim()));
    let parts = parts.filter(|(key, value)| !key.is_empty() && !value.is_empty());
    parts.ok_or_else(|| Error::NotAnAssignment(text.into()))
}

/// Takes all of them apart ([`assignment`]).
///
/// # Errors
/// If one is none.
pub fn assignments(texts: &[String]) -> Result<Vec<(&str, &str)>, Error> {
    texts.iter().map(|it| assignment(it)).collect()
}

/// All settings of a machine, in the order of the table.
pub fn listed(options: &Options) -> Vec<(&'static str, String)> {
    let text = |it: &Setting| (it.key, it.get(options));
    SETTINGS.iter().map(text).collect()
}

#[cfg(test)]
mod tests;
