//! A case: made from a seed, or read from text.
//!
//! The text is JSON; a machine is the list of its [settings](crate::settings). Reading what was written gives
//! the same case.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use quiescent_kernel::fast_no_hz::{FastNoHz, IdleRule};
use quiescent_kernel::offload::Policy;
use quiescent_kernel::{CpuId, EarlyQs};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::actors::{Acting, Actor, Role};
use crate::base::chance::Chance;
use crate::base::error::Error;
use crate::input::options::{IdleLoop, Options, Smp};
use crate::kernel::machine::Machine;
use crate::kernel::state::Faults;
use crate::load::settings;

/// A machine, its faults and its actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The machine.
    #[serde(rename = "machine", with = "as_settings")]
    pub options: Options,
    /// The faults.
    pub faults: Faults,
    /// The seed of it.
    pub fault_seed: u64,
    /// When that ends, in virtual nanoseconds.
    pub calm: u64,
    /// The actors.
    pub actors: Vec<Actor>,
}

/// A machine as text: its settings.
mod as_settings {
    use super::*;

    pub fn serialize<S: Serializer>(options: &Options, to: S) -> Result<S::Ok, S::Error> {
        let all: BTreeMap<&str, String> = settings::listed(options).into_iter().collect();
        all.serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Options, D::Error> {
        let all = BTreeMap::<String, String>::deserialize(from)?;
        let sets: Vec<(&str, &str)> = all.iter().map(|(k, v)| (&**k, &**v)).collect();
        let mut options = Options::kernel_6_12(1, 1000);
        settings::apply(&mut options, &sets).map_err(D::Error::custom)?;
        Ok(options)
    }
}

impl Case {
    /// The case of this seed: one of three has no faults, one of four is made of readers and updaters only
    /// and has many grace periods.
    pub fn of_seed(seed: u64) -> Case {
        let mut chance = Chance::new(seed);
        let dense = chance.below(4) == 0;
        let options = machine(&mut chance, if dense { 4 } else { 12 });
        let cpus = u64::from(options.cpus);
        let plugs = options.cpus * chance.below(2) as u32;
        let mut actor = |role, deeds| Actor::drawn(&mut chance, cpus, (role, deeds, plugs));
        let actors = if dense {
            let updaters = (0..2).map(|_| (Role::Updater, 1000));
            let readers = (0..2 + cpus / 2).map(|_| (Role::Reader, 100_000));
            updaters
                .chain(readers)
                .map(|(role, deeds)| actor(role, deeds))
                .collect()
        } else {
            let mut actors = vec![actor(Role::Anything, 60)];
            while actors.len() < 2 || actors[0].seed % (2 * cpus) > actors.len() as u64 {
                actors.push(actor(Role::Anything, 60));
            }
            actors
        };
        let actors = actors.into_iter().chain(srcu_actors(seed, cpus)).collect();
        Case {
            faults: match chance.below(3) {
                0 => Faults::default(),
                _ => Faults::any(&mut chance),
            },
            fault_seed: chance.next(),
            calm: 100_000_000 + chance.below(4_000_000_000),
            actors,
            options,
        }
    }

    /// The machine before its first event.
    pub fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.options.clone());
        machine.func("callback");
        if self.faults != Faults::default() {
            machine.faulty(self.faults, self.fault_seed);
        }
        let updates = |it: &&Actor| it.role.updates();
        let updaters = Rc::new(Cell::new(self.actors.iter().filter(updates).count()));
        let all: Arc<[CpuId]> = (0..self.options.cpus).collect();
        for (n, actor) in self.actors.iter().enumerate() {
            let work = Acting::new(*actor, &updaters);
            machine.spawn(&format!("actor{n}"), actor.cpu, actor.start, work);
            if actor.role.is_srcu() {
                machine.roam(Arc::clone(&all), Chance::new(!actor.seed));
            }
        }
        machine
    }

    /// As text.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("it is plain data")
    }

    /// From text that [`to_text`](Case::to_text) has written, also after manual changes. `file` is for
    /// errors.
    ///
    /// # Errors
    /// If it is no such text, with the place; if the machine cannot be; if an actor is where no CPU is.
    pub fn from_text(file: &str, text: &str) -> Result<Case, Error> {
        let case: Case = serde_json::from_str(text).map_err(|why| Error::File {
            file: file.into(),
            line: why.line(),
            column: why.column(),
            why: why
                .to_string()
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .into(),
        })?;
        let cpus = case.options.cpus;
        let nowhere = |it: &&Actor| it.cpu >= cpus || it.plugs > cpus;
        if let Some(actor) = case.actors.iter().find(nowhere) {
            return Err(Error::Machine(format!(
                "{file}: an actor on CPU {} who plugs CPUs below {}, of a machine of {cpus} CPUs",
                actor.cpu, actor.plugs
            )));
        }
        Ok(case)
    }
}

impl Actor {
    /// One with this role, at least so many deeds, and so many plugs, on one of the CPUs.
    fn drawn(chance: &mut Chance, cpus: u64, (role, deeds, plugs): (Role, u64, u32)) -> Actor {
        Actor {
            role,
            cpu: chance.below(cpus) as u32,
            start: chance.below(5_000_000),
            seed: chance.next(),
            deeds: deeds + chance.below(deeds),
            plugs,
        }
    }
}

/// Readers and updaters of SRCU, in one of three cases. Drawn apart, so that all else in a case is as it was
/// without them.
fn srcu_actors(seed: u64, cpus: u64) -> Vec<Actor> {
    let mut chance = Chance::new(seed ^ 0x0073_7263_7500);
    if chance.below(3) > 0 {
        return Vec::new();
    }
    let updaters = 1 + chance.below(2);
    let readers = 1 + chance.below(4);
    let mut actor = |role, deeds| Actor::drawn(&mut chance, cpus, (role, deeds, 0));
    let updaters: Vec<Actor> = (0..updaters)
        .map(|_| actor(Role::SrcuUpdater, 60))
        .collect();
    let readers = (0..readers).map(|_| actor(Role::SrcuReader, 10_000));
    updaters.into_iter().chain(readers).collect()
}

/// A machine of some CPUs in small leaves, every option by chance; its times are short.
fn machine(chance: &mut Chance, most_cpus: u64) -> Options {
    let cpus = 1 + chance.below(most_cpus) as u32;
    let hz = [100, 250, 1000][chance.below(3) as usize];
    let one_of = |chance: &mut Chance, n| chance.below(n) == 0;
    let offloaded = chance.below(3);
    let nocbs = (0..cpus).filter(|_| chance.below(2) < offloaded);
    let options = Options {
        nocbs: nocbs.collect(),
        smp: [Smp::Serial, Smp::Parallel][chance.below(2) as usize],
        idle_loop: [IdleLoop::Classic, IdleLoop::Retain][chance.below(2) as usize],
        early_qs: [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init][chance.below(3) as usize],
        first_fqs: Some(chance.below(5)),
        next_fqs: Some(1 + chance.below(4)),
        idle_rule: [
            IdleRule::Tick,
            IdleRule::FastNoHz(FastNoHz::v5_6(hz)),
            IdleRule::FastNoHz(FastNoHz::v5_10(hz)),
        ][chance.below(3) as usize],
        wake_from_gp: one_of(chance, 2),
        expedited: one_of(chance, 8),
        normal: one_of(chance, 8),
        accelerate_only_new: !one_of(chance, 4),
        lazy: one_of(chance, 2),
        lazy_flush_ms: 300,
        policy: [Policy::Kernel612, Policy::Quiescent][chance.below(2) as usize],
        online_toggle: one_of(chance, 2),
        leaf_fanout: 2 + chance.below(3) as u32,
        fanout: 2 + chance.below(3) as u32,
        gp_cpu: chance.below(u64::from(cpus)) as u32,
        stepwise: one_of(chance, 2),
        seed: {
            // Drawn for an option that is gone, so that the cases stay as they were.
            chance.next();
            chance.next()
        },
        ..Options::kernel_6_12(cpus, hz)
    };
    // Of its own seed, so that these options have left the cases as they were before. A machine has up to a
    // dozen waiters at once, hence the low latches, below and above the five that are woken directly.
    let mut chance = Chance::new(options.seed);
    Options {
        wake_latch: [None, Some(1), Some(2 + chance.below(8) as u32), Some(64)]
            [chance.below(4) as usize],
        timer_migration: !one_of(&mut chance, 4),
        overload_wake: !one_of(&mut chance, 2),
        ..options
    }
}
