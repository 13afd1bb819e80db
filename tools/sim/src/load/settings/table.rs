//! The table of settings: a row for each field of [`Options`].
//!
//! A row is `kind "key" (field, what the kind needs) "what it is about";`. The kinds are the macros below;
//! `own` and `any` have functions of their own that read and write the value.

use crate::base::error::Error;
use crate::idling::{Governor, Profile, Table};
use crate::input::options::{IdleLoop, Options, Smp};
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
    /// What it is about.
    pub about: &'static str,
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
    ($key:literal, $about:literal, $($field:ident).+, $allowed:expr,
        |$it:ident, $text:ident| $read:expr, |$of:ident| $write:expr) => {
        any!($key, $about, $allowed, |$it, $text| { $it.$($field).+ = $read; Some(()) }, |$of| $write)
    };
}

/// A setting of more than one field.
macro_rules! any {
    ($key:literal, $about:literal, $allowed:expr, $read:expr, $write:expr) => {
        Setting {
            key: $key,
            about: $about,
            allowed: $allowed,
            read: $read,
            write: $write,
        }
    };
}

/// A plain number within bounds.
macro_rules! number {
    ($key:literal, $about:literal, $($field:ident).+, $range:expr, $allowed:literal) => {
        own!($key, $about, $($field).+, $allowed,
            |it, text| number(text).filter(|n| $range.contains(n))?, |it| it.$($field).+.to_string())
    };
}

/// One of some words.
macro_rules! words {
    ($key:literal, $about:literal, $($field:ident).+, $words:ident, $allowed:literal) => {
        own!($key, $about, $($field).+, $allowed,
            |it, text| word(text, $words)?, |it| word_of(it.$($field).+, $words))
    };
}

macro_rules! flag {
    ($key:literal, $about:literal, $($field:ident).+) => {
        own!($key, $about, $($field).+, "1 or 0",
            |it, text| switch(text)?, |it| u8::from(it.$($field).+).to_string())
    };
}

/// A value, or a word for none.
macro_rules! option {
    ($key:literal, $about:literal, $($field:ident).+, $none:literal,
        |$text:ident| $read:expr, $write:expr, $allowed:literal) => {
        own!($key, $about, $($field).+, $allowed,
            |it, text| match text { $none => None, $text => Some($read?) },
            |it| it.$($field).+.as_ref().map_or($none.into(), $write))
    };
}

/// A number that has a default of the kernel's.
macro_rules! or_default {
    ($key:literal, $about:literal, $field:ident, $range:expr, $what:literal) => {
        option!(
            $key,
            $about,
            $field,
            "default",
            |text| number(text).filter(|n| $range.contains(n)),
            |it| it.to_string(),
            $what
        )
    };
}

/// Ticks that have a default of the kernel's.
macro_rules! ticks {
    ($key:literal, $about:literal, $field:ident) => {
        or_default!(
            $key,
            $about,
            $field,
            (0..=100_000),
            "ticks, 0 to 100000, or `default`"
        )
    };
}

/// A limit of callbacks that has a default of the kernel's.
macro_rules! limit {
    ($key:literal, $about:literal, $field:ident) => {
        or_default!(
            $key,
            $about,
            $field,
            (1..=1_000_000_000),
            "a number from 1, or `default`"
        )
    };
}

macro_rules! cost {
    ($key:literal, $about:literal, $($field:ident).+) => {
        number!($key, $about, $($field).+, 0..=1_000_000_000, "nanoseconds, up to 1000000000")
    };
}

/// The content of a file: one that is part of the program, or any other by its path.
macro_rules! file {
    ($key:literal, $about:literal, $($field:ident).+, $of:ty, $allowed:literal) => {
        option!($key, $about, $($field).+, "none",
            |text| <$of>::named(text).ok(), |it| it.name.clone(), $allowed)
    };
}

macro_rules! table {
    ($($kind:ident $key:literal ($($of:tt)*) $about:literal;)*) => { &[$($kind!($key, $about, $($of)*)),*] };
}

/// All settings, in the order in which they are carried out: what others depend on comes first.
pub static SETTINGS: &[Setting] = table! {
    number "cpus" (cpus, 1..=MOST_CPUS, "1 to 1048576") "CPUs";
    any "hz" ("1 to 10000", |it, text| {
            it.hz = number(text).filter(|n| (1..=MOST_HZ).contains(n))?;
            it.jiffies = Options::kernel_6_12(1, it.hz).jiffies;
            Some(())
        }, |it| it.hz.to_string())
        "ticks a second; the jiffy counter starts 300 seconds before it wraps at 32 bits, as a kernel's";
    any "kernel" (releases::ALLOWED, releases::set, releases::get)
        "a version of Linux: short for the settings whose defaults its versions decide (they are listed \
         below), each of which counts more where it is given";
    number "seed" (seed, 0..=u64::MAX, "a number") "of everything that is chosen by chance";
    words "smp" (smp, SMP, "parallel or serial")
        "do CPUs execute at the same time, as hardware, or one at a time, as the virtual machine of the \
         shared traces";
    words "idle_loop" (idle_loop, IDLE_LOOP, "classic or retain")
        "an idle CPU's tick stops at each idle entry, or when one more tick has arrived";
    own "fast_no_hz" (idle_rule, "off, v5.6 (lazy callbacks sleep longer) or v5.10", |it, text| match text {
            "off" => IdleRule::Tick,
            "v5.6" => IdleRule::FastNoHz(FastNoHz::v5_6(it.hz)),
            "v5.10" => IdleRule::FastNoHz(FastNoHz::v5_10(it.hz)),
            _ => return None,
        }, |it| match it.idle_rule {
            IdleRule::Tick => "off".into(),
            IdleRule::FastNoHz(rule) if rule == FastNoHz::v5_10(it.hz) => "v5.10".into(),
            IdleRule::FastNoHz(_) => "v5.6".into(),
        })
        "an idle CPU with callbacks keeps its tick, or sleeps and looks (RCU_FAST_NO_HZ)";
    flag "timer_migration" (timer_migration)
        "a CPU whose tick runs takes the timers of idle CPUs (since Linux 6.9); otherwise each takes its own";
    flag "nohz" (nohz)
        "the tick of an idle CPU may stop (nohz=on); otherwise every CPU ticks always (nohz=off, or \
         HZ_PERIODIC)";
    flag "preempt" (preempt)
        "a task can be preempted in a section; otherwise it runs to the section's end (PREEMPT_NONE)";
    file "idle_table" (idle.table, Table, "`none`, a name such as alder-lake or sandy-bridge, or the path \
        of a file")
        "idle states of CPUs and of the package; none: a CPU that halts wakes at once (data/idle has them, \
         with what each assumes)";
    words "governor" (idle.governor, GOVERNOR, "menu (the kernel's), deepest or shallowest (always the \
        same; the tick stops)")
        "who chooses among a CPU's idle states, and whether its tick goes on";
    option "cpu_dma_latency" (idle.latency_limit, "any", |text| time(text).filter(|ns| *ns <= 60_000_000_000),
            |it| time_text(*it), "a time such as 50us, or `any`")
        "no idle state is chosen that takes longer to leave (PM QoS)";
    option "package_limit" (idle.package_limit, "none", |text| Some(text.to_owned()), String::clone,
            "`none`, or a state of the table such as PC8")
        "the deepest state of the package that devices allow, such as a screen that is on";
    file "power" (idle.power, Profile, "`none`, a name such as two-states, or the path of a file")
        "what states cost: a profile of power (data/power has them, with what each assumes)";
    words "policy" (policy, POLICY, "kernel-6.12 or quiescent") "whose rules offloaded and lazy callbacks \
        follow";
    flag "online_toggle" (online_toggle)
        "a CPU may be offloaded, and taken back, while it is online (Linux 5.12 to 6.11)";
    flag "nocb_overload_wake" (overload_wake)
        "a flood of offloaded callbacks has rcuog woken a tick later, although it does not rest (before \
         Linux 7.0)";
    words "early_qs" (early_qs, EARLY_QS, "off, scan or init")
        "when the grace-period thread reports its own CPU: as others; at the first scan (the patch's first \
         version); at the end of initialisation (Linux 7.0: `rcu: Reduce synchronize_rcu() latency by \
         reporting GP kthread's CPU QS early`)";
    flag "accelerate_only_new" (accelerate_only_new)
        "a callback list asks for a grace period only for what is new in it";
    ticks "jiffies_till_first_fqs" (first_fqs) "ticks from the start of a grace period to its first scan";
    ticks "jiffies_till_next_fqs" (next_fqs) "ticks from one scan to the next";
    flag "rcu_strict_grace_period" (strict)
        "no wait before the first scan, batches of 1000, and every CPU is interrupted as a grace period \
         begins and ends (a build option; the report of each section's end is left out)";
    limit "blimit" (blimit) "callbacks that the soft interrupt invokes at a time";
    limit "qhimark" (qhimark) "so many callbacks more than at the last look are a flood: batches grow, the \
        next scan comes at once, and a bypass list is flushed";
    limit "qlowmark" (qlowmark) "a flood is over when so few callbacks are left";
    flag "rcu_normal_wake_from_gp" (wake_from_gp)
        "who calls synchronize_rcu is woken by the grace-period thread and not by a callback";
    option "wake_from_gp_latch" (wake_latch, "none",
            |text| number(text).filter(|n| (1..=1_000_000).contains(n)), |it| it.to_string(),
            "a number, 1 to 1000000, or `none`")
        "so many callers that wait to be woken so, and new ones wait for a callback until none is left \
         (Linux 7.2: 64)";
    flag "rcu_expedited" (expedited) "who calls synchronize_rcu gets an expedited grace period";
    flag "rcu_normal" (normal) "no grace period is expedited, not even where a caller asks for one";
    any "rcu" ("default (neither), offload (rcu_nocbs=all), lazy (and rcu_lazy=1), or `mixed` (whatever \
     these two say)",
        |it, text| {
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
        })
        "three usual machines: short for rcu_nocbs and rcu_lazy, which count more";
    own "rcu_nocbs" (nocbs, "a list of CPUs of the machine such as 0-3,8, or `all` or `none`",
            |it, text| cpu_list(text, it.cpus)?, |it| cpu_list_text(&it.nocbs, it.cpus))
        "CPUs whose callbacks are offloaded";
    own "nohz_full" (nohz_full,
            "a list of CPUs of the machine such as 1-7, or `none`; one at least is left out, to keep the \
             time",
            |it, text| cpu_list(text, it.cpus)?, |it| cpu_list_text(&it.nohz_full, it.cpus))
        "CPUs that run without a tick while one task runs there; their callbacks are offloaded, and user \
         space there is quiescent";
    any "rcu_nocb_default_all" ("1, or 0 (what rcu_nocbs says)",
        |it, text| {
            if switch(text)? && it.nocbs.is_empty() && it.nohz_full.is_empty() {
                it.nocbs = (0..it.cpus).collect();
            }
            Some(())
        }, |it| u8::from(it.nocbs.len() == it.cpus as usize).to_string())
        "all callbacks are offloaded where neither rcu_nocbs nor nohz_full names CPUs (a build option)";
    flag "rcu_nocb_poll" (nocb_poll)
        "offload groups' threads look every tick and are never woken";
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
            })
        "CPUs that RCU's threads run on";
    number "nohz_full_patience_delay" (patience_ms, 0..=5000, "milliseconds, up to 5000")
        "a CPU of nohz_full that is in the kernel is left alone by its tick for so long";
    flag "rcu_lazy" (lazy) "callbacks of plain call_rcu may be lazy (also `enable_rcu_lazy`)";
    own "lazy_flush" (lazy_flush_ms, "a time such as 10s or 500ms, or a number of ticks; an hour at most",
        |it, text| {
            let ms = match number::<u64>(text) {
                Some(ticks) => ticks.checked_mul(1000)?.div_ceil(it.hz.into()),
                None => time(text)?.div_ceil(1_000_000),
            };
            Some(ms).filter(|ms| (1..=3_600_000).contains(ms))?
        }, |it| time_text(it.lazy_flush_ms * 1_000_000))
        "lazy callbacks wait so long at most";
    number "rcu_fanout_leaf" (leaf_fanout, 2..=64, "2 to 64") "CPUs of a leaf of the tree";
    number "rcu_fanout" (fanout, 2..=64, "2 to 64") "children of an inner node of the tree";
    number "gp_cpu" (gp_cpu, 0..=MOST_CPUS, "the number of a CPU")
        "where the grace-period thread and the offload groups' threads start";
    option "moves" (moves, "never", |text| time(text).filter(|ns| (1..=3_600_000_000_000).contains(ns)),
            |it| time_text(*it), "a time such as 1s, an hour at most, or `never`")
        "the scheduler moves each of RCU's threads to any CPU so often, on average";
    number "initial_jiffies" (jiffies, 1..=u64::MAX >> 16, "a number from 1, or `default`")
        "the jiffy counter at time 0 (waits are jiffies_till_first_fqs and jiffies_till_next_fqs)";
    flag "stepwise" (stepwise)
        "FOR TESTS: RCU's threads do their work step by step, others in between; costs are counted too often";
    number "frozen" (frozen_permille, 0..=1000, "0 to 1000")
        "FITTED: so many of 1000 times that two idle CPUs tick at one instant, a scan finds one of them in \
         its handler (smp=serial)";
    cost "cost.tick_ns" (costs.tick) "from the beginning of a tick to its first soft interrupt";
    cost "cost.irq_ns" (costs.irq) "another interrupt";
    cost "cost.timers_ns" (costs.timers) "the timer soft interrupt";
    cost "cost.softirq_ns" (costs.softirq) "the RCU soft interrupt, without callbacks";
    cost "cost.callback_ns" (costs.callback) "a callback";
    cost "cost.switch_ns" (costs.switch) "a context switch";
    cost "cost.idle_ns" (costs.idle) "a pass of the idle loop";
    cost "cost.tick_off_ns" (costs.tick_off) "on top, where it looks whether the tick can stop";
    cost "cost.gp_thread_ns" (costs.gp_thread) "the grace-period thread, each time it is woken";
    cost "cost.scan_ns" (costs.scan) "the same, for each CPU that a scan looks at";
    cost "cost.rcuog_ns" (costs.rcuog) "an offload group's thread: one look at its members";
    cost "cost.rcuop_ns" (costs.rcuop) "a thread that invokes offloaded callbacks, without them";
    cost "cost.work_ns" (costs.work)
        "work before the first callback of an arrival, where a workload does not say otherwise";
    cost "cost.ipi_ns" (costs.ipi) "how long an interrupt takes to reach another CPU (smp=parallel)";
    cost "cost.lock_ns" (costs.lock) "ASSUMED: a lock of offloaded callbacks, free (smp=parallel)";
    cost "cost.line_ns" (costs.line) "ASSUMED: a cache line that another CPU has changed (smp=parallel)";
};
