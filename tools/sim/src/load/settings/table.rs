//! The table of settings: a line for each field of [`Options`].

use super::idle::{self, NONE};
use crate::base::error::Error;
use crate::idling::{Profile, Table};
use crate::input::options::{IdleLoop, MachineKind, Options, Smp};
use crate::text::values::{cpu_list, cpu_list_text, number, switch, time, time_text};
use quiescent_engine::EarlyQs;
use quiescent_engine::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_engine::offload::Policy;

use super::checks::{MOST_CPUS, MOST_HZ, too_many};

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// The values that it takes, in words.
    pub allowed: &'static str,
    pub(super) read: fn(&mut Options, &str) -> Option<()>,
    pub(super) write: fn(&Options) -> String,
}

impl Setting {
    /// Sets it. Whether the machine can be is not looked at.
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

/// Words and what they stand for.
pub(super) fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|it| it.0 == text).map(|it| it.1)
}

pub(super) fn word_of<T: Copy + PartialEq>(value: T, words: &[(&str, T)]) -> String {
    let found = words.iter().find(|it| it.1 == value);
    found.expect("every value has a word").0.to_owned()
}

const KIND: &[(&str, MachineKind)] = &[
    ("kernel", MachineKind::Kernel),
    ("threads", MachineKind::Threads),
];
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

/// The setting of a plain number that is within bounds.
macro_rules! number {
    ($key:literal, $($field:ident).+, $range:expr, $allowed:literal, $about:literal) => {
        Setting {
            key: $key,
            about: $about,
            allowed: $allowed,
            read: |it, text| {
                it.$($field).+ = number(text).filter(|n| $range.contains(n))?;
                Some(())
            },
            write: |it| it.$($field).+.to_string(),
        }
    };
}

/// The setting of one of some words.
macro_rules! words {
    ($key:literal, $field:ident, $words:ident, $allowed:literal, $about:literal) => {
        Setting {
            key: $key,
            about: $about,
            allowed: $allowed,
            read: |it, text| {
                it.$field = word(text, $words)?;
                Some(())
            },
            write: |it| word_of(it.$field, $words),
        }
    };
}

/// The setting of a switch.
macro_rules! flag {
    ($key:literal, $field:ident, $about:literal) => {
        Setting {
            key: $key,
            about: $about,
            allowed: "1 or 0",
            read: |it, text| {
                it.$field = switch(text)?;
                Some(())
            },
            write: |it| u8::from(it.$field).to_string(),
        }
    };
}

/// The setting of ticks that have a default of the kernel's.
macro_rules! ticks {
    ($key:literal, $field:ident, $about:literal) => {
        Setting {
            key: $key,
            about: $about,
            allowed: "ticks, 0 to 100000, or `default`",
            read: |it, text| {
                it.$field = match text {
                    "default" => None,
                    text => Some(number(text).filter(|n| (0..=100_000).contains(n))?),
                };
                Some(())
            },
            write: |it| it.$field.map_or("default".into(), |it| it.to_string()),
        }
    };
}

/// The setting of a cost in nanoseconds.
macro_rules! cost {
    ($key:literal, $($field:ident).+, $about:literal) => {
        number!(
            $key,
            $($field).+,
            0..=1_000_000_000,
            "nanoseconds, up to 1000000000",
            $about
        )
    };
}

/// All settings, in the order in which they are carried out: what others depend on comes first.
pub static SETTINGS: &[Setting] = &[
    words!(
        "machine",
        kind,
        KIND,
        "kernel or threads",
        "CPUs under a kernel, or threads of a program that uses the library"
    ),
    number!("cpus", cpus, 1..=MOST_CPUS, "1 to 1048576", "CPUs"),
    Setting {
        key: "hz",
        about: "ticks a second; the jiffy counter starts 300 seconds before it wraps at 32 bits, as a kernel's",
        allowed: "1 to 10000",
        read: |it, text| {
            it.hz = number(text).filter(|n| (1..=MOST_HZ).contains(n))?;
            it.jiffies = Options::kernel_6_12(1, it.hz).jiffies;
            Some(())
        },
        write: |it| it.hz.to_string(),
    },
    number!(
        "seed",
        seed,
        0..=u64::MAX,
        "a number",
        "of everything that is chosen by chance"
    ),
    words!(
        "smp",
        smp,
        SMP,
        "parallel or serial",
        "do CPUs execute at the same time, as hardware, or one at a time, as the virtual machine of the shared traces"
    ),
    words!(
        "idle_loop",
        idle_loop,
        IDLE_LOOP,
        "classic or retain",
        "an idle CPU's tick stops at each idle entry, or when one more tick has arrived"
    ),
    Setting {
        key: "fast_no_hz",
        about: "an idle CPU with callbacks keeps its tick, or sleeps and looks (RCU_FAST_NO_HZ)",
        allowed: "off, v5.6 (lazy callbacks sleep longer) or v5.10",
        read: |it, text| {
            it.idle_rule = match text {
                "off" => IdleRule::Tick,
                "v5.6" => IdleRule::FastNoHz(FastNoHz::v5_6(it.hz)),
                "v5.10" => IdleRule::FastNoHz(FastNoHz::v5_10(it.hz)),
                _ => return None,
            };
            Some(())
        },
        write: |it| {
            match it.idle_rule {
                IdleRule::Tick => "off",
                IdleRule::FastNoHz(rule) if rule == FastNoHz::v5_10(it.hz) => "v5.10",
                IdleRule::FastNoHz(_) => "v5.6",
            }
            .into()
        },
    },
    idle::TABLE,
    idle::GOVERNOR,
    idle::LATENCY,
    idle::PACKAGE_LIMIT,
    idle::POWER,
    words!(
        "policy",
        policy,
        POLICY,
        "kernel-6.12 or quiescent",
        "whose rules offloaded and lazy callbacks follow"
    ),
    flag!(
        "online_toggle",
        online_toggle,
        "a CPU may be offloaded, and taken back, while it is online (Linux 5.12 to 6.11)"
    ),
    words!(
        "early_qs",
        early_qs,
        EARLY_QS,
        "off, scan or init",
        "when the grace-period thread reports its own CPU: as others, at the first scan, or at the end of initialisation"
    ),
    flag!(
        "accelerate_only_new",
        accelerate_only_new,
        "a callback list asks for a grace period only for what is new in it"
    ),
    ticks!(
        "jiffies_till_first_fqs",
        first_fqs,
        "ticks from the start of a grace period to its first scan"
    ),
    ticks!(
        "jiffies_till_next_fqs",
        next_fqs,
        "ticks from one scan to the next"
    ),
    flag!(
        "rcu_normal_wake_from_gp",
        wake_from_gp,
        "who calls synchronize_rcu is woken by the grace-period thread and not by a callback"
    ),
    flag!(
        "rcu_expedited",
        expedited,
        "who calls synchronize_rcu gets an expedited grace period"
    ),
    flag!(
        "rcu_normal",
        normal,
        "nobody does, not even who asks for one"
    ),
    Setting {
        key: "rcu",
        about: "three usual machines: short for rcu_nocbs and rcu_lazy, which count more",
        allowed: "default (neither), offload (rcu_nocbs=all), lazy (and rcu_lazy=1), or `mixed` (whatever these two say)",
        read: |it, text| {
            (it.nocbs, it.lazy) = match text {
                "default" => (Vec::new(), false),
                "offload" => ((0..it.cpus).collect(), false),
                "lazy" => ((0..it.cpus).collect(), true),
                "mixed" => return Some(()),
                _ => return None,
            };
            Some(())
        },
        write: |it| {
            let all = it.nocbs.len() == it.cpus as usize;
            match (it.nocbs.is_empty(), all, it.lazy) {
                (true, _, false) => "default",
                (_, true, false) => "offload",
                (_, true, true) => "lazy",
                _ => "mixed",
            }
            .into()
        },
    },
    Setting {
        key: "rcu_nocbs",
        about: "CPUs whose callbacks are offloaded",
        allowed: "a list of CPUs of the machine such as 0-3,8, or `all` or `none`",
        read: |it, text| {
            it.nocbs = cpu_list(text, it.cpus)?;
            Some(())
        },
        write: |it| cpu_list_text(&it.nocbs, it.cpus),
    },
    Setting {
        key: "nohz_full",
        about: "CPUs that run without a tick while one task runs there; their callbacks are offloaded, and user space there is quiescent",
        allowed: "a list of CPUs of the machine such as 1-7, or `none`; one at least is left out, to keep the time",
        read: |it, text| {
            it.nohz_full = cpu_list(text, it.cpus)?;
            Some(())
        },
        write: |it| cpu_list_text(&it.nohz_full, it.cpus),
    },
    number!(
        "nohz_full_patience_delay",
        patience_ms,
        0..=5000,
        "milliseconds, up to 5000",
        "a CPU of nohz_full that is in the kernel is left alone by its tick for so long"
    ),
    flag!(
        "rcu_lazy",
        lazy,
        "callbacks that nobody waits for may be lazy (also `enable_rcu_lazy`)"
    ),
    Setting {
        key: "lazy_flush",
        about: "lazy callbacks wait so long at most",
        allowed: "a time such as 10s or 500ms, or a number of ticks; an hour at most",
        read: |it, text| {
            let ms = match number::<u64>(text) {
                Some(ticks) => ticks.checked_mul(1000)?.div_ceil(it.hz.into()),
                None => time(text)?.div_ceil(1_000_000),
            };
            it.lazy_flush_ms = Some(ms).filter(|ms| (1..=3_600_000).contains(ms))?;
            Some(())
        },
        write: |it| time_text(it.lazy_flush_ms * 1_000_000),
    },
    number!(
        "rcu_fanout_leaf",
        leaf_fanout,
        2..=64,
        "2 to 64",
        "CPUs of a leaf of the tree"
    ),
    number!(
        "rcu_fanout",
        fanout,
        2..=64,
        "2 to 64",
        "children of an inner node of the tree"
    ),
    number!(
        "gp_cpu",
        gp_cpu,
        0..=MOST_CPUS,
        "the number of a CPU",
        "where the grace-period thread and the offload groups' threads start"
    ),
    Setting {
        key: "moves",
        about: "the scheduler moves each of RCU's threads to any CPU so often, on average",
        allowed: "a time such as 1s, an hour at most, or `never`",
        read: |it, text| {
            it.moves = match text {
                "never" => None,
                text => Some(time(text).filter(|ns| (1..=3_600_000_000_000).contains(ns))?),
            };
            Some(())
        },
        write: |it| it.moves.map_or("never".into(), time_text),
    },
    number!(
        "jiffies",
        jiffies,
        1..=u64::MAX >> 16,
        "a number from 1",
        "the jiffy counter at time 0"
    ),
    flag!(
        "stepwise",
        stepwise,
        "FOR TESTS: RCU's threads do their work step by step, others in between; costs are counted too often"
    ),
    number!(
        "frozen",
        frozen_permille,
        0..=1000,
        "0 to 1000",
        "FITTED: so many of 1000 times that two idle CPUs tick at one instant, a scan finds one of them in its handler (smp=serial)"
    ),
    cost!(
        "cost.tick_ns",
        costs.tick,
        "from the beginning of a tick to its first soft interrupt"
    ),
    cost!("cost.irq_ns", costs.irq, "another interrupt"),
    cost!("cost.timers_ns", costs.timers, "the timer soft interrupt"),
    cost!(
        "cost.softirq_ns",
        costs.softirq,
        "the RCU soft interrupt, without callbacks"
    ),
    cost!("cost.callback_ns", costs.callback, "a callback"),
    cost!("cost.switch_ns", costs.switch, "a context switch"),
    cost!("cost.idle_ns", costs.idle, "a pass of the idle loop"),
    cost!(
        "cost.gp_thread_ns",
        costs.gp_thread,
        "the grace-period thread, each time it is woken"
    ),
    cost!(
        "cost.scan_ns",
        costs.scan,
        "the same, for each CPU that a scan looks at"
    ),
    cost!(
        "cost.rcuog_ns",
        costs.rcuog,
        "an offload group's thread: one look at its members"
    ),
    cost!(
        "cost.rcuop_ns",
        costs.rcuop,
        "a thread that invokes offloaded callbacks, without them"
    ),
    cost!(
        "cost.work_ns",
        costs.work,
        "work before the first callback of an arrival, where a workload does not say otherwise"
    ),
    cost!(
        "cost.ipi_ns",
        costs.ipi,
        "how long an interrupt takes to reach another CPU (smp=parallel)"
    ),
];
