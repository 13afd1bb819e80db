//! `--json-lines`: as `--json`, with the rows alone. Every command that has the one has the other, so it is
//! found before all arguments are parsed, and `--json` is parsed with it.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction};
use std::ffi::OsString;

/// The option's name. What leaves no rows (`--list`), or more than they are (`--shard`), conflicts with it.
pub const NAME: &str = "json-lines";

/// The option, for the help of each command.
pub fn option() -> Arg {
    let option = Arg::new(NAME).long(NAME).action(ArgAction::SetTrue);
    let help =
        "As --json, but the rows alone: one object a line, as DuckDB, Polars and Spark read them";
    option.global(true).help(help)
}

/// These arguments, with the option and `--json` behind the program's own; whether it was there.
pub fn completed(arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, bool) {
    let mut all: Vec<OsString> = arguments.collect();
    // What follows `--` is not for this program.
    let own = all.iter().position(|it| it == "--").unwrap_or(all.len());
    let is_it = |it: &OsString| it.to_str().and_then(|it| it.strip_prefix("--")) == Some(NAME);
    let found = all[..own].iter().position(is_it);
    if let Some(at) = found {
        let option = all.remove(at);
        let is_there = all[..own - 1].iter().any(|it| it == "--json");
        let json = (!is_there).then(|| "--json".into());
        all.splice(own - 1..own - 1, [option].into_iter().chain(json));
    }
    (all, found.is_some())
}

/// What is said of arguments that are wrong: of a `--json` that was not typed, the option.
pub fn explained(wrong: &clap::Error, are_lines: bool) -> String {
    let json = ContextValue::String("--json".into());
    match are_lines && wrong.get(ContextKind::InvalidArg) == Some(&json) {
        true => format!("error: this command has neither --json nor --{NAME}: leave it out\n"),
        false => wrong.render().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_programs_own() {
        let words = [
            "quiescent",
            "record",
            "--json-lines",
            "--",
            "x",
            "--json-lines",
        ];
        let (all, found) = completed(words.into_iter().map(OsString::from));
        assert_eq!(
            all,
            [
                "quiescent",
                "record",
                "--json-lines",
                "--json",
                "--",
                "x",
                "--json-lines"
            ]
        );
        assert!(found);
        assert!(!completed(["--json".into()].into_iter()).1);
    }
}
