//! Rules on RCU's words on the command line: does the kernel have such a parameter, and is the value in
//! force?
//!
//! A module's parameter is read back from `/sys/module`. The kernel passes a word that it does not know to
//! the first process, without an error. So a missing prefix, a misspelt name, or a parameter of another
//! version has no effect and no message.

use super::words::{BARE, MODULES, is_known, meant, since};
use super::{Finding, Rule};
use crate::Machine;
use crate::state::machine::parameter_file;

/// Those that have a rule of their own.
const ELSEWHERE: [&str; 1] = ["enable_rcu_lazy"];

/// Modules whose names begin as RCU's do. They are loaded for tests, and have parameters of their own.
const OTHERS: [&str; 3] = ["rcutorture", "rcuscale", "rcuperf"];

pub(super) fn inspect(machine: &Machine) -> Vec<Finding> {
    let words = machine.command.as_deref().unwrap_or_default();
    let words = words.split_ascii_whitespace().take_while(|it| *it != "--");
    let mut found: Vec<Finding> = Vec::new();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let name = name.replace('-', "_");
        let finding = match name.split_once('.') {
            Some((module, own)) if MODULES.contains(&module) => {
                // Of one that is given twice, the last counts.
                let is_last = machine.asked(&name) == Some(value);
                let is_ours = !ELSEWHERE.contains(&own) && is_last;
                is_ours.then(|| parameter(machine, word, (module, own), value))
            }
            Some((module, _)) if OTHERS.contains(&module) => None,
            Some((module, own)) if module.starts_with("rcu") || module.starts_with("srcu") => {
                meant(machine, own).and_then(|it| it.contains('.').then(|| unknown(word, &it)))
            }
            Some(_) => None,
            None if BARE.contains(&name.as_str()) => None,
            None => meant(machine, &name).map(|it| unknown(word, &it)),
        };
        found.extend(finding.filter(|it| !found.contains(it)));
    }
    found
}

/// `module.name=value`.
fn parameter(machine: &Machine, word: &str, (module, name): (&str, &str), value: &str) -> Finding {
    let rule = Rule::on_line("parameter", word);
    let file = parameter_file(module, name);
    let Some(now) = machine.parameter(module, name) else {
        return absent(machine, word, (module, name));
    };
    if same(value, &now) {
        return rule.fine(format!("{now} ({file})"));
    }
    rule.without_effect(
        format!("{now} ({file})"),
        "the kernel has limits of its own, or another value has been written since boot: write to the \
         file, where it may be",
    )
}

/// A parameter that cannot be read back.
fn absent(machine: &Machine, word: &str, (module, name): (&str, &str)) -> Finding {
    let rule = Rule::on_line("parameter", word);
    if let (Some(since), Some(version)) = (since(name), machine.version())
        && version < since
    {
        let why =
            format!("none: Linux {version} has no such parameter, {since} was the first with it");
        let remedy = format!("boot Linux {since} or newer, or leave it away");
        return rule.without_effect(why, remedy);
    }
    if !is_known(module, name)
        && let Some(nearest) = meant(machine, &format!("{module}.{name}"))
    {
        return unknown(word, &nearest);
    }
    match machine.has_parameters(module) {
        true => rule.without_effect(
            format!(
                "none: this kernel ({}) has no {}",
                machine.release,
                parameter_file(module, name)
            ),
            "is it spelt right? `ls` of that folder has those there are; others come with other versions \
             or configurations",
        ),
        false => rule.cannot_tell(
            format!("not known: /sys/module/{module}/parameters cannot be read"),
            machine.remedy("mount /sys", "copy that folder too"),
        ),
    }
}

/// A word that the kernel does not know, and the one that was meant.
fn unknown(word: &str, meant: &str) -> Finding {
    let value = word.split_once('=').map(|it| it.1);
    let remedy = match (meant, value) {
        ("rcu_nocbs", None | Some("")) => "write rcu_nocbs=CPUS".to_owned(),
        ("rcutree.enable_rcu_lazy", None) => format!("write {meant}=1"),
        (_, None) => format!("write {meant}"),
        (_, Some(value)) => format!("write {meant}={value}"),
    };
    let why = match word.contains('.') {
        true => "none: no known parameter has this name",
        false => "none: the kernel knows no such word, and hands it to the first process",
    };
    let rule = Rule::on_line("parameter", word);
    rule.without_effect(why, remedy)
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
