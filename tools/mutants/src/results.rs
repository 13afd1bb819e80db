//! What came of it: the part that was killed, file by file, and the survivors by name, less those that are explained.
//!
//! The list of explained mutants has comments (`#`), which say why, and names as they are printed here: without line and
//! column, and with `#2` for the second of several in one file that would be called the same. A name that fits no survivor is a
//! finding: it is killed by now, or gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::hunt::Hunt;
use crate::program::End;
use crate::tree::Tree;

/// The names in a list of explained mutants.
pub fn explained(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim);
    let names = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    names.map(str::to_owned).collect()
}

#[derive(Default)]
struct Row {
    viable: usize,
    killed: usize,
    hung: usize,
    explained: usize,
    left: usize,
}

/// Writes a table to `PART.tsv` in the folder `out`: number, fate, program, name.
pub fn table(part: &str, tree: &Tree, hunt: &Hunt, out: &Path) -> Result<(), String> {
    let mut text = String::new();
    for mutant in &tree.mutants {
        let id = mutant.id;
        let (fate, by) = match hunt.killed.get(&id) {
            _ if tree.unviable.contains(&id) => ("unviable", ""),
            Some((program, End::Hung)) => ("hangs", program.as_str()),
            Some((program, _)) => ("killed", program.as_str()),
            None if tree.rest.contains(&id) => ("rest", ""),
            None if hunt.passed.contains(&id) => ("survives", ""),
            None => ("unreached", ""),
        };
        let _ = writeln!(text, "{id}\t{fate}\t{by}\t{}\t{}", mutant.name, mutant.key);
    }
    let path = out.join(format!("{part}.tsv"));
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Prints everything; true if nothing is left and the list of explained mutants is right.
pub fn report(
    part: &str,
    tree: &Tree,
    hunt: &Hunt,
    explained: &BTreeSet<String>,
    incomplete: bool,
) -> bool {
    let mut rows = BTreeMap::<&str, Row>::new();
    let (mut survivors, mut met) = (Vec::new(), BTreeSet::new());
    for mutant in tree
        .mutants
        .iter()
        .filter(|m| !tree.unviable.contains(&m.id))
    {
        let row = rows.entry(&mutant.file).or_default();
        row.viable += 1;
        if let Some((_, end)) = hunt.killed.get(&mutant.id) {
            row.killed += 1;
            row.hung += usize::from(*end == End::Hung);
        } else if explained.contains(&mutant.key) {
            met.insert(&mutant.key);
            row.explained += 1;
        } else {
            row.left += 1;
            survivors.push(mutant);
        }
    }
    let mut all = Row::default();
    for (file, row) in &rows {
        println!("{}", line(file, row));
        all.viable += row.viable;
        all.killed += row.killed;
        all.hung += row.hung;
        all.explained += row.explained;
        all.left += row.left;
    }
    for mutant in &survivors {
        let how = if hunt.passed.contains(&mutant.id) {
            "survives"
        } else {
            "is reached by no test:"
        };
        println!(
            "{how} {} (line {})",
            mutant.key,
            mutant.name.split(':').nth(1).unwrap_or("?")
        );
    }
    let files: BTreeSet<&str> = tree.mutants.iter().map(|m| m.file.as_str()).collect();
    let mut stale = 0;
    for name in explained {
        let here = name
            .split_once(": ")
            .is_some_and(|(file, _)| files.contains(file));
        if here && !incomplete && !met.contains(name) {
            println!("explained, but no survivor: {name}");
            stale += 1;
        }
    }
    println!("{}", line(part, &all));
    survivors.is_empty() && stale == 0
}

fn line(name: &str, row: &Row) -> String {
    let part = 100.0 * row.killed as f64 / row.viable.max(1) as f64;
    format!(
        "{name}: {} of {} viable mutants killed ({} by a hang), {part:.1} %; {} explained, {} left",
        row.killed, row.viable, row.hung, row.explained, row.left
    )
}
