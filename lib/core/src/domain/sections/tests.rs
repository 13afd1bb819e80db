//! Whether a thread is inside a section, for each kind of readers, and what refuses to wait or to run code
//! there.

use std::sync::atomic::Ordering::Relaxed;

use quiescent_engine::credit::Urgency;

use crate::domain::driver::How;
use crate::domain::error::SyncError;
use crate::domain::life::Domain;
use crate::domain::state::State;
use crate::domain::sweep::Until;
use crate::prim::NEST_LIMIT;
use crate::prim::counters::value;
use crate::queue::kind::CODE;
use crate::reader::counted::Counted;
use crate::reader::mode::FenceMode;
use crate::reader::set::DomainReaders;
use crate::reader::threads::Slot;
use crate::reader::word::{self, Reader};
use crate::testing::{Program, counter, counting, program};

mod answers;

/// A program with one domain of threads and one of counts, each with its state.
struct World {
    program: &'static Program,
    domain: &'static Domain,
    counts: &'static Domain,
}

/// An open section.
enum Open {
    Home(&'static Reader),
    Domain(&'static Reader),
    Counted(usize),
}

impl World {
    fn new(fenced: bool) -> World {
        let program = program();
        if fenced {
            let forced = program.env.force_mode(FenceMode::Fenced);
            forced.expect("no thread has read");
        }
        program.asked.has_no_worker.store(1, Relaxed);
        World {
            program,
            domain: Domain::found(&program.env),
            counts: program.domain(),
        }
    }

    fn states(&self) -> [&'static State; 3] {
        let home = &self.program.env.state;
        [home, self.domain.state(), self.counts.state()]
    }

    fn counted(&self) -> &'static Counted {
        match &self.counts.readers {
            DomainReaders::Counted(counted) => counted,
            _ => unreachable!("made with counts"),
        }
    }

    /// No slot is left for this thread.
    fn without_slots(&self) -> &World {
        let slots = &self.program.env.threads.slots;
        slots.limit_leaves(1);
        while slots.claim().is_some() {}
        self
    }

    fn registered(&self) -> &World {
        self.program.unlock(self.program.lock());
        self
    }

    fn home(&self) -> Open {
        Open::Home(self.program.lock())
    }

    fn in_domain(&self) -> Open {
        Open::Domain(self.domain.lock_anew(&self.program.local()))
    }

    /// As where there is no memory for a record: an unregistered section is open, and another one joins it.
    fn in_domain_without_record(&self) -> Open {
        let local = self.program.local();
        let side = local.unregistered_elsewhere.join(0);
        let open = self.in_domain();
        local.unregistered_elsewhere.leave(side);
        assert!(self.domain.own_record().is_none());
        open
    }

    fn in_counts(&self) -> Open {
        Open::Counted(self.program.enter(self.counted()))
    }

    fn close(&self, open: Open) {
        match open {
            Open::Home(reader) => self.program.unlock(reader),
            Open::Domain(reader) => {
                if word::end(reader) {
                    self.domain.unlock_slowly(&self.program.local(), reader);
                }
            }
            Open::Counted(count) => {
                assert!(
                    !self.program.leave(self.counted(), count),
                    "no driver waits"
                );
            }
        }
    }

    /// True if a grace period of the domain would wait, as a scan of its readers tells.
    fn blocks(&self) -> [bool; 3] {
        let slots = &self.program.env.threads.slots;
        let them = &slots.unregistered;
        let home = them.inside(0) + them.inside(1) > 0 || slots.claimed().any(Slot::is_inside);
        [
            home,
            self.domain.readers.is_inside(),
            self.counts.readers.is_inside(),
        ]
    }

    /// In the process's domain, the domain of threads, and that of counts: waiting is refused.
    #[track_caller]
    fn refused(&self) -> [bool; 3] {
        self.states().map(|state| {
            let refused = state.in_section();
            let inside = |result| result == Err(SyncError::InsideSection);
            if refused {
                assert!(inside(state.synchronize(How::default())));
                // Nothing is waited for here, either: what is not ready stays.
                state.put(CODE, counting(counter()), Urgency::Lazy);
                let held = state.held().0;
                state.drain(Until { deadline: None });
                assert!(state.held().0 > 0 && state.held().0 <= held);
            }
            assert_eq!(inside(state.barrier()), refused);
            refused
        })
    }

    /// Whether the thread runs code in its calls that retire, by the same three; and whether it yields.
    fn runs(&self) -> ([bool; 3], bool) {
        let local = self.program.local();
        let before = value(&self.program.env.state.counters.gave_way);
        self.program.env.state.give_way();
        let gave_way = value(&self.program.env.state.counters.gave_way) > before;
        (self.states().map(|state| state.may_run(&local)), gave_way)
    }

    #[track_caller]
    fn outside(&self) {
        assert_eq!(self.refused(), [false; 3]);
        assert_eq!(self.runs(), ([true; 3], true));
        assert_eq!(self.blocks(), [false; 3]);
    }
}

/// More sections than the word counts; the first ones end first.
fn beyond_the_limit(world: &World) -> Open {
    let mut open: Vec<Open> = (0..=NEST_LIMIT).map(|_| world.home()).collect();
    let last = open.pop().expect("many");
    open.into_iter().for_each(|open| world.close(open));
    last
}

struct Row {
    readers: &'static str,
    open: fn(&World) -> Open,
    /// Whose grace periods wait: of the process's domain, the domain of threads, that of counts.
    blocks: [bool; 3],
    /// Where waiting is refused. (Without a record it is not known in which domain a thread is.)
    refused: [bool; 3],
}

/// A section of the process's domain forbids waiting in all domains.
const HOME: ([bool; 3], [bool; 3]) = ([true, false, false], [true; 3]);
const DOMAIN: ([bool; 3], [bool; 3]) = ([false, true, false], [false, true, false]);
/// Its sections belong to no thread.
const COUNTS: ([bool; 3], [bool; 3]) = ([false, false, true], [false; 3]);

const ROWS: &[Row] = &[
    row("process", |world| world.home(), HOME),
    row(
        "process, registered before",
        |world| world.registered().home(),
        HOME,
    ),
    row("process, beyond the limit", beyond_the_limit, HOME),
    row(
        "process, without a slot",
        |world| world.without_slots().home(),
        HOME,
    ),
    row("domain", |world| world.in_domain(), DOMAIN),
    row(
        "domain, without a slot",
        |world| world.without_slots().in_domain(),
        DOMAIN,
    ),
    row(
        "domain, with a slot and without a record",
        |world| world.registered().in_domain_without_record(),
        DOMAIN,
    ),
    row("counts", |world| world.in_counts(), COUNTS),
    row(
        "counts, without a slot",
        |world| world.without_slots().in_counts(),
        COUNTS,
    ),
];

const fn row(
    readers: &'static str,
    open: fn(&World) -> Open,
    (blocks, refused): ([bool; 3], [bool; 3]),
) -> Row {
    Row {
        readers,
        open,
        blocks,
        refused,
    }
}

#[test]
fn every_kind_of_section_is_known_to_what_must_not_run_there() {
    for fenced in [false, true] {
        for row in ROWS {
            let world = World::new(fenced);
            let open = (row.open)(&world);
            let known = row.refused.contains(&true);
            let name = row.readers;
            assert_eq!(world.blocks(), row.blocks, "{name}, fenced: {fenced}");
            assert_eq!(
                world.runs(),
                ([!known; 3], !known),
                "{name}, fenced: {fenced}"
            );
            assert_eq!(world.refused(), row.refused, "{name}, fenced: {fenced}");
            world.close(open);
            assert_eq!(world.blocks(), [false; 3], "{name}, fenced: {fenced}");
            assert_eq!(world.runs(), ([true; 3], true), "{name}, fenced: {fenced}");
        }
    }
}

/// In a callback nothing runs, whatever the thread is in.
#[test]
fn nothing_runs_in_a_callback() {
    let world = World::new(false);
    world.outside();
    world.program.env.marked(|| {
        assert_eq!(world.runs(), ([false; 3], false));
        for state in world.states() {
            assert_eq!(
                state.synchronize(How::default()),
                Err(SyncError::InsideCallback)
            );
            assert_eq!(state.barrier(), Err(SyncError::InsideCallback));
        }
    });
    world.outside();
}

/// The process's domain knows a thread by its slot, another one by its record, and an `Srcu` by nothing.
#[test]
fn a_thread_is_known_in_each_domain_by_its_own_number() {
    let program = program();
    let env = &program.env;
    assert_eq!(env.state.own_cpu(&env.local()), None);
    let reader = program.lock();
    let own = env.own_slot().map(|slot| slot.cpu());
    assert_eq!(env.state.own_cpu(&env.local()), own);
    program.unlock(reader);
    assert!(own.is_some() || env.state.own_cpu(&env.local()).is_none());
    assert_eq!(
        Domain::found(env).state().own_cpu(&env.local()),
        None,
        "it has not read there"
    );
    assert_eq!(
        Domain::found_counted(env).state().own_cpu(&env.local()),
        None
    );
    assert!(!env.state.is_inside() && !Domain::found_counted(env).state().is_inside());
}
