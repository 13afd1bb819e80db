//! A copy of the sources with every mutant of a list in it, and the switch they are chosen with.
//!
//! The originals are kept in memory: mutants that turn out not to compile are left out and the files written again. Every
//! file that is written tells afterwards whose text each of its bytes is, so that an error of the compiler can be
//! laid at a mutant's door.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::list::Mutant;
use crate::wraps::{self, Insert};

/// What the copies of crates are given: the crate `mutant`.
const SWITCH: &str = include_str!("switch.rs");
const MANIFEST: &str = "[package]\nname = \"mutant\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";

pub struct Tree {
    pub root: PathBuf,
    originals: BTreeMap<String, String>,
    pub mutants: Vec<Mutant>,
    /// Neither wrapped nor known not to compile.
    pub rest: BTreeSet<u32>,
    pub unviable: BTreeSet<u32>,
    /// Killed in an earlier run: left out.
    pub known: BTreeSet<u32>,
    written: BTreeMap<String, Written>,
}

/// Whose bytes are where, in one file that has been written.
#[derive(Default)]
struct Written {
    /// What is there for one mutant's sake.
    claims: Vec<(u32, Range<usize>)>,
    /// What decides whether it compiles: where neither of the branches is at fault.
    around: Vec<(u32, Range<usize>)>,
}

impl Tree {
    /// The sources below `root`, in which `crates` (folders) get the switch.
    pub fn new(root: &Path, crates: &[&str], mutants: Vec<Mutant>) -> Result<Tree, String> {
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
        };
        let source = root.join("mutant/src");
        std::fs::create_dir_all(&source).map_err(|e| format!("{}: {e}", source.display()))?;
        write(&source.join("lib.rs"), SWITCH)?;
        write(&root.join("mutant/Cargo.toml"), MANIFEST)?;
        for folder in crates {
            let path = root.join(folder).join("Cargo.toml");
            let old =
                std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            if !old.contains("\nmutant = ") {
                let line = "mutant = { path = \"../../mutant\" }\n";
                let new = match old.split_once("\n[dependencies]\n") {
                    Some((before, after)) => format!("{before}\n[dependencies]\n{line}{after}"),
                    None => format!("{old}\n[dependencies]\n{line}"),
                };
                write(&path, &new)?;
            }
        }
        let mut originals = BTreeMap::new();
        for mutant in &mutants {
            if !originals.contains_key(&mutant.file) {
                let text = std::fs::read_to_string(root.join(&mutant.file));
                let text = text.map_err(|e| format!("{}: {e}", mutant.file))?;
                originals.insert(mutant.file.clone(), text);
            }
        }
        Ok(Tree {
            root: root.to_owned(),
            originals,
            mutants,
            rest: BTreeSet::new(),
            unviable: BTreeSet::new(),
            known: BTreeSet::new(),
            written: BTreeMap::new(),
        })
    }

    /// Writes all files with the mutants that may compile.
    pub fn write(&mut self) -> Result<(), String> {
        for (file, text) in &self.originals {
            let mine = self.mutants.iter().filter(|m| &m.file == file);
            let mine: Vec<&Mutant> = mine.filter(|m| self.may_be_wrapped(m.id)).collect();
            let found = wraps::wraps(text, &mine).map_err(|e| format!("{file}: {e}"))?;
            self.unviable.extend(&found.unviable);
            let wrapped: BTreeSet<u32> = found.wrapped.iter().map(|(id, _)| *id).collect();
            let left = mine
                .iter()
                .filter(|m| !wrapped.contains(&m.id) && !found.unviable.contains(&m.id));
            self.rest.extend(left.map(|m| m.id));
            let (new, written) = render(text, found.inserts, &found.wrapped);
            let path = self.root.join(file);
            std::fs::write(&path, new).map_err(|e| format!("{}: {e}", path.display()))?;
            self.written.insert(file.clone(), written);
        }
        Ok(())
    }

    /// Those that are compiled in.
    pub fn wrapped(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|m| self.may_be_wrapped(m.id))
    }

    fn may_be_wrapped(&self, id: u32) -> bool {
        ![&self.rest, &self.unviable, &self.known]
            .iter()
            .any(|out| out.contains(&id))
    }

    /// Whose text a place of a written file is: the mutants that have it for their own sake.
    pub fn claimed(&self, file: &str, place: &Range<usize>) -> Vec<u32> {
        let claims = self
            .written
            .get(file)
            .map(|w| &w.claims[..])
            .unwrap_or_default();
        let has = |range: &Range<usize>| range.start <= place.start && place.end <= range.end;
        claims
            .iter()
            .filter(|(_, range)| has(range))
            .map(|(id, _)| *id)
            .collect()
    }

    /// The mutants in the smallest wrapped piece that has this place in it.
    pub fn around(&self, file: &str, place: &Range<usize>) -> Vec<u32> {
        let around = self
            .written
            .get(file)
            .map(|w| &w.around[..])
            .unwrap_or_default();
        let has =
            |range: &&(u32, Range<usize>)| range.1.start <= place.start && place.end <= range.1.end;
        let Some(least) = around
            .iter()
            .filter(has)
            .map(|(_, range)| range.len())
            .min()
        else {
            return Vec::new();
        };
        let smallest = around
            .iter()
            .filter(has)
            .filter(|(_, range)| range.len() == least);
        smallest.map(|(id, _)| *id).collect()
    }

    /// Writes all files as they are without mutants, but for one mutant, if there is one: in the place of what it
    /// replaces.
    pub fn plain(&self, one: Option<u32>) -> Result<(), String> {
        let one = self.mutants.iter().find(|m| Some(m.id) == one);
        for (file, text) in &self.originals {
            let path = self.root.join(file);
            let new = match one.filter(|m| &m.file == file) {
                Some(m) => format!("{}{}{}", &text[..m.start], m.replacement, &text[m.end..]),
                None => text.clone(),
            };
            // Written only if it is another: cargo goes by the time.
            if std::fs::read_to_string(&path).ok().as_ref() != Some(&new) {
                std::fs::write(&path, new).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// The text with all that is inserted, and whose bytes are where in it.
fn render(
    text: &str,
    mut inserts: Vec<Insert>,
    wrapped: &[(u32, Range<usize>)],
) -> (String, Written) {
    // At one byte: what is inside ends first, and what is outside begins first.
    inserts.sort_by_key(|i| {
        let turn = i.turn as isize;
        (i.at, !i.closes, if i.closes { -turn } else { turn })
    });
    let (mut new, mut from) = (String::with_capacity(text.len() * 3), 0);
    let mut written = Written::default();
    // Where the original's byte `at` is in the new text: before what is inserted there, or after it.
    let mut moved = BTreeMap::<usize, (usize, usize)>::new();
    for insert in inserts {
        new += &text[from..insert.at];
        from = insert.at;
        let start = new.len();
        new += &insert.text;
        let place = moved.entry(insert.at).or_insert((start, start));
        place.1 = new.len();
        let claims = insert.claims.into_iter();
        written
            .claims
            .extend(claims.map(|(id, r)| (id, start + r.start..start + r.end)));
    }
    new += &text[from..];
    let place = |at: usize, last: bool| match moved.range(..=at).next_back() {
        Some((&there, &(before, after))) if there == at => {
            if last {
                after
            } else {
                before
            }
        }
        Some((&there, &(_, after))) => after + (at - there),
        None => at,
    };
    for (id, range) in wrapped {
        written
            .around
            .push((*id, place(range.start, false)..place(range.end, true)));
    }
    (new, written)
}

#[cfg(test)]
mod tests;
