//! Compares what was requested of a kernel's RCU with what is in force, and says what to do about a
//! difference.
//!
//! Laziness without offloading, offloading without CPUs, a parameter that the kernel does not have: a kernel
//! accepts all of these without a message, and a measurement may run for a week without the feature. So every
//! rule compares two things that are read from different places: the *request* (build configuration, command
//! line) and the *effective state* (threads, present parameters, lists of CPUs).
//!
//! | rules | about |
//! |---|---|
//! | `offload` | `rcu_nocbs`, `rcu_nocb_poll` |
//! | `lazy` | lazy callbacks: without offloading, and offloading without them |
//! | `parameters`, `words` | words of the command line that begin with a module of RCU's, or look so |
//! | `versions` | the defaults of this version, and what a missing parameter means in it |
//! | `grace` | waits between scans, expedited and normal grace periods, stall warnings |
//! | `threads` | where threads of offloading may run, priorities, RCU's soft interrupt as threads |
//! | `idle` | ticks, isolated CPUs, idle states |
//! | `group` | a limit of memory that only the control group's own files tell about |
//! | `observe` | tracing events, pressure, membarrier; files that could not be read |
//!
//! A rule reports [`Severity::WithoutEffect`] only where both sides are known. If a side could not be read it
//! reports [`Severity::CannotTell`], never a guess. A rule without a request reports nothing, or that all is
//! well: what a kernel is built with is a request only where it also decides (offloading of all CPUs does,
//! laziness does not).
//!
//! Facts about RCU that the rules use: each offloaded CPU has a thread `rcuop/N`; only an offloaded CPU has
//! lazy callbacks; a kernel without parameters waits `1 + (HZ > 250) + (HZ > 500) + CPUs / 256` ticks between
//! scans.

mod grace;
mod group;
mod idle;
mod lazy;
mod observe;
mod offload;
mod parameters;
mod text;
mod threads;
mod versions;
mod words;

pub use text::text;

use crate::Machine;
use std::fmt::Display;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A request has no effect.
    WithoutEffect,
    /// A file that decides it could not be read.
    CannotTell,
    /// In force, with side effects.
    Note,
    /// As requested, or not requested.
    Fine,
}

impl Severity {
    /// All, the most severe first.
    pub const ALL: [Severity; 4] = [
        Severity::WithoutEffect,
        Severity::CannotTell,
        Severity::Note,
        Severity::Fine,
    ];

    /// As words.
    pub const fn words(self) -> &'static str {
        match self {
            Severity::WithoutEffect => "without effect",
            Severity::CannotTell => "cannot tell",
            Severity::Note => "note",
            Severity::Fine => "fine",
        }
    }
}

/// The result of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its subject, in a word or two.
    pub about: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The request and its place.
    pub asked: String,
    /// The effective state and its source.
    pub in_force: String,
    /// The remedy; empty if nothing has to be done.
    pub remedy: String,
}

/// What a rule is about, and what was asked for.
struct Rule {
    about: &'static str,
    asked: String,
}

impl Rule {
    fn of(about: &'static str, asked: impl Into<String>) -> Self {
        let asked = asked.into();
        Rule { about, asked }
    }

    /// Asked by this word of the command line.
    fn on_line(about: &'static str, word: impl Display) -> Self {
        Rule::of(about, format!("{word} on the command line"))
    }

    fn finding(
        &self,
        severity: Severity,
        in_force: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            about: self.about,
            severity,
            asked: self.asked.clone(),
            in_force: in_force.into(),
            remedy: remedy.into(),
        }
    }

    fn without_effect(&self, in_force: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Severity::WithoutEffect, in_force, remedy)
    }

    fn cannot_tell(&self, in_force: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Severity::CannotTell, in_force, remedy)
    }

    fn note(&self, in_force: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Severity::Note, in_force, remedy)
    }

    fn fine(&self, in_force: impl Into<String>) -> Finding {
        self.finding(Severity::Fine, in_force, "")
    }
}

/// A setting without a request.
const NOTHING: &str = "nothing";

/// All findings, the most severe first.
///
/// ```
/// use quiescent_live::{Machine, Severity, diagnose};
///
/// let findings = diagnose(&Machine::here());
/// assert!(!findings.is_empty());
/// for it in findings.iter().filter(|it| it.severity == Severity::WithoutEffect) {
///     println!("{}: asked {}, in force {}; {}", it.about, it.asked, it.in_force, it.remedy);
/// }
/// ```
pub fn diagnose(machine: &Machine) -> Vec<Finding> {
    let mut found = offload::offload(machine);
    found.extend(offload::poll(machine));
    found.extend(lazy::inspect(machine));
    found.extend(parameters::inspect(machine));
    found.push(versions::defaults(machine));
    found.extend(versions::waking(machine));
    found.extend(grace::waits(machine));
    found.extend(grace::kinds(machine));
    found.extend(grace::stalls(machine));
    found.extend(threads::inspect(machine));
    found.extend(idle::ticks(machine));
    found.extend(idle::full(machine));
    found.extend(idle::isolated(machine));
    found.extend(idle::states(machine));
    found.extend(group::inspect(machine));
    found.push(observe::events(machine));
    found.extend(observe::pressure(machine));
    found.extend(observe::membarrier(machine));
    found.extend(observe::unread(machine));
    found.sort_by_key(|it| it.severity);
    found
}

#[cfg(test)]
mod tests;
