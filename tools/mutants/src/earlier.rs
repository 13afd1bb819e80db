//! What an earlier run found: its table, `PART.tsv` (see `results.rs`), so that a run after tests were written tries only what was not killed.
//!
//! It is believed about a file only if the file's mutants are the same ones at the same places. That says nothing about code in other
//! files, nor about tests that were taken away: a figure that is to be quoted wants a run without it, or a word that says so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::hunt::Hunt;
use crate::list::Mutant;
use crate::program::End;
use crate::tree::Tree;

/// Rows of a table by the mutant's name: fate, program.
type Rows<'a> = BTreeMap<&'a str, (&'a str, &'a str)>;

/// Notes in `tree` and `hunt` what the table of this part in the folder `out` says. How many were killed.
pub fn take(part: &str, out: &Path, tree: &mut Tree, hunt: &mut Hunt) -> Result<usize, String> {
    let path = out.join(format!("{part}.tsv"));
    let text = std::fs::read_to_string(&path).map_err(|e| {
        format!(
            "{}: {e}: --again wants the table of an earlier run",
            path.display()
        )
    })?;
    let rows = rows(&text);
    let same = same_files(&rows, &tree.mutants);
    let known = tree.mutants.iter().filter(|m| same.contains(&m.file));
    for mutant in known {
        let (id, (fate, by)) = (mutant.id, rows[&*mutant.name]);
        match fate {
            "killed" => drop(hunt.killed.insert(id, (by.to_owned(), End::Failed))),
            "hangs" => drop(hunt.killed.insert(id, (by.to_owned(), End::Hung))),
            "unviable" => drop(tree.unviable.insert(id)),
            "rest" => drop(tree.rest.insert(id)),
            _ => {}
        }
    }
    tree.known = hunt.killed.keys().copied().collect();
    Ok(hunt.killed.len())
}

fn rows(text: &str) -> Rows<'_> {
    let row = |line| {
        let mut words = str::split(line, '\t').skip(1);
        let (fate, by, name) = (words.next()?, words.next()?, words.next()?);
        Some((name, (fate, by)))
    };
    text.lines().filter_map(row).collect()
}

/// The files that have the mutants they had then, and no others.
fn same_files(rows: &Rows<'_>, mutants: &[Mutant]) -> BTreeSet<String> {
    let mut now = BTreeMap::<&str, BTreeSet<&str>>::new();
    for mutant in mutants {
        now.entry(&mutant.file).or_default().insert(&mutant.name);
    }
    let mut then = BTreeMap::<&str, BTreeSet<&str>>::new();
    for &name in rows.keys() {
        let file = name.split_once(':').map_or(name, |(file, _)| file);
        then.entry(file).or_default().insert(name);
    }
    let same = now
        .iter()
        .filter(|(file, names)| then.get(*file) == Some(names));
    same.map(|(file, _)| (*file).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Genre;

    fn mutant(id: u32, file: &str, name: &str) -> Mutant {
        Mutant {
            id,
            genre: Genre::Binary,
            file: file.to_owned(),
            start: 0,
            end: 1,
            replacement: String::new(),
            name: name.to_owned(),
            key: String::new(),
        }
    }

    #[test]
    fn a_file_is_believed_if_its_mutants_are_where_they_were() {
        let text = "1\tkilled\tp\ta.rs:1:1: x\tk\n2\tsurvives\t\ta.rs:2:1: y\tk\n3\thangs\tp\tb.rs:1:1: x\tk\n";
        let rows = rows(text);
        assert_eq!(rows["b.rs:1:1: x"], ("hangs", "p"));
        let (x, y) = (
            mutant(7, "a.rs", "a.rs:1:1: x"),
            mutant(8, "a.rs", "a.rs:2:1: y"),
        );
        let moved = mutant(9, "b.rs", "b.rs:2:1: x");
        let same = same_files(&rows, &[x.clone(), y, moved]);
        assert_eq!(same.into_iter().collect::<Vec<_>>(), ["a.rs"]);
        assert!(same_files(&rows, &[x]).is_empty(), "one is gone");
    }
}
