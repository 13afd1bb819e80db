//! Rules on RCU's words on the command line: does the kernel have such a parameter, and is the value in
//! force?
//!
//! A module's parameter is read back from `/sys/module`. The kernel passes a word that it does not know to
//! the first process, without an error. So a missing prefix, a misspelt name, or a parameter of another
//! version has no effect and no message.

use super::{Finding, Severity};
use crate::Machine;
use crate::state::machine::parameter_file;

/// Modules of RCU's that are always built in.
const MODULES: [&str; 3] = ["rcutree", "rcupdate", "srcutree"];

/// Words without a module that the kernel knows.
const WORDS: [&str; 2] = ["rcu_nocbs", "rcu_nocb_poll"];

/// Those that have a rule of their own.
const ELSEWHERE: [&str; 1] = ["enable_rcu_lazy"];

pub(super) fn inspect(machine: &Machine) -> Vec<Finding> {
    let words = machine.command.as_deref().unwrap_or_default();
    let words = words.split_ascii_whitespace().take_while(|it| *it != "--");
    let mut found: Vec<Finding> = Vec::new();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let name = name.replace('-', "_");
        let finding = match name.split_once('.') {
            Some((module, name)) if MODULES.contains(&module) => {
                // Of one that is given twice, the last counts.
                let last = machine.asked(word.split('=').next().unwrap_or(word));
                match ELSEWHERE.contains(&name) || last != Some(value) {
                    true => None,
                    false => Some(parameter(machine, word, module, name, value)),
                }
            }
            Some(_) => None,
            None => bare(machine, word, &name),
        };
        found.extend(finding.filter(|it| !found.contains(it)));
    }
    found
}

/// `module.name=value`.
fn parameter(machine: &Machine, word: &str, module: &str, name: &str, value: &str) -> Finding {
    let about = "parameter";
    let asked = format!("{word} on the command line");
    let file = parameter_file(module, name);
    let Some(now) = machine.parameter(module, name) else {
        let folder = format!("/sys/module/{module}/parameters");
        return match machine.root.has(&folder) {
            true => Finding::new(
                Severity::WithoutEffect,
                about,
                asked,
                format!("none: this kernel ({}) has no {file}", machine.release),
                "is it spelt right? `ls` of that folder has those there are; others come with other \
                 versions or configurations",
            ),
            false => Finding::new(
                Severity::CannotTell,
                about,
                asked,
                format!("not known: {folder} cannot be read"),
                "mount /sys, or copy that folder too",
            ),
        };
    };
    if same(value, &now) {
        return Finding::fine(about, asked, format!("{now} ({file})"));
    }
    Finding::new(
        Severity::WithoutEffect,
        about,
        asked,
        format!("{now} ({file})"),
        "the kernel has limits of its own, or another value has been written since boot: write to the \
         file, where it may be",
    )
}

/// A word without a module that looks as if it were for RCU.
fn bare(machine: &Machine, word: &str, name: &str) -> Option<Finding> {
    if WORDS.contains(&name) {
        return None;
    }
    let module = MODULES
        .iter()
        .find(|it| machine.root.has(&parameter_file(it, name)));
    let is_lazy = name == "enable_rcu_lazy" || name == "rcu_lazy";
    let (remedy, certain) = match module {
        Some(module) => (format!("write {module}.{word}"), true),
        None if is_lazy => ("write rcutree.enable_rcu_lazy=1".to_owned(), true),
        None if name.starts_with("rcu_nocb") || name == "nocbs" => {
            ("write rcu_nocbs=CPUS".to_owned(), true)
        }
        None => (String::new(), false),
    };
    certain.then(|| {
        let asked = format!("{word} on the command line");
        let why = "none: the kernel knows no such word, and hands it to the first process";
        Finding::new(Severity::WithoutEffect, "parameter", asked, why, remedy)
    })
}

/// As the kernel reads a switch.
pub(super) fn truth(value: &str) -> Option<bool> {
    match value.trim() {
        "" | "1" | "y" | "Y" | "on" | "t" | "T" => Some(true),
        "0" | "n" | "N" | "off" | "f" | "F" => Some(false),
        _ => None,
    }
}

/// A value as it was given, and as the kernel shows it: `1` and `Y`, `-1` and the largest number, `0x10` and
/// `16`.
fn same(given: &str, shown: &str) -> bool {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text
            .parse()
            .ok()
            .or_else(|| text.parse().ok().map(|it: i64| it as u64)),
    };
    let is_switch = matches!(shown, "Y" | "N");
    given == shown
        || (is_switch && truth(given) == truth(shown))
        || (!is_switch && number(given).is_some() && number(given) == number(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_the_same() {
        for (given, shown) in [
            ("1", "Y"),
            ("off", "N"),
            ("", "Y"),
            ("-1", "18446744073709551615"),
            ("-1", "-1"),
            ("0x10", "16"),
            ("08", "8"),
        ] {
            assert!(same(given, shown), "{given} {shown}");
        }
        for (given, shown) in [("1", "N"), ("8", "3"), ("x", "3"), ("2", "Y"), ("", "0")] {
            assert!(!same(given, shown), "{given} {shown}");
        }
    }
}
