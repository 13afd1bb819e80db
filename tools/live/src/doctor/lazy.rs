//! Rules on lazy callbacks: requested without an effect, or possible and not requested.

use super::offload::{is_asked, unseen};
use super::parameters::truth;
use super::{Finding, NOTHING, Rule};
use crate::Machine;
use crate::state::cpus::{listed, without};
use crate::state::machine::parameter_file;
use crate::state::version::Version;

const ABOUT: &str = "laziness";

/// The first version with lazy callbacks.
const LAZY: Version = Version::new(6, 2);

/// The first version that can switch them: before it, a kernel that is built with them has them on.
const SWITCHED: Version = Version::new(6, 9);

/// Is `call_rcu` to be lazy, and is it?
pub(super) fn inspect(machine: &Machine) -> Option<Finding> {
    let state = State::of(machine);
    let wanted = state.by_command.or(state.by_build()).or(state.now);
    match wanted.unwrap_or(false) || state.now == Some(true) {
        true => Some(state.in_force(machine)),
        false => state.not_wanted(machine),
    }
}

/// What is known of laziness.
struct State {
    /// The request, in words.
    rule: Rule,
    /// Built with `CONFIG_RCU_LAZY`.
    built: Option<bool>,
    off_by_default: bool,
    /// `rcutree.enable_rcu_lazy` on the command line.
    by_command: Option<bool>,
    /// The parameter as it is.
    now: Option<bool>,
    /// This kernel is too old for the parameter, and always lazy if it is built with it.
    is_fixed: bool,
}

impl State {
    fn of(machine: &Machine) -> State {
        let word = machine.asked("rcutree.enable_rcu_lazy");
        let built = machine.is_set("CONFIG_RCU_LAZY");
        let now = machine.parameter("rcutree", "enable_rcu_lazy");
        let now = now.as_deref().and_then(truth);
        let words = match (word, built) {
            (Some(""), _) => "rcutree.enable_rcu_lazy on the command line".to_owned(),
            (Some(value), _) => format!("rcutree.enable_rcu_lazy={value} on the command line"),
            (None, Some(true)) => machine.with("CONFIG_RCU_LAZY"),
            _ => match now {
                Some(true) => format!("{}: Y", parameter_file("rcutree", "enable_rcu_lazy")),
                _ => NOTHING.to_owned(),
            },
        };
        let is_old = machine.version().is_some_and(|it| it < SWITCHED);
        State {
            rule: Rule::of(ABOUT, words),
            built,
            off_by_default: machine.is_set("CONFIG_RCU_LAZY_DEFAULT_OFF") == Some(true),
            by_command: word.map(|it| truth(it).unwrap_or(true)),
            is_fixed: is_old && now.is_none() && machine.has_parameters("rcutree"),
            now,
        }
    }

    fn by_build(&self) -> Option<bool> {
        (self.built == Some(true)).then_some(!self.off_by_default)
    }

    /// No request, or one not to be lazy.
    fn not_wanted(&self, machine: &Machine) -> Option<Finding> {
        if self.is_fixed && self.built == Some(true) && self.by_command == Some(false) {
            return Some(self.rule.without_effect(
                format!("lazy: versions before {SWITCHED} have no such parameter"),
                "boot a kernel that is built without CONFIG_RCU_LAZY, or do not offload CPUs",
            ));
        }
        let is_old = self.built.is_none() && machine.version().is_some_and(|it| it < LAZY);
        let (why, remedy) = match (self.built, self.off_by_default) {
            _ if is_old => (
                format!("no callback is lazy: {LAZY} is the first version that can"),
                format!("boot Linux {LAZY} or newer, built with CONFIG_RCU_LAZY=y"),
            ),
            (Some(false), _) => (
                "no callback is lazy: the kernel is built without CONFIG_RCU_LAZY".to_owned(),
                format!("boot a kernel that is built with CONFIG_RCU_LAZY=y (Linux {LAZY} or newer)"),
            ),
            (_, true) => (
                "no callback is lazy: CONFIG_RCU_LAZY_DEFAULT_OFF (rcutree.enable_rcu_lazy=1 switches it on)"
                    .to_owned(),
                "boot with rcutree.enable_rcu_lazy=1".to_owned(),
            ),
            (None, _) if self.now.is_none() && machine.config.is_none() => return None,
            _ => (
                "no callback is lazy".to_owned(),
                "boot with rcutree.enable_rcu_lazy=1".to_owned(),
            ),
        };
        if self.by_command == Some(false) {
            return Some(self.rule.fine(why));
        }
        let offloaded = machine.offloaded().unwrap_or_default();
        if offloaded.is_empty() {
            return Some(Rule::of(ABOUT, NOTHING).fine(why));
        }
        let why = format!(
            "{why}. CPUs {} are offloaded: the first callback of each empty list wakes a thread rcuog/N, and \
             a grace period follows; lazy ones wait up to ten seconds, and share both",
            listed(&offloaded)
        );
        let remedy = format!(
            "{remedy}. What it saves of a recorded load: quiescent record -o TRACE, then quiescent whatif \
             TRACE --set rcu_lazy=1"
        );
        Some(Rule::of(ABOUT, NOTHING).note(why, remedy))
    }

    /// Laziness was requested, or is on.
    fn in_force(&self, machine: &Machine) -> Finding {
        let file = parameter_file("rcutree", "enable_rcu_lazy");
        if self.built == Some(false) {
            return self.rule.without_effect(
                format!("none: {}", machine.without("CONFIG_RCU_LAZY")),
                format!(
                    "boot a kernel that is built with CONFIG_RCU_LAZY=y (Linux {LAZY} or newer)"
                ),
            );
        }
        let is_old = machine.version().is_some_and(|it| it < LAZY);
        if is_old && self.built.is_none() && self.now.is_none() {
            return self.rule.without_effect(
                format!("none: {LAZY} is the first version with lazy callbacks"),
                format!("boot Linux {LAZY} or newer, built with CONFIG_RCU_LAZY=y"),
            );
        }
        if self.now == Some(false) {
            return self.rule.without_effect(
                format!("none: {file} is N"),
                "boot with rcutree.enable_rcu_lazy=1",
            );
        }
        let Some(cpus) = machine.offloaded() else {
            let why =
                "not known: whether CPUs are offloaded; only an offloaded CPU has lazy callbacks";
            return self.rule.cannot_tell(why, unseen(machine));
        };
        if cpus.is_empty() {
            let none = "no CPU is offloaded (there is no thread rcuop/N), and only an offloaded CPU has \
                        lazy callbacks";
            // The build makes it possible: that alone is no request.
            if self.by_command.is_none() && !is_asked(machine) {
                return Rule::of(ABOUT, NOTHING).fine(format!("no callback is lazy: {none}"));
            }
            let remedy = "boot with rcu_nocbs=all, or leave laziness away";
            return self.rule.without_effect(format!("none: {none}"), remedy);
        }
        let is_always = self.is_fixed && self.built == Some(true);
        if self.now.is_none() && !is_always {
            return self.rule.cannot_tell(
                format!("not known: {file} cannot be read"),
                machine.remedy("mount /sys", "copy that file too"),
            );
        }
        let online = machine.online.as_deref();
        let bare = online.map_or(Vec::new(), |it| without(it, &cpus));
        match bare.is_empty() {
            true => {
                let always = match is_always {
                    true => {
                        format!(" (versions before {SWITCHED} have no parameter that switches it)")
                    }
                    false => String::new(),
                };
                let why = format!("plain call_rcu waits up to ten seconds, on all CPUs{always}");
                self.rule.fine(why)
            }
            false => self.rule.note(
                format!(
                    "on CPUs {} only; CPUs {} are not offloaded",
                    listed(&cpus),
                    listed(&bare)
                ),
                "boot with rcu_nocbs=all if it is meant for all",
            ),
        }
    }
}
