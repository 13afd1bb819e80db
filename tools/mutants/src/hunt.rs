//! Tries every mutant on every program that reaches it, quick programs first, until one kills it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Part;
use crate::compile::{self, Program};
use crate::program::{self, End, Probe, Time};
use crate::results;
use crate::tree::Tree;

/// What became of mutants.
#[derive(Default)]
pub struct Hunt {
    /// By which program, and how.
    pub killed: BTreeMap<u32, (String, End)>,
    /// A program was run with it, and passed.
    pub passed: BTreeSet<u32>,
}

/// What a mutant may take for a program that takes `took` without it.
fn limit(took: Time) -> Time {
    Time {
        busy: 5 * took.busy + Duration::from_secs(1),
        wall: 10 * took.wall + Duration::from_secs(5),
    }
}

/// Runs a program on those of `mutants` that are alive and that it reaches.
pub fn hunt(hunt: &mut Hunt, probe: &Probe, mutants: &[u32], part: &Part) -> Result<(), String> {
    let start = Instant::now();
    let reaches = |id: &u32| probe.reached.get(*id as usize) == Some(&true);
    let alive = mutants.iter().filter(|id| !hunt.killed.contains_key(id));
    let alive: Vec<u32> = alive.copied().filter(reaches).collect();
    let ends = all(probe, &alive, part)?;
    let (mut failed, mut hung) = (0, 0);
    for (id, end) in ends {
        match end {
            End::Passed => drop(hunt.passed.insert(id)),
            End::Failed => failed += 1,
            End::Hung => hung += 1,
        }
        if end != End::Passed {
            hunt.killed.insert(id, (probe.program.name.clone(), end));
        }
    }
    eprintln!(
        "{:28} {:7.2} s; {:5} tried, {failed:5} killed, {hung:4} killed by a hang; {:5} s",
        probe.program.name,
        probe.took.busy.as_secs_f64(),
        alive.len(),
        start.elapsed().as_secs()
    );
    Ok(())
}

/// Those that cannot be compiled in: each alone in the sources as they are, with programs that are built for it.
/// The table in `out` is written after each: one takes as long as a build.
pub fn rest(
    hunt: &mut Hunt,
    tree: &mut Tree,
    probes: &[Probe],
    part: &Part,
    out: &Path,
) -> Result<(), String> {
    let start = Instant::now();
    let rest: Vec<u32> = tree.rest.iter().copied().collect();
    let mut killed = 0;
    for &id in &rest {
        tree.plain(Some(id))?;
        match one(tree, probes, part)? {
            None => drop(tree.unviable.insert(id)),
            Some((_, End::Passed)) => drop(hunt.passed.insert(id)),
            Some(end) => {
                hunt.killed.insert(id, end);
                killed += 1;
            }
        }
        tree.rest.remove(&id);
        results::table(part.name, tree, hunt, out)?;
    }
    tree.plain(None)?;
    eprintln!(
        "{:28} {:5} tried, {killed} killed; {} s",
        "one at a time",
        rest.len(),
        start.elapsed().as_secs()
    );
    Ok(())
}

/// The program that kills the mutant that is in the tree now, or the last that passed; `None`: it does not compile.
fn one(tree: &Tree, probes: &[Probe], part: &Part) -> Result<Option<(String, End)>, String> {
    let mut last = None;
    for words in part.rest {
        let Ok(programs) = compile::programs(&tree.root, words) else {
            return Ok(None);
        };
        for probe in probes {
            let old = &probe.program;
            let Some(new) = programs.iter().find(|p| p.target == old.target) else {
                continue;
            };
            let program = &Program {
                path: new.path.clone(),
                ..old.clone()
            };
            let end = attempt(probe, program, 0, part)?;
            last = Some((program.name.clone(), end));
            if end != End::Passed {
                return Ok(last);
            }
        }
    }
    Ok(last)
}

/// Runs a program on one mutant. On a busy machine a test with real threads and clocks may fail by itself: there it takes two
/// failures in a row.
fn attempt(probe: &Probe, program: &Program, id: u32, part: &Part) -> Result<End, String> {
    let run = || {
        program::run(
            program,
            ("MUTANT", &id.to_string()),
            limit(probe.took),
            Path::new("/dev/null"),
        )
    };
    match run()? {
        End::Failed if program.name.starts_with(part.real) => run(),
        end => Ok(end),
    }
}

/// One program on many mutants.
fn all(probe: &Probe, mutants: &[u32], part: &Part) -> Result<Vec<(u32, End)>, String> {
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = |_| -> Result<(), String> {
        while let Some(id) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let end = attempt(probe, &probe.program, *id, part)?;
            ends.lock()
                .unwrap_or_else(|e| e.into_inner())
                .push((*id, end));
        }
        Ok(())
    };
    program::at_once(worker)?;
    Ok(ends.into_inner().unwrap_or_else(|e| e.into_inner()))
}
