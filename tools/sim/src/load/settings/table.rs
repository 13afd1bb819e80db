//! The table of settings: a row for each field of [`Options`].
//!
//! A row is `kind "key" (field, what the kind needs);`. The kinds are the macros below; `own` and `any` have
//! functions of their own that read and write the value. What a setting is about stands at its field.

use crate::base::error::Error;
use crate::idling::{Governor, Profile, Setup, Table};
use crate::input::options::{Costs, IdleLoop, Options, Smp};
use crate::text::values::{cpu_list, cpu_list_text, number, switch, time, time_text};
use quiescent_kernel::EarlyQs;
use quiescent_kernel::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_kernel::offload::Policy;

use super::checks::{MOST_CPUS, MOST_HZ, too_many};
use super::releases;

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// The field that it sets, if it is one only.
    field: &'static str,
    /// What it is about, otherwise.
    said: &'static str,
    /// The values that it takes, in words.
    pub allowed: &'static str,
    read: fn(&mut Options, &str) -> Option<()>,
    write: fn(&Options) -> String,
}

impl Setting {
    /// Sets it. Whether such a machine is possible is checked later.
    ///
    /// # Errors
    /// If the value is none that it takes.
    pub fn set(&self, options: &mut Options, value: &str) -> Result<(), Error> {
        if self.key == "cpus"
            && let Some(cpus) = number::<u64>(value).filter(|&it| it > u64::from(MOST_CPUS))
        {
            return Err(Error::Machine(too_many(cpus)));
        }
        match self.key {
            "idle_table" if value != NONE => drop(Table::named(value)?),
            "power" if value != NONE => drop(Profile::named(value)?),
            _ => {}
        }
        let read = (self.read)(options, value);
        read.ok_or_else(|| Error::value(self.key, value, self.allowed))
    }

    /// What it is about: what stands at its field, as part of a sentence.
    pub fn about(&self) -> String {
        let path = self.field.replace(' ', "");
        let (of, name) = path.rsplit_once('.').unwrap_or(("", &path));
        let fields = match of {
            "costs" => Costs::FIELDS,
            "idle" => Setup::FIELDS,
            _ => Options::FIELDS,
        };
        let Some((_, words)) = fields.iter().find(|it| it.0 == name) else {
            return self.said.into();
        };
        let words = words.trim().trim_end_matches('.');
        match words.split_at_checked(1) {
            Some((first, rest)) if !rest.starts_with(char::is_uppercase) => {
                first.to_lowercase() + rest
            }
            _ => words.into(),
        }
    }

    /// Its value, as [`set`](Setting::set) reads it.
    pub fn get(&self, options: &Options) -> String {
        (self.write)(options)
    }
}

/// Nothing of a kind.
const NONE: &str = "none";

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|it| it.0 == text).map(|it| it.1)
}

fn word_of<T: Copy + PartialEq>(value: T, words: &[(&str, T)]) -> String {
    let found = words.iter().find(|it| it.1 == value);
    found.expect("every value has a word").0.to_owned()
}

const SMP: &[(&str, Smp)] = &[("parallel", Smp::Parallel), ("serial", Smp::Serial)];
const IDLE_LOOP: &[(&str, IdleLoop)] =
    &[("classic", IdleLoop::Classic), ("retain", IdleLoop::Retain)];
const EARLY_QS: &[(&str, EarlyQs)] = &[
    ("off", EarlyQs::Off),
    ("scan", EarlyQs::Scan),
    ("init", EarlyQs::Init),
];
const POLICY: &[(&str, Policy)] = &[
    ("kernel-6.12", Policy::Kernel612),
    ("quiescent", Policy::Quiescent),
];
const GOVERNOR: &[(&str, Governor)] = &[
    ("menu", Governor::Menu),
    ("deepest", Governor::Deepest),
    ("shallowest", Governor::Shallowest),
];

/// A setting by what reads its field's value and what writes it.
macro_rules! own {
    ($key:literal, $($field:ident).+, $allowed:expr, |$it:ident, $text:ident| $read:expr,
        |$of:ident| $write:expr) => {
        Setting {
            field: stringify!($($field).+),
            ..any!($key, "", $allowed, |$it, $text| { $it.$($field).+ = $read; Some(()) }, |$of| $write)
        }
    };
}

/// A setting of more than one field.
macro_rules! any {
    ($key:literal, $said:literal, $allowed:expr, $read:expr, $write:expr) => {
        Setting {
            key: $key,
            field: "",
            said: $said,
            allowed: $allowed,
            read: $read,
            write: $write,
        }
    };
}

/// A plain number within bounds.
macro_rules! number {
    ($key:literal, $($field:ident).+, $range:expr, $allowed:literal) => {
        own!($key, $($field).+, $allowed,
            |it, text| number(text).filter(|n| $range.contains(n))?, |it| it.$($field).+.to_string())
    };
}

/// One of some words.
macro_rules! words {
    ($key:literal, $($field:ident).+, $words:ident, $allowed:literal) => {
        own!($key, $($field).+, $allowed,
            |it, text| word(text, $words)?, |it| word_of(it.$($field).+, $words))
    };
}

macro_rules! flag {
    ($key:literal, $($field:ident).+) => {
        own!($key, $($field).+, "1 or 0",
            |it, text| switch(text)?, |it| u8::from(it.$($field).+).to_string())
    };
}

/// A value, or a word for none.
macro_rules! option {
    ($key:literal, $($field:ident).+, $none:literal,
        |$text:ident| $read:expr, $write:expr, $allowed:literal) => {
        own!($key, $($field).+, $allowed,
            |it, text| match text { $none => None, $text => Some($read?) },
            |it| it.$($field).+.as_ref().map_or($none.into(), $write))
    };
}

/// A number that has a default of the kernel's.
macro_rules! or_default {
    ($key:literal, $field:ident, $range:expr, $what:literal) => {
        option! { $key, $field, "default",
        |text| number(text).filter(|n| $range.contains(n)), |it| it.to_string(), $what }
    };
}

macro_rules! cost {
    ($key:literal, $($field:ident).+) => {
        number!($key, $($field).+, 0..=1_000_000_000, "nanoseconds, up to 1000000000")
    };
}

/// The content of a file: one that is part of the program, or any other by its path.
macro_rules! file {
    ($key:literal, $($field:ident).+, $of:ty, $allowed:literal) => {
        option!($key, $($field).+, "none",
            |text| <$of>::named(text).ok(), |it| it.name.clone(), $allowed)
    };
}

macro_rules! table {
    ($($kind:ident $key:literal ($($of:tt)*);)*) => { &[$($kind!($key, $($of)*)),*] };
}

/// All settings, in the order in which they are carried out: what others depend on comes first.
pub static SETTINGS: &[Setting] = table! {
    number "cpus" (cpus, 1..=MOST_CPUS, "1 to 1048576");
    own "hz" (hz, "1 to 10000", |it, text| {
            let hz = number(text).filter(|n| (1..=MOST_HZ).contains(n))?;
            it.jiffies = Options::kernel_6_12(1, hz).jiffies;
            hz
        }, |it| it.hz.to_string());
    any "kernel" ("a version of Linux: short for the settings whose defaults its versions decide (they are \
        listed below), each of which counts more where it is given",
        releases::ALLOWED, releases::set, releases::get);
    number "seed" (seed, 0..=u64::MAX, "a number");
    words "smp" (smp, SMP, "parallel or serial");
    own "clock_early_ppm" (clock_early_ppm, "-1000 to 1000",
        |it, text| text.parse().ok().filter(|ppm| (-1000..=1000).contains(ppm))?,
        |it| it.clock_early_ppm.to_string());
    words "idle_loop" (idle_loop, IDLE_LOOP, "classic or retain");
    own "fast_no_hz" (idle_rule, "off, v5.6 (lazy callbacks sleep longer) or v5.10", |it, text| match text {
            "off" => IdleRule::Tick,
            "v5.6" => IdleRule::FastNoHz(FastNoHz::v5_6(it.hz)),
            "v5.10" => IdleRule::FastNoHz(FastNoHz::v5_10(it.hz)),
            _ => return None,
        }, |it| match it.idle_rule {
            IdleRule::Tick => "off".into(),
            IdleRule::FastNoHz(rule) if rule == FastNoHz::v5_10(it.hz) => "v5.10".into(),
            IdleRule::FastNoHz(_) => "v5.6".into(),
        });
    flag "timer_migration" (timer_migration);
    flag "nohz" (nohz);
    flag "preempt" (preempt);
    file "idle_table" (idle.table, Table, "`none`, a name such as alder-lake or sandy-bridge, or the path \
        of a file");
    words "governor" (idle.governor, GOVERNOR, "menu (the kernel's), deepest or shallowest (always the \
        same; the tick stops)");
    option "cpu_dma_latency" (idle.latency_limit, "any", |text| time(text).filter(|ns| *ns <= 60_000_000_000),
            |it| time_text(*it), "a time such as 50us, or `any`");
    option "package_limit" (idle.package_limit, "none", |text| Some(text.to_owned()), String::clone,
            "`none`, or a state of the table such as PC8");
    file "power" (idle.power, Profile, "`none`, a name such as two-states, or the path of a file");
    words "policy" (policy, POLICY, "kernel-6.12 or quiescent");
    flag "online_toggle" (online_toggle);
    flag "nocb_overload_wake" (overload_wake);
    words "early_qs" (early_qs, EARLY_QS, "off, scan or init");
    flag "accelerate_only_new" (accelerate_only_new);
    or_default "jiffies_till_first_fqs" (first_fqs, 0..=100_000, "ticks, 0 to 100000, or `default`");
    or_default "jiffies_till_next_fqs" (next_fqs, 0..=100_000, "ticks, 0 to 100000, or `default`");
    flag "rcu_strict_grace_period" (strict);
    or_default "blimit" (blimit, 1..=1_000_000_000, "a number from 1, or `default`");
    or_default "qhimark" (qhimark, 1..=1_000_000_000, "a number from 1, or `default`");
    or_default "qlowmark" (qlowmark, 1..=1_000_000_000, "a number from 1, or `default`");
    flag "rcu_normal_wake_from_gp" (wake_from_gp);
    option "wake_from_gp_latch" (wake_latch, "none",
            |text| number(text).filter(|n| (1..=1_000_000).contains(n)), |it| it.to_string(),
            "a number, 1 to 1000000, or `none`");
    flag "rcu_expedited" (expedited);
    flag "rcu_normal" (normal);
    any "rcu" ("three usual machines: short for rcu_nocbs and rcu_lazy, which count more",
        "default (neither), offload (rcu_nocbs=all), lazy (and rcu_lazy=1), or `mixed` (whatever these two \
        say)",
        |it, text| {
            it.none_offloaded = false;
            (it.nocbs, it.lazy) = match text {
                "default" => (Vec::new(), false),
                "offload" => ((0..it.cpus).collect(), false),
                "lazy" => ((0..it.cpus).collect(), true),
                "mixed" => return Some(()),
                _ => return None,
            };
            Some(())
        }, |it| match (it.nocbs.is_empty(), it.nocbs.len() == it.cpus as usize, it.lazy) {
            (true, _, false) => "default".into(),
            (_, true, false) => "offload".into(),
            (_, true, true) => "lazy".into(),
            _ => "mixed".into(),
        });
    own "nohz_full" (nohz_full,
            "a list of CPUs of the machine such as 1-7, or `none`; one at least is left out, to keep the \
             time",
            |it, text| cpu_list(text, it.cpus)?, |it| cpu_list_text(&it.nohz_full, it.cpus));
    own "rcu_nocbs" (nocbs, "a list of CPUs of the machine such as 0-3,8, or `all`, `none`, or `default` \
            (those of nohz_full)",
            |it, text| {
                let them = if text == "default" { Vec::new() } else { cpu_list(text, it.cpus)? };
                it.none_offloaded = text == NONE && !it.nohz_full.is_empty();
                them
            }, |it| match it.nocbs.is_empty() && !it.nohz_full.is_empty() && !it.none_offloaded {
                true => "default".into(),
                false => cpu_list_text(&it.nocbs, it.cpus),
            });
    any "rcu_nocb_default_all" ("all callbacks are offloaded where neither rcu_nocbs nor nohz_full names \
        CPUs (a build option)",
        "1, or 0 (what rcu_nocbs says)",
        |it, text| {
            if switch(text)? && it.nocbs.is_empty() && it.nohz_full.is_empty() {
                it.none_offloaded = false;
                it.nocbs = (0..it.cpus).collect();
            }
            Some(())
        }, |it| u8::from(it.nocbs.len() == it.cpus as usize).to_string());
    flag "rcu_nocb_poll" (nocb_poll);
    own "rcu_cpus" (rcu_cpus, "a list of CPUs of the machine such as 0-3,8, or `all`",
            |it, text| match text {
                "none" | "" => return None,
                text => cpu_list(text, it.cpus).map(|them| match them.len() == it.cpus as usize {
                    true => Vec::new(),
                    false => them,
                })?,
            }, |it| match it.rcu_cpus.as_slice() {
                [] => "all".into(),
                them => cpu_list_text(them, it.cpus),
            });
    number "nohz_full_patience_delay" (patience_ms, 0..=5000, "milliseconds, up to 5000");
    flag "rcu_lazy" (lazy);
    own "lazy_flush" (lazy_flush_ms, "a time such as 10s or 500ms, or a number of ticks; an hour at most",
        |it, text| {
            let ms = match number::<u64>(text) {
                Some(ticks) => ticks.checked_mul(1000)?.div_ceil(it.hz.into()),
                None => time(text)?.div_ceil(1_000_000),
            };
            Some(ms).filter(|ms| (1..=3_600_000).contains(ms))?
        }, |it| time_text(it.lazy_flush_ms * 1_000_000));
    number "rcu_fanout_leaf" (leaf_fanout, 2..=64, "2 to 64");
    number "rcu_fanout" (fanout, 2..=64, "2 to 64");
    number "gp_cpu" (gp_cpu, 0..=MOST_CPUS, "the number of a CPU");
    option "moves" (moves, "never", |text| time(text).filter(|ns| (1..=3_600_000_000_000).contains(ns)),
            |it| time_text(*it), "a time such as 1s, an hour at most, or `never`");
    number "initial_jiffies" (jiffies, 1..=u64::MAX >> 16, "a number from 1, or `default`");
    flag "stepwise" (stepwise);
    cost "cost.tick_ns" (costs.tick);
    cost "cost.irq_ns" (costs.irq);
    cost "cost.timers_ns" (costs.timers);
    cost "cost.softirq_ns" (costs.softirq);
    cost "cost.callback_ns" (costs.callback);
    cost "cost.switch_ns" (costs.switch);
    cost "cost.idle_ns" (costs.idle);
    cost "cost.tick_off_ns" (costs.tick_off);
    cost "cost.gp_thread_ns" (costs.gp_thread);
    cost "cost.scan_ns" (costs.scan);
    cost "cost.rcuog_ns" (costs.rcuog);
    cost "cost.rcuop_ns" (costs.rcuop);
    cost "cost.work_ns" (costs.work);
    cost "cost.ipi_ns" (costs.ipi);
    cost "cost.lock_ns" (costs.lock);
    cost "cost.line_ns" (costs.line);
};
