//! `--json-lines`: as `--json`, with the rows alone. Every command that has the one has the other, so it is
//! found before all arguments are parsed, and `--json` is parsed in its place.

use clap::{Arg, ArgAction};
use std::ffi::OsString;

const NAME: &str = "json-lines";

/// The option, for the help of each command.
pub fn option() -> Arg {
    let option = Arg::new(NAME).long(NAME).action(ArgAction::SetTrue);
    let help =
        "As --json, but the rows alone: one object a line, as DuckDB, Polars and Spark read them";
    option.global(true).help(help)
}

/// These arguments, with `--json` at the end of the program's own in place of the option; whether it was there.
pub fn replaced(arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, bool) {
    let mut all: Vec<OsString> = arguments.collect();
    // What follows `--` is not for this program.
    let own = all.iter().position(|it| it == "--").unwrap_or(all.len());
    let is_it = |it: &OsString| it.to_str().and_then(|it| it.strip_prefix("--")) == Some(NAME);
    let found = all[..own].iter().position(is_it);
    if let Some(at) = found {
        all.remove(at);
        all.insert(own - 1, "--json".into());
    }
    (all, found.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_is_replaced() {
        let words = [
            "quiescent",
            "record",
            "--json-lines",
            "--",
            "x",
            "--json-lines",
        ];
        let (all, found) = replaced(words.into_iter().map(OsString::from));
        assert_eq!(
            all,
            ["quiescent", "record", "--json", "--", "x", "--json-lines"]
        );
        assert!(found);
        assert!(!replaced(["--json".into()].into_iter()).1);
    }
}
