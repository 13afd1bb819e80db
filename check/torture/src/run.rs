//! One run: it starts the threads, watches them, and checks at the end that nothing is left.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quiescent::stats::{guarantees, holdouts};
use quiescent::tuning::set_flush_times;
use quiescent::{
    Domain, Global, Guard, InitError, Many, RcuDomain, Srcu, barrier, defer, read_lock, statistics,
    synchronize,
};

use crate::acts::{
    callback, churn, dropper, flood, forker, maker, reader, stall, storm, task, tune,
    waiting_threads, writer,
};
use crate::book::element::MADE;
use crate::book::finding::{self, Finding};
use crate::book::get;
use crate::book::hand::Hand;
use crate::book::options::{Broken, Options};
use crate::book::periods::{DOMAINS, SRCUS};
use crate::book::role::Role;
use crate::book::target::Targets;
use crate::book::world::{Place, World};
use crate::line::Line;
use crate::report::Report;
use crate::watchdog::{TICK, Watchdog};
use crate::{allocator, coverage};

/// The progress of a run, ten times a second.
pub struct Moment<'a> {
    /// The time since the start.
    pub elapsed: Duration,
    /// The progress line, once an interval.
    pub line: Option<&'a str>,
}

/// Runs for the requested duration, or until something is found, or until `tick` (called ten times a second)
/// returns false. Once in the life of a process.
///
/// If the run is long enough and an actor has not acted by then, the run continues until it has, or until the
/// patience is over.
///
/// # Errors
/// If the library refuses its settings.
///
/// # Panics
/// On the second call.
pub fn run(
    options: &Options,
    mut tick: impl FnMut(&Moment<'_>) -> bool,
) -> Result<Report, InitError> {
    options.library.apply()?;
    if let Some(times) = options.flush {
        set_flush_times(times);
    }
    let mut options = options.clone();
    leave_out_what_is_not_promised(&mut options);
    let world = World::begin(options, callback::follow).expect("one run in a process");
    let threads = world.places.len();
    Global::begin(threads);
    if world.options.cast.has_srcus() {
        Srcu::begin(threads);
    }
    if world.options.cast.has_domains() {
        Domain::begin(threads);
    }
    allocator::keep(world.options.quarantine);
    storm::install();
    stall::listen();
    let start = world.start;
    let mut watchdog = Watchdog::new(world);
    let threads = start_all(world);
    let mut notes = String::new();
    let mut stopped = false;
    let mut next = world.options.interval;
    let mut last = Line::new(world);
    while goes_on(world) && !stopped && !finding::any() {
        thread::sleep(TICK);
        notes += &watchdog.look().unwrap_or_default();
        let elapsed = start.elapsed();
        let line = (elapsed >= next).then(|| {
            next += world.options.interval;
            let now = Line::new(world);
            let text = now.since(&last);
            last = now;
            text
        });
        let line = line.as_deref();
        stopped = !tick(&Moment { elapsed, line });
    }
    if start.elapsed() >= world.options.long_enough() && !stopped && !finding::any() {
        for missing in coverage::missing(world) {
            notes += &format!("{missing}\n");
            Finding::NotExercised.note(None, 0);
        }
    }
    world.stop();
    let ended = end_all(world, threads, &mut notes);
    let swept = ended && sweep(world, &mut notes);
    let _inside = misuse_at_the_end(world);
    if swept {
        check_empty(world, &mut notes);
        check_idle(world, &mut notes);
    } else {
        notes += &stuck();
    }
    let last = Line::new(world).text();
    Ok(Report::new(world, start.elapsed(), stopped, notes, last))
}

/// Misuses that no load of the machine prevents: a section that lasts until the end leaves an entry over, and
/// one callback panics unplanned.
fn misuse_at_the_end(world: &World) -> Option<Guard> {
    if world.is_broken(Broken::SecretPanic) {
        defer(callback::panic);
        barrier();
    }
    world.is_broken(Broken::LeftOver).then(|| {
        let guard = read_lock();
        defer(|| ());
        guard
    })
}

/// Forks and signal handlers take no part where the system does not support them.
fn leave_out_what_is_not_promised(options: &mut Options) {
    let here = guarantees();
    for (role, promised) in [
        (Role::Fork, here.forks),
        (Role::Signal, here.signal_handlers),
    ] {
        if !promised {
            options.cast.set(role, 0);
        }
    }
}

/// Is there time left, or an actor that has not acted?
fn goes_on(world: &World) -> bool {
    let options = &world.options;
    let elapsed = world.start.elapsed();
    elapsed < options.duration
        || options.duration >= options.long_enough()
            && elapsed < options.duration + options.patience
            && !coverage::missing(world).is_empty()
}

fn start_all(world: &'static World) -> Vec<JoinHandle<()>> {
    let named = |name: &str| thread::Builder::new().name(name.into());
    let mut threads: Vec<_> = Vec::new();
    for (number, place) in world.places.iter().enumerate() {
        let body: fn(Hand) = match place.role {
            Role::Reader => reader::run::<Global>,
            Role::Writer => writer::run::<Global>,
            Role::Fake => writer::fake::<Global>,
            Role::Barrier => waiting_threads::barriers,
            Role::Drain => waiting_threads::drains,
            Role::Quiet => waiting_threads::quiet,
            Role::Lazy => waiting_threads::lazies,
            Role::Flood => flood::run::<Global>,
            Role::Dropper => dropper::run,
            Role::Stall => stall::run,
            Role::Fork => forker::run,
            Role::Pressure => tune::pressure,
            Role::Budget => tune::budget,
            Role::Toggle => tune::toggle,
            Role::Signal => storm::run,
            Role::SrcuReader => reader::run::<Srcu>,
            Role::SrcuWriter => writer::run::<Srcu>,
            Role::SrcuFlood => flood::run::<Srcu>,
            Role::SrcuStall => stall::alone::<Srcu>,
            Role::SrcuTask => task::run,
            Role::SrcuMaker => maker::run::<Srcu>,
            Role::DomainReader => reader::run::<Domain>,
            Role::DomainWriter => writer::run::<Domain>,
            Role::DomainFlood => flood::run::<Domain>,
            Role::DomainStall => stall::alone::<Domain>,
            Role::DomainMaker => maker::run::<Domain>,
            Role::DomainPolicy => tune::domains,
            Role::Churn => continue, // the lanes start these
        };
        threads.push(named(place.role.name()).spawn(move || body(Hand::new(world, number, 0))));
    }
    for lane in 0..world.options.cast.of(Role::Churn) {
        threads.push(named("lane").spawn(move || churn::lane(world, lane)));
    }
    threads
        .into_iter()
        .map(|thread| thread.expect("a thread"))
        .collect()
}

/// Waits for the threads; false if one does not end.
fn end_all(world: &World, threads: Vec<JoinHandle<()>>, notes: &mut String) -> bool {
    let start = Instant::now();
    for thread in threads {
        while !thread.is_finished() {
            if start.elapsed() > world.options.patience {
                let name = thread.thread().name().unwrap_or("?");
                *notes += &format!("thread \"{name}\" does not end\n");
                Finding::Hang.note(None, 0);
                return false;
            }
            reader::end_passed_on(); // another thread may wait for them
            thread::sleep(Duration::from_millis(1));
        }
        if thread.join().is_err() {
            Finding::Panicked.note(None, 0); // the panic message has been printed
        }
    }
    true
}

/// Empties all slots and waits for everything queued; false if that does not end.
fn sweep(world: &'static World, notes: &mut String) -> bool {
    let sweeper = thread::spawn(move || {
        reader::end_passed_on();
        clear_targets::<Srcu>(world);
        clear_targets::<Domain>(world);
        clear_targets::<Global>(world);
        // A callback that was running when the first was called may have queued itself again.
        barrier();
        barrier();
        // A requested grace period has no driver once all its waiters are gone: the next waiter drives it.
        synchronize();
    });
    end_all(world, vec![sweeper], notes) && come_to_rest(world)
}

/// Empties all slots of a kind, and waits for what was queued there.
fn clear_targets<P: Targets>(world: &World) {
    let Some(slots) = P::slots() else { return };
    for slot in 0..slots.count() {
        let target = match slot {
            0 => slots.target(0),
            _ => slots.replace(slot, None),
        };
        let Some(target) = target else { continue };
        let own = target.whose.clone();
        target.clear(world);
        drop(target);
        own.barrier();
        own.barrier();
        own.synchronize();
    }
    P::statics().iter().for_each(P::barrier);
}

/// Entries queued under dropped domains run in time, although no call can request it. (Entries that do not
/// run are found afterwards.)
fn come_to_rest(world: &World) -> bool {
    let start = Instant::now();
    let left = || {
        let mut entries = world.places.iter().flat_map(|it| it.ledger.entries());
        entries.any(|entry| !entry.is_free()) || get(&MADE) != get(&allocator::FREED)
    };
    let own = Srcu::slots().is_some() || Domain::slots().is_some();
    while own && left() && start.elapsed() < world.options.patience {
        thread::sleep(Duration::from_millis(10));
    }
    true
}

fn check_empty(world: &World, notes: &mut String) {
    let left = world.places.iter().flat_map(|place| {
        let left = place.ledger.entries().filter(|entry| !entry.is_free());
        left.map(move |entry| (place, entry))
    });
    for (Place { role, .. }, entry) in left {
        if Finding::NeverRan.count() == 0 {
            let (kind, age, word) = (entry.kind().name(), entry.age(), entry.word());
            let name = role.name();
            *notes += &format!("{kind} by a {name} thread is left, age {age}, word {word:#x}\n");
        }
        Finding::NeverRan.note(Some(entry.kind()), entry.word());
    }
    for place in &world.places {
        let [queued, ran] = place.tide.both();
        if queued != ran {
            let finding = if ran < queued {
                Finding::NeverRan
            } else {
                Finding::RanTwice
            };
            *notes += &format!("{}: of {queued} queued {ran} have run\n", place.role.name());
            finding.note(None, queued.abs_diff(ran));
        }
    }
    let (made, freed) = (get(&MADE), get(&allocator::FREED));
    if made != freed {
        *notes += &format!("{made} blocks were made, {freed} freed\n");
        Finding::Leaked.note(None, made.abs_diff(freed));
    }
}

/// Checks that nothing is queued any more, and that the library's own counters show that soon.
fn check_idle(world: &World, notes: &mut String) {
    let start = Instant::now();
    let idle = || {
        let now = statistics();
        now.queued == 0
            && now.queued_bytes == 0
            && !now.timer_armed
            && !now.busy
            && SRCUS.iter().all(|srcu| srcu.statistics().queued == 0)
            && DOMAINS.iter().all(|domain| domain.statistics().at_rest)
    };
    while !idle() {
        if start.elapsed() > world.options.patience {
            *notes += &format!("{:#?}\n", statistics());
            Finding::NotIdle.note(None, statistics().queued);
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let counted = [
        statistics().callback_panics,
        SRCUS.iter().map(|it| it.statistics().callback_panics).sum(),
        DOMAINS
            .iter()
            .map(|it| it.statistics().callback_panics)
            .sum(),
    ];
    for ((planned, batched), counted) in world.panics.iter().zip(&world.batched).zip(counted) {
        check_panics(get(planned), get(batched), counted, notes);
    }
}

/// The first panic of a batch of entries is the batch's, so that `batched` ones count once to all times.
fn check_panics(planned: u64, batched: u64, counted: u64, notes: &mut String) {
    let fewest = planned - batched + u64::from(batched > 0);
    if !(fewest..=planned).contains(&counted) {
        *notes += &format!("{planned} callbacks panicked, {counted} were counted");
        *notes += &format!(" ({batched} as entries of maps, of which a batch counts once)\n");
        Finding::PanicsMiscounted.note(None, planned.abs_diff(counted));
    }
}

/// The text of the holdouts.
fn stuck() -> String {
    let mut text = String::new();
    for holdout in holdouts() {
        text += &format!("holdout: {holdout}\n");
    }
    stuck_in("Srcu", &SRCUS, &mut text);
    stuck_in("domain", &DOMAINS, &mut text);
    text + &format!("{:#?}\n", statistics())
}

fn stuck_in<K: Many>(name: &str, domains: &[RcuDomain<(), K>], text: &mut String) {
    for (number, domain) in domains.iter().enumerate() {
        for holdout in domain.holdouts() {
            *text += &format!("{name} {number}: holdout: {holdout}\n");
        }
        *text += &format!("{name} {number}: {:?}\n", domain.statistics());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_a_batch_count_once_to_all_times() {
        let finds = |planned, batched, counted| {
            let mut notes = String::new();
            check_panics(planned, batched, counted, &mut notes);
            !notes.is_empty()
        };
        assert!(!finds(7, 0, 7) && finds(7, 0, 6) && finds(7, 0, 8));
        assert!(!finds(7, 3, 7) && !finds(7, 3, 5) && finds(7, 3, 4) && finds(7, 3, 8));
    }
}
