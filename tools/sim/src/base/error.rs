//! Errors of machines and workloads: the input, its place, and the remedy.

use std::fmt;

/// A request that makes no sense, or a file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No setting and no parameter has this name.
    UnknownKey {
        /// As it was given.
        key: String,
        /// The name that is nearest to it; empty if none is near.
        nearest: String,
    },
    /// The value is none that the key takes.
    Value {
        /// The key.
        key: String,
        /// The value as it was given.
        value: String,
        /// What it takes, in words.
        allowed: String,
    },
    /// It is no `key=value`.
    NotAnAssignment(String),
    /// The machine cannot be: the settings do not go together.
    Machine(String),
    /// No file of the program has this name, and there is no such file.
    NotFound {
        /// What was looked for, in a word.
        what: &'static str,
        /// The name.
        name: String,
        /// Why it cannot be read as a file.
        why: String,
        /// Those there are.
        known: String,
    },
    /// A workload's file is wrong.
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there, and what would do.
        why: String,
    },
}

impl Error {
    pub(crate) fn value(key: &str, value: &str, allowed: impl Into<String>) -> Error {
        Error::Value {
            key: key.into(),
            value: value.into(),
            allowed: allowed.into(),
        }
    }

    /// The file that the key's value names cannot be read.
    pub(crate) fn no_file(key: &str, name: &str, why: &str, known: &str) -> Error {
        let allowed = format!("`none`, one of {known}, or the path of a file (as a file: {why})");
        Error::value(key, name, allowed)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownKey { key, nearest } => {
                write!(f, "`{key}`: there is no such setting; ")?;
                if !nearest.is_empty() {
                    write!(f, "did you mean `{nearest}`? ")?;
                }
                f.write_str("`quiescent sim --list` has them all")
            }
            Error::Value {
                key,
                value,
                allowed,
            } => write!(f, "`{key}={value}`: {key} takes {allowed}"),
            Error::NotAnAssignment(text) => write!(
                f,
                "`{text}`: give a setting as key=value, such as early_qs=off"
            ),
            Error::Machine(why) => f.write_str(why),
            Error::NotFound {
                what,
                name,
                why,
                known,
            } => write!(
                f,
                "`{name}`: no such {what}, and as a file: {why}; give one of {known}, or the path of a file"
            ),
            Error::File {
                file,
                line,
                column,
                why,
            } => write!(f, "{file}: line {line}, column {column}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// The one of `known` that is nearest to `word`: one that begins so, or has it in it, or in which the fewest
/// letters have to be changed.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let key = |it: &&'a str| {
        let (begins, has) = (it.starts_with(word), it.contains(word));
        (!begins, !has, distance(word, it), *it)
    };
    let best = known.min_by_key(key);
    best.unwrap_or_default().to_owned()
}

/// Whether one may have been meant by the other: a part of it (any has a letter or two), or at most half of
/// the letters are wrong.
pub(crate) fn is_near(word: &str, known: &str) -> bool {
    word.len() > 2 && known.contains(word) || distance(word, known) * 2 <= word.chars().count()
}

/// Letters to be put in, taken out or replaced (Wagner and Fischer, 1974).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, b) in b.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &a) in a.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_that_was_meant() {
        let known = ["rcu_nocbs", "rcu_lazy", "early_qs"];
        let near = |word| nearest(word, known.into_iter());
        assert_eq!(near("early_gs"), "early_qs");
        assert_eq!(near("nocbs"), "rcu_nocbs");
        assert_eq!(near("lazy"), "rcu_lazy");
        assert_eq!(near("early"), "early_qs");
        assert!(is_near("lazy", "rcu_lazy") && is_near("ealry_qs", "early_qs"));
        assert!(!is_near("nosuch", "batch") && !is_near("x", "hz"));
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
