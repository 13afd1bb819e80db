//! `bench retire`: what it costs to have an object reclaimed later.
//!
//! Cases, and what is measured:
//!
//! * `push`: the call alone, on blocks made ahead, a few thousand at a time, so that the library frees
//!   earlier ones meanwhile: `cpu_ns` of the calling thread; `process_cpu_ns` of all threads to the end,
//!   making left out; `latency_ns_…` of single calls, the clock included
//! * `enqueue 1t`, `enqueue 2t`: the call alone, all blocks made ahead: CPU of the calling thread
//! * `all-in 1t`, `all-in 2t`: make, retire, grace periods, free, the final barrier: CPU of the whole process
//!   an object, objects a second, peak memory
//! * `drop 1t`: the same for objects that own another and have `Drop`
//! * `call 1t`: the same by `call_rcu` and its like: a callback an object
//! * `string 64 b 1t`, `string 64 kib 1t`, `config 1t`: a cell whose value is replaced and retired: a
//!   `String`, a map of 1000 settings; fewer of the larger ones (`RetireCase::objects`)
//! * `inside block 1t`, `outside block 1t`, … `drop`, `string 64 b`, `drop 2t`: a cell whose value is read in
//!   a section, replaced, and retired in that section or after it: the same calls in another order. Beside
//!   the time: `inside_ratio`, the most that was queued (`backlog`), and how often this library was over its
//!   budget, reported something, or had a worker pass
//! * `empty 1t`, `empty 2t`: the process of `all-in` with no object: what its memory is compared with
//! * `at rest`: everything is reclaimed, nothing is retired: wake-ups of the library's threads, timers
//!
//! Each measurement has a process of its own ([`crate::measure::once`]); in a round, every subject and case
//! is measured once, in an order that rotates. Rows are over the rounds. Processes at rest are watched once,
//! all at the same time. Instruction counts of `push` are made by [`crate::instructions`].
//!
//! The subject `malloc-free` is the same loops with malloc and free alone. `above_malloc_free_ns` is what a
//! case costs more than that, and `above_empty_bytes` its peak memory above that of `empty`, both in the same
//! round; a difference below zero counts as zero.
//!
//! arc-swap and hazarc retire nothing, and papaya's collector is seize's: they are measured in `all-in`,
//! `drop` and cells.

pub mod child;
mod round;

use super::plan::{Bench, Body, Cell, Given};
use super::setting;
use crate::deferral::swap::{BARE, Content, Place};
use crate::deferral::{self, Deferring};

/// The measurement.
pub static RETIRE: Bench = Bench {
    name: "retire",
    settings: &[
        setting::compare(),
        setting::rounds("5"),
        setting::objects("4000000"),
        setting::milliseconds("rest_ms", "rest-ms", "3000"),
    ],
    body: Body::Asked(cells, child::patience, child::measure),
    derived: round::derived,
    ratios: true,
    ..Bench::USUAL
};

/// Who is not measured in the cases of the call alone, and at rest.
const PARTLY: [&str; 6] = [
    BARE,
    "arc-swap",
    "arc-swap-cache",
    "hazarc",
    "hazarc-cache",
    "papaya-seize",
];

/// What is measured, by a process each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetireCase {
    /// CPU time of calls.
    Push,
    /// Latency of single calls; its figures belong to the case `push`.
    Latency,
    /// The call alone, by so many producers.
    Enqueue(u64),
    /// Everything, by so many producers.
    AllIn(u64),
    /// Nothing, by so many producers.
    Empty(u64),
    /// Everything, for objects with `Drop`.
    Drop,
    /// Everything, for callbacks.
    Call,
    /// Everything, for values of a cell.
    Swap(Content),
    /// The same beside a section of the same thread, by so many producers.
    Section(Place, Content, u64),
    /// Nothing, after everything.
    AtRest,
}

impl RetireCase {
    /// All of them, in order.
    pub const ALL: [RetireCase; 22] = [
        RetireCase::Push,
        RetireCase::Latency,
        RetireCase::Enqueue(1),
        RetireCase::Enqueue(2),
        RetireCase::AllIn(1),
        RetireCase::AllIn(2),
        RetireCase::Empty(1),
        RetireCase::Empty(2),
        RetireCase::Drop,
        RetireCase::Call,
        RetireCase::Swap(Content::Short),
        RetireCase::Swap(Content::Long),
        RetireCase::Swap(Content::Config),
        RetireCase::Section(Place::Outside, Content::Block, 1),
        RetireCase::Section(Place::Inside, Content::Block, 1),
        RetireCase::Section(Place::Outside, Content::Dropped, 1),
        RetireCase::Section(Place::Inside, Content::Dropped, 1),
        RetireCase::Section(Place::Outside, Content::Dropped, 2),
        RetireCase::Section(Place::Inside, Content::Dropped, 2),
        RetireCase::Section(Place::Outside, Content::Short, 1),
        RetireCase::Section(Place::Inside, Content::Short, 1),
        RetireCase::AtRest,
    ];

    /// The name in reports.
    pub fn name(self) -> String {
        match self {
            RetireCase::Push | RetireCase::Latency => "push".into(),
            RetireCase::Enqueue(producers) => format!("enqueue {producers}t"),
            RetireCase::AllIn(producers) => format!("all-in {producers}t"),
            RetireCase::Empty(producers) => format!("empty {producers}t"),
            RetireCase::Drop => "drop 1t".into(),
            RetireCase::Call => "defer 1t".into(),
            RetireCase::Swap(content) => format!("{} 1t", content.name()),
            RetireCase::Section(place, content, producers) => {
                format!("{} {} {producers}t", place.name(), content.name())
            }
            RetireCase::AtRest => "at rest".into(),
        }
    }

    /// The name in a question: the two whose figures belong to one case are two.
    pub fn key(self) -> String {
        match self {
            RetireCase::Latency => "latency".into(),
            other => other.name(),
        }
    }

    /// Whether this subject is measured in this case.
    pub fn is_for(self, subject: &Deferring) -> bool {
        match self {
            RetireCase::AllIn(_) => true,
            RetireCase::Drop => subject.owning.is_some(),
            RetireCase::Call => subject.call.is_some(),
            RetireCase::Swap(content) => subject.beside(content).is_some(),
            RetireCase::Section(_, content, _) => subject
                .beside(content)
                .is_some_and(|it| it.retire.is_some()),
            RetireCase::Empty(_) => subject.name != BARE,
            RetireCase::Push
            | RetireCase::Latency
            | RetireCase::Enqueue(_)
            | RetireCase::AtRest => !PARTLY.contains(&subject.name),
        }
    }

    /// How many objects are made where `objects` blocks of 64 bytes would be: fewer of what takes longer to
    /// make.
    pub fn objects(self, objects: u64) -> u64 {
        let share = match self {
            RetireCase::Empty(_) => return 0,
            RetireCase::Swap(Content::Short) | RetireCase::Section(..) => 2,
            RetireCase::Swap(Content::Long) => 80,
            RetireCase::Swap(Content::Config) => 8_000,
            _ => 1,
        };
        (objects / share).max(1)
    }

    /// The name of this case when it is run for its memory: `all-in 1t of 20M`.
    pub fn peak_name(self) -> String {
        let objects = self.objects(PEAK_OBJECTS);
        let thousands = objects / 1_000;
        match (objects, thousands % 1_000) {
            (0, _) => self.name(),
            (_, 0) => format!("{} of {}M", self.name(), thousands / 1_000),
            _ => format!("{} of {thousands}k", self.name()),
        }
    }
}

/// Enough objects that a library that holds them cannot hide it.
pub const PEAK_OBJECTS: u64 = 20_000_000;

fn cells(given: &Given) -> Vec<Cell> {
    let mut subjects = deferral::selected(given.is("compare"));
    // Their readers are what differs, and nothing reads here.
    subjects.retain(|subject| !subject.name.ends_with("-cache"));
    subjects.push(deferral::malloc_free());
    let cell = |subject: &Deferring, case: RetireCase| {
        // Those at rest do not disturb each other.
        let once = case == RetireCase::AtRest;
        let cell = Cell::of(given, subject.name, case.key()).of_load(u64::from(!once));
        let objects = case.objects(given.of("objects"));
        Cell {
            once,
            ..cell.with("objects", objects)
        }
    };
    let mut cells = Vec::new();
    for case in RetireCase::ALL {
        let wanted = given.cases.is_empty() || given.cases.contains(&case.name());
        let measured = subjects
            .iter()
            .filter(|subject| wanted && case.is_for(subject));
        cells.extend(measured.map(|subject| cell(subject, case)));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::rows::MEBIBYTE;

    #[test]
    fn names_say_how_many_were_made_for_their_memory() {
        let name = |case: RetireCase| case.peak_name();
        assert_eq!(name(RetireCase::AllIn(2)), "all-in 2t of 20M");
        assert_eq!(name(RetireCase::Empty(2)), "empty 2t");
        let long = name(RetireCase::Swap(Content::Long));
        assert_eq!(long, "string 64 kib 1t of 250k");
    }

    #[test]
    fn a_table_a_question_and_none_that_is_empty() {
        let report = crate::cases::fixture::report(&[
            ("quiescent", "push", "cpu_ns", 14.0),
            ("quiescent", "load", "cpu_ns", 99.0),
            ("quiescent", "push", "latency_ns_max", 5_000.0),
            ("quiescent", "all-in 2t", "peak_rss_bytes", 3.0 * MEBIBYTE),
        ]);
        let text = RETIRE.figures(&report);
        for words in [
            "push\n---------  ----\nquiescent  14.0",
            "quiescent       -      -     5000",
            "all-in 2t\n---------  ---------\nquiescent       3.00",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        assert!(
            !text.contains("99.0"),
            "the read side has tables of its own"
        );
        assert!(!text.contains("At rest"), "{text}");
    }
}
