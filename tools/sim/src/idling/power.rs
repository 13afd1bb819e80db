//! The power of states: profiles, each figure a range.
//!
//! A profile is a file in TOML. Those in `data/power` are part of the program; any other file can be given by
//! its path. It names the origin of its figures, the assumptions, and the figures fitted to published ones.
//! The result is a range, from the lower end of every figure to the upper end of every one, and is only as
//! good as the file's figures.
//!
//! ```toml
//! about = "a notebook"
//! origin = "its maker"
//! assumes = ["…"]
//! fitted = ["…"]          # what was chosen so that a result comes out
//! [[package]]
//! state = "PC10"          # `other` is any state that has no section of its own
//! mw = "37..88"           # or one figure: mw = 62.5
//! exit_uj = "0..1300"     # each time that a wake-up finds the package there; nothing if left out
//! [[cpu]]                 # what a CPU takes on top of that; may be left out
//! state = "C0"            # with the kind before it where a table has several: `big C0`
//! mw = 20
//! ```
//!
//! Everything is counted in whole femtojoules (a microwatt for a nanosecond).

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::shown::{Energy, Idled, Residency};
use crate::base::error::Error;
use crate::idling::Table;
use crate::text::file::{BuiltIn, File, Text, built_in, names};

/// The files that are part of the program.
const BUILT_IN: BuiltIn = built_in!["power": "two-states" "video" "phone"];

/// Any state without a figure of its own.
const OTHER: &str = "other";

/// A figure and how far it may be off: at least, at most.
type Range = (u64, u64);

/// A profile of power.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name, or the path of its file, as given.
    #[serde(skip)]
    pub name: String,
    /// What it is a profile of.
    pub about: String,
    /// Where its figures come from.
    pub origin: String,
    /// What it assumes, in words.
    #[serde(default)]
    pub assumes: Vec<String>,
    /// What was chosen so that a published figure comes out, in words.
    #[serde(default)]
    pub fitted: Vec<String>,
    #[serde(default)]
    package: Vec<Cost>,
    #[serde(default)]
    cpu: Vec<Cost>,
}

/// What a state costs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cost {
    state: String,
    /// Microwatts.
    #[serde(rename = "mw", deserialize_with = "thousandth")]
    uw: Range,
    /// Nanojoules, each time that it is left.
    #[serde(rename = "exit_uj", default, deserialize_with = "thousandth")]
    exit_nj: Range,
}

impl Profile {
    /// The profile of this name, or in the file of this path.
    ///
    /// ```
    /// let profile = quiescent_sim::idling::Profile::named("two-states")?;
    /// assert!(!profile.fitted.is_empty(), "it says that it is fitted");
    /// # Ok::<(), quiescent_sim::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is neither, or the file is wrong.
    pub fn named(name: &str) -> Result<Arc<Profile>, Error> {
        let file = File::find("power", name.as_ref(), BUILT_IN);
        let file = file.map_err(|why| Error::no_file("power", name, &why, &names(BUILT_IN)))?;
        Profile::of(name, &file).map(Arc::new)
    }

    /// The names of those that are part of the program.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|it| it.0)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is wrong; with the line and the column.
    pub fn read(name: &str, file: &str, text: &str) -> Result<Profile, Error> {
        let (file, text) = (file.into(), text.into());
        Profile::of(name, &File { name: file, text })
    }

    fn of(name: &str, file: &File) -> Result<Profile, Error> {
        let it: Profile = file.read()?;
        if it.package.is_empty() {
            return Err(file.wrong(
                0,
                "a profile has a state of the package: [[package]]".into(),
            ));
        }
        let name = name.into();
        Ok(Profile { name, ..it })
    }

    /// Is there a figure for every state of the package, and a state for every figure? What is wrong, if not.
    pub(crate) fn fits(&self, table: &Table) -> Result<(), String> {
        let states = table.package_names();
        let list = states.join(", ");
        let known = |it: &Cost| it.state == OTHER || states.contains(&it.state.as_str());
        let (power, name) = (&self.name, &table.name);
        if let Some(it) = self.package.iter().find(|it| !known(it)) {
            let state = &it.state;
            return Err(format!(
                "`power={power}` has a figure for {state}, which `idle_table={name}` has not: its states \
                 are {list}; give another of the two"
            ));
        }
        match states.iter().find(|it| cost(&self.package, it).is_none()) {
            Some(state) => Err(format!(
                "`power={power}` has no figure for {state} of `idle_table={name}`: give one, or one for \
                 `other`, or another profile"
            )),
            None => Ok(()),
        }
    }

    /// What it all took: states, and times that a wake-up found the package in each.
    pub(crate) fn energy(&self, idled: &Idled, exits: &[(String, u64)]) -> Energy {
        let mut sum = (0u128, 0u128);
        let mut add = |range: Range, times: u128| {
            sum.0 += u128::from(range.0) * times;
            sum.1 += u128::from(range.1) * times;
        };
        let times = |costs: &[Cost], states: &[Residency], add: &mut dyn FnMut(Range, u128)| {
            for it in states {
                if let Some(cost) = cost(costs, &it.name) {
                    add(cost.uw, it.ns.into());
                }
            }
        };
        times(&self.package, &idled.package, &mut add);
        times(&self.cpu, &idled.cpus, &mut add);
        for (state, count) in exits {
            if let Some(cost) = cost(&self.package, state) {
                add(cost.exit_nj, 1_000_000 * u128::from(*count));
            }
        }
        Energy {
            profile: self.name.clone(),
            fitted: !self.fitted.is_empty(),
            low: sum.0,
            high: sum.1,
            ns: idled.ns,
        }
    }
}

/// What a state costs: its own figure, or that of any other.
fn cost<'a>(costs: &'a [Cost], state: &str) -> Option<&'a Cost> {
    let of = |name: &str| costs.iter().find(|it| it.state == name);
    of(state).or_else(|| of(OTHER))
}

const RANGE: &str = "a figure such as 62.5, or a range such as 37..88, of at most three decimals";

fn thousandth<'de, D: Deserializer<'de>>(from: D) -> Result<Range, D::Error> {
    let Text(given) = Text::deserialize(from)?;
    range(&given).ok_or_else(|| D::Error::custom(format!("`{given}`: give {RANGE}")))
}

/// A figure or a range, in thousandths.
fn range(text: &str) -> Option<Range> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (thousandths(low.trim())?, thousandths(high.trim())?);
    (low <= high).then_some((low, high))
}

fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    if whole.is_empty() || whole.len() > 9 || part.len() > 3 || !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    Some(whole.parse::<u64>().ok()? * 1000 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, ns: u64) -> Residency {
        Residency {
            name: name.into(),
            ns,
            of_ns: 0,
            entries: 0,
            too_deep: 0,
            too_shallow: 0,
        }
    }

    #[test]
    fn figures_and_ranges() {
        assert_eq!(range("62.5"), Some((62_500, 62_500)));
        assert_eq!(range("0 .. 1300"), Some((0, 1_300_000)));
        for text in ["", "..", "5..4", "-1", "1.2345", "a", "1e3", "9999999999"] {
            assert_eq!(range(text), None, "{text}");
        }
    }

    #[test]
    fn the_published_pair_comes_out_of_the_fitted_profile() {
        let profile = Profile::named("two-states").unwrap();
        profile.fits(&Table::named("alder-lake").unwrap()).unwrap();
        for (pct, published) in [(72.13, 0.58), (81.28, 0.41)] {
            let deep = (pct * 1e7) as u64;
            let idled = Idled {
                ns: 1_000_000_000,
                package: vec![state("PC8", 1_000_000_000 - deep), state("PC10", deep)],
                ..Idled::default()
            };
            let (low, high) = profile.energy(&idled, &[]).watts();
            assert!(low <= published && published <= high, "{low} {high}");
            assert!(high - low < 0.2 * published + 0.03, "{low} {high}");
        }
    }

    #[test]
    fn exits_and_cpus_cost_what_the_profile_says() {
        let text = "about = \"a\"\norigin = \"b\"\n[[package]]\nstate = \"other\"\nmw = \"1..2\"\nexit_uj = \
         3\n\
                    [[cpu]]\nstate = \"C0\"\nmw = 10\n";
        let profile = Profile::read("p", "p.toml", text).unwrap();
        let idled = Idled {
            ns: 1000,
            package: vec![state("PC0", 400), state("PC6", 600)],
            cpus: vec![state("C0", 500), state("C6", 3500)],
            ..Idled::default()
        };
        let exits = [("PC6".to_owned(), 7)];
        let energy = profile.energy(&idled, &exits);
        // Femtojoules: 1000 uW for 1000 ns, 10000 uW for 500 ns, seven times 3 uJ.
        let exits = 7 * 3_000_000_000;
        assert_eq!(energy.low, 1000 * 1000 + 10_000 * 500 + exits);
        assert_eq!(energy.high, 2000 * 1000 + 10_000 * 500 + exits);
    }

    #[test]
    fn a_profile_for_another_table_is_refused() {
        let profile = Profile::named("two-states").unwrap();
        let why = profile.fits(&Table::named("sandy-bridge").unwrap());
        assert!(why.unwrap_err().contains("PC10"));
        let text = "about = \"a\"\norigin = \"b\"\n[[package]]\nstate = \"PC0\"\nmw = 1\n";
        let one = Profile::read("p", "p.toml", text).unwrap();
        let why = one.fits(&Table::named("sandy-bridge").unwrap());
        assert!(why.unwrap_err().contains("no figure for PC2"));
        for (text, said) in [
            ("[[package]]\nstate = \"PC0\"\nmw = \"2..1\"\n", "62.5"),
            ("[[package]]\nstate = \"PC0\"\n", "missing field `mw`"),
            ("", "[[package]]"),
        ] {
            let text = format!("about = \"a\"\norigin = \"b\"\n{text}");
            let why = Profile::read("p", "p.toml", &text).unwrap_err().to_string();
            assert!(why.contains(said) && why.contains("p.toml"), "{why}");
        }
    }
}
