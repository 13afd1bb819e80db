//! Mutation testing by schemata: all mutants of a crate are compiled into one copy of it, and one is chosen when a test
//! program starts, so that nothing is compiled twice. For `ci/mutants`, which makes the copy and asks `cargo mutants` for the list.
//!
//! `list.rs` reads the list, `wraps.rs` finds each mutant in its file and says what to insert, `tree.rs` writes the copy and the
//! switch (`switch.rs`), `compile.rs` leaves out what does not compile and builds the programs, `program.rs` runs one,
//! `hunt.rs` all, and `results.rs` says what came of it. `earlier.rs` knows what came of an earlier run.

mod compile;
mod earlier;
mod hunt;
mod list;
mod program;
mod results;
mod tree;
mod wraps;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: quiescent-mutants engine|library TREE LIST.json EXPLAINED OUT [K/N] [--again] [--most SECONDS]
TREE is a copy of the sources, which is changed; OUT a folder for results. --again: what the table in OUT says was killed is not tried.
--most: programs that take longer are not used.";

/// So many programs run at the same time.
const JOBS: usize = 2;

/// What is mutated, and what has to notice.
struct Part {
    name: &'static str,
    /// The crates that get the switch.
    crates: &'static [&'static str],
    check: &'static [&'static str],
    /// What is built: words for `cargo test`, a build each, one after the other for those that are still alive.
    build: &'static [&'static [&'static str]],
    /// What is built again and again, for the mutants that cannot be compiled in.
    rest: &'static [&'static [&'static str]],
    /// How the names of programs begin that have real threads and clocks.
    real: &'static str,
    /// A program that takes longer is not used, in seconds.
    most: u64,
}

const PARTS: [Part; 2] = [
    Part {
        name: "engine",
        crates: &["lib/engine"],
        check: &["-p", "quiescent-engine"],
        build: &[
            &["-p", "quiescent-engine", "-p", "quiescent-harness", "--lib", "--tests"],
            &["-p", "quiescent-sim", "--test", "oracle"],
        ],
        rest: &[
            &["-p", "quiescent-engine", "--lib"],
            &["-p", "quiescent-harness", "--tests"],
        ],
        real: "no program",
        most: 300,
    },
    Part {
        name: "library",
        crates: &[
            "lib/quiescent",
            "check/models/check-double",
            "check/models/check-loom",
        ],
        check: &[
            "-p",
            "quiescent",
            "-p",
            "quiescent-check-double",
            "-p",
            "quiescent-check-loom",
        ],
        build: &[
            &["-p", "quiescent", "--lib"],
            &[
                "-p",
                "quiescent-check-double",
                "-p",
                "quiescent-check-loom",
                "--tests",
            ],
            &["-p", "quiescent", "--tests", "--examples"],
        ],
        rest: &[
            &["-p", "quiescent", "--lib"],
            &["-p", "quiescent-check-double", "--tests"],
        ],
        real: "quiescent/",
        most: 5,
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ci/mutants: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<bool, String> {
    let [part, tree, list, explained, out, more @ ..] = words else {
        return Err(USAGE.to_owned());
    };
    let (mut shard, mut again, mut most) = (None, false, None);
    let mut more = more.iter();
    while let Some(word) = more.next() {
        match &**word {
            "--again" => again = true,
            "--most" => most = Some(more.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?),
            word => shard = Some(numbers(word).ok_or(USAGE)?),
        }
    }
    let part = PARTS.iter().find(|p| p.name == part).ok_or(USAGE)?;
    let most = Duration::from_secs(most.unwrap_or(part.most).min(part.most));
    let (tree, out) = (PathBuf::from(tree), PathBuf::from(out));
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let mutants = list::read(&read(Path::new(list))?, &tree, shard)?;
    let explained = results::explained(&read(Path::new(explained))?);

    let mut tree = tree::Tree::new(&tree, part.crates, mutants)?;
    let mut hunt = hunt::Hunt::default();
    if again {
        let killed = earlier::take(part.name, &out, &mut tree, &mut hunt)?;
        eprintln!("{}: {killed} were killed earlier", part.name);
    }
    compile::settle(&mut tree, part.check)?;
    eprintln!(
        "{}: {} mutants; {} are compiled in, {} do not compile, {} cannot be compiled in",
        part.name,
        tree.mutants.len(),
        tree.wrapped().count(),
        tree.unviable.len(),
        tree.rest.len()
    );
    let ids: Vec<u32> = tree.wrapped().map(|m| m.id).collect();
    let mut probes = Vec::new();
    let mut seen = BTreeSet::new(); // `--tests` builds the unit tests once more
    for words in part.build {
        if ids.iter().all(|id| hunt.killed.contains_key(id)) {
            break; // nobody is left to be tried
        }
        let mut programs = compile::programs(&tree.root, words)?;
        programs.retain(|program| seen.insert(program.target.clone()));
        let mut new = program::probe_all(&programs, &out, most)?;
        new.sort_by_key(|probe| probe.took.busy.max(probe.took.wall));
        for probe in &new {
            hunt::hunt(&mut hunt, probe, &ids, part)?;
            results::table(part.name, &tree, &hunt, &out)?;
        }
        probes.append(&mut new);
    }
    hunt::rest(&mut hunt, &mut tree, &probes, part, &out)?;
    results::table(part.name, &tree, &hunt, &out)?;
    Ok(results::report(
        part.name,
        &tree,
        &hunt,
        &explained,
        shard.is_some(),
    ))
}

/// `K/N`.
fn numbers(shard: &str) -> Option<(usize, usize)> {
    let (k, n) = shard.split_once('/')?;
    Some((k.parse().ok()?, n.parse().ok()?))
}
