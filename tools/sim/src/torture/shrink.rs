//! A case with a finding, made smaller.
//!
//! Greedy: the first simpler case that still has a finding of the same kind is taken, and the search starts
//! again from it. It ends with a case that no single step makes simpler, or at the limit of runs. Steps, the
//! largest first: half of the actors, one actor, half of an actor's actions, a kind of fault, an option set
//! back to the kernel's default, one CPU less.

use super::{Case, Finding, run};
use crate::input::options::Options;
use crate::kernel::state::Faults;
use crate::load::settings;

/// The result.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The case.
    pub case: Case,
    /// What it finds.
    pub finding: Finding,
    /// Runs that it took.
    pub runs: u64,
}

/// Makes `case` smaller, which has a finding; none if it has none. At most so many runs.
pub fn shrink(case: &Case, most_runs: u64) -> Option<Shrunk> {
    shrink_by(case, most_runs, |case| run(case, false).finding)
}

/// The same for any function that `finds` a finding.
fn shrink_by(
    case: &Case,
    most_runs: u64,
    finds: impl Fn(&Case) -> Option<Finding>,
) -> Option<Shrunk> {
    let mut shrunk = Shrunk {
        case: case.clone(),
        finding: finds(case)?,
        runs: 1,
    };
    while let Some((case, finding)) = simpler(&mut shrunk, most_runs, &finds) {
        (shrunk.case, shrunk.finding) = (case, finding);
    }
    Some(shrunk)
}

/// The first simpler case with a finding of the same kind.
fn simpler(
    shrunk: &mut Shrunk,
    most_runs: u64,
    finds: impl Fn(&Case) -> Option<Finding>,
) -> Option<(Case, Finding)> {
    for case in candidates(&shrunk.case) {
        if shrunk.runs >= most_runs {
            return None;
        }
        shrunk.runs += 1;
        let finding = finds(&case).filter(|it| it.kind == shrunk.finding.kind);
        if let Some(finding) = finding {
            return Some((case, finding));
        }
    }
    None
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let n = case.actors.len();
    if n > 2 {
        all.push(with(case, |it| it.actors.truncate(n / 2)));
        all.push(with(case, |it| drop(it.actors.drain(..n / 2))));
    }
    if case.faults != Faults::default() {
        all.push(with(case, |it| it.faults = Faults::default()));
    }
    if n > 1 {
        let without = |actor| with(case, |it| _ = it.actors.remove(actor));
        all.extend((0..n).map(without));
    }
    for actor in (0..n).filter(|&it| case.actors[it].deeds > 1) {
        all.push(with(case, |it| it.actors[actor].deeds /= 2));
        all.push(with(case, |it| it.actors[actor].deeds -= 1));
    }
    all.extend(fewer_faults(case));
    all.extend(defaults(case));
    all.extend(fewer_cpus(case));
    all
}

fn with(case: &Case, change: impl FnOnce(&mut Case)) -> Case {
    let mut case = case.clone();
    change(&mut case);
    case
}

fn fewer_faults(case: &Case) -> Vec<Case> {
    let kinds: [fn(&mut Faults); 7] = [
        |it| it.late = 0,
        |it| it.starved = 0,
        |it| it.lost = 0,
        |it| it.late_interrupts = 0,
        |it| it.lost_interrupts = 0,
        |it| it.standstills = 0,
        |it| it.skew = 0,
    ];
    let cases = kinds.map(|kind| with(case, |it| kind(&mut it.faults)));
    cases.into_iter().filter(|it| it != case).collect()
}

/// One option each is what the kernel has.
fn defaults(case: &Case) -> Vec<Case> {
    let options = &case.options;
    let default = Options::kernel_6_12(options.cpus, options.hz);
    let settings = settings::SETTINGS.iter();
    let settings = settings.filter(|it| !matches!(it.key, "cpus" | "hz" | "seed"));
    let changed = settings.filter(|it| it.get(options) != it.get(&default));
    changed
        .filter_map(|setting| {
            let mut simpler = case.clone();
            let value = setting.get(&default);
            settings::apply(&mut simpler.options, &[(setting.key, &value)]).ok()?;
            Some(simpler)
        })
        .collect()
}

fn fewer_cpus(case: &Case) -> Option<Case> {
    let cpus = case.options.cpus.checked_sub(1).filter(|&it| it > 0)?;
    Some(with(case, |it| {
        it.options.cpus = cpus;
        it.options.nocbs.retain(|&cpu| cpu < cpus);
        it.options.gp_cpu %= cpus;
        let gp_cpu = it.options.gp_cpu;
        it.options
            .nohz_full
            .retain(|&cpu| cpu < cpus && cpu != gp_cpu);
        for actor in &mut it.actors {
            actor.cpu %= cpus;
            actor.plugs = actor.plugs.min(cpus);
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torture::Kind;

    /// What only a case with this much of everything shows.
    fn finds(case: &Case) -> Option<Finding> {
        let busy = case.actors.iter().filter(|it| it.deeds >= 10).count();
        let found = busy > 1 && case.faults.late > 0 && case.options.cpus > 2 && case.options.lazy;
        found.then(|| Finding {
            kind: Kind::Stuck,
            at: 0,
            words: Vec::new(),
        })
    }

    #[test]
    fn only_what_it_takes_is_left() {
        let cases = (0..1000).map(Case::of_seed);
        let failing: Vec<Case> = cases.filter(|it| finds(it).is_some()).take(20).collect();
        assert_eq!(failing.len(), 20);
        for case in failing {
            let least = shrink_by(&case, 10_000, finds).expect("it fails").case;
            let deeds: Vec<u64> = least.actors.iter().map(|it| it.deeds).collect();
            assert_eq!((deeds, least.options.cpus), (vec![10, 10], 3));
            let late = case.faults.late;
            let only_late = Faults {
                late,
                ..Faults::default()
            };
            assert_eq!(least.faults, only_late);
            let mut kernel = Options::kernel_6_12(3, least.options.hz);
            (kernel.lazy, kernel.seed) = (true, case.options.seed);
            assert_eq!(least.options, kernel);
        }
    }

    #[test]
    fn it_stops_when_it_may_not_run_any_more() {
        let case = (0..1000).map(Case::of_seed).find(|it| finds(it).is_some());
        let case = case.expect("one of a thousand");
        assert_eq!(shrink_by(&case, 5, finds).expect("it fails").runs, 5);
        assert!(shrink_by(&case, 5, |_| None).is_none());
    }
}
