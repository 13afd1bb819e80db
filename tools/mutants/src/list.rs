//! The mutants there are, as `cargo mutants --list --json` tells them.
//!
//! A mutant has a number, its place in that list counted from one, and a name, which says the file, the line and what is
//! changed. The name without line and column is its `key`: the list of explained mutants uses it, so that it does not
//! change with every line that is added above.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// What kind of change it is, which says how it is wrapped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Genre {
    /// The body of a function becomes a value.
    Body,
    /// Another operator.
    Binary,
    /// An operator less.
    Unary,
    /// A match arm less.
    Arm,
    /// A guard that is always true, or never.
    Guard,
    /// A field less in an expression that has a base.
    Field,
}

/// One mutant.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub id: u32,
    pub genre: Genre,
    pub file: String,
    /// What is replaced, as bytes of the file.
    pub start: usize,
    pub end: usize,
    pub replacement: String,
    /// File, line, column, and what is changed.
    pub name: String,
    /// The same without line and column, and with `#2` for the second in the file that would be called so.
    pub key: String,
}

/// The list in `json`, whose files are below `tree`; every `of`th from `shard` on, if a part is wanted.
pub fn read(json: &str, tree: &Path, part: Option<(usize, usize)>) -> Result<Vec<Mutant>, String> {
    let value: Value =
        serde_json::from_str(json).map_err(|e| format!("the list of mutants: {e}"))?;
    let all = value.as_array().ok_or("the list of mutants is no list")?;
    let (mut texts, mut seen) = (BTreeMap::new(), BTreeMap::new());
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let mutant = mutant(at as u32 + 1, one, tree, &mut texts);
        let mut mutant =
            mutant.ok_or_else(|| format!("mutant {at} of the list is not understood: {one}"))??;
        let times = seen.entry(mutant.key.clone()).or_insert(0);
        *times += 1;
        if *times > 1 {
            mutant.key += &format!(" #{times}");
        }
        if part.is_none_or(|(shard, of)| at % of == shard) {
            found.push(mutant);
        }
    }
    Ok(found)
}

/// `None`: something is missing in it.
fn mutant(
    id: u32,
    one: &Value,
    tree: &Path,
    texts: &mut BTreeMap<String, String>,
) -> Option<Result<Mutant, String>> {
    let file = one["file"].as_str()?.to_owned();
    if !texts.contains_key(&file) {
        match std::fs::read_to_string(tree.join(&file)) {
            Ok(text) => texts.insert(file.clone(), text),
            Err(e) => return Some(Err(format!("{file}: {e}"))),
        };
    }
    let text = &texts[&file];
    let offset = |end: &str| {
        let place = &one["span"][end];
        offset(
            text,
            place["line"].as_u64()? as usize,
            place["column"].as_u64()? as usize,
        )
    };
    let name = one["name"].as_str()?.to_owned();
    let (_, what) = name.split_once(": ")?;
    Some(Ok(Mutant {
        key: format!("{file}: {what}"),
        id,
        genre: match one["genre"].as_str()? {
            "FnValue" => Genre::Body,
            "BinaryOperator" => Genre::Binary,
            "UnaryOperator" => Genre::Unary,
            "MatchArm" => Genre::Arm,
            "MatchArmGuard" => Genre::Guard,
            "StructField" => Genre::Field,
            _ => return None,
        },
        start: offset("start")?,
        end: offset("end")?,
        replacement: one["replacement"].as_str()?.to_owned(),
        name,
        file,
    }))
}

/// The byte at a line and a column, both counted from one, columns in characters.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let start: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let rest = text.get(start..)?;
    let within = rest
        .char_indices()
        .nth(column - 1)
        .map_or(rest.len(), |(at, _)| at);
    Some(start + within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let text = "ab\nä+b\n";
        assert_eq!(offset(text, 1, 1), Some(0));
        assert_eq!(offset(text, 2, 2), Some(5));
        assert_eq!(
            &text[offset(text, 2, 2).unwrap()..offset(text, 2, 3).unwrap()],
            "+"
        );
    }
}
