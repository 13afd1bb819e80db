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
//!   `String`, a map of 1000 settings; fewer of the larger ones ([`RetireCase::objects`])
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
//! arc-swap retires nothing, and papaya's collector is seize's: they are measured in `all-in`, `drop` and
//! cells.

pub mod child;
mod round;
mod text;

pub use text::text;

use crate::deferral::swap::{BARE, Content, Place};
use crate::deferral::{self, Deferring};
use crate::measure::once::{self, Ask};
use crate::measure::waves::{self, Cell};
use child::RetireAsk;
use quiescent_report::rows::Samples;
use quiescent_report::{Control, Error, Report};
use round::Round;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Who is not measured in the cases of the call alone, and at rest.
const PARTLY: [&str; 4] = [BARE, "arc-swap", "arc-swap-cache", "papaya-seize"];

/// What is measured, by a process each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
            RetireCase::Call => "call 1t".into(),
            RetireCase::Swap(content) => format!("{} 1t", content.name()),
            RetireCase::Section(place, content, producers) => {
                format!("{} {} {producers}t", place.name(), content.name())
            }
            RetireCase::AtRest => "at rest".into(),
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

    /// Whether objects are made, retired and freed in it.
    fn is_whole(self) -> bool {
        use RetireCase::{AllIn, Call, Drop, Section, Swap};
        matches!(self, AllIn(_) | Drop | Call | Swap(_) | Section(..))
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

/// Whether a case of `bench retire` was run for its memory.
pub fn is_peak_case(case: &str) -> bool {
    case.contains("t of ")
}

/// Whether it is of objects of 64 bytes, from the first malloc to the last free.
pub fn is_of_objects(case: &str) -> bool {
    let names = ["all-in ", "drop ", "call "];
    names.iter().any(|name| case.starts_with(name)) && !is_peak_case(case)
}

/// Whether it is of values of a cell.
pub fn is_of_values(case: &str) -> bool {
    let names = ["string ", "config "];
    names.iter().any(|name| case.starts_with(name)) && !is_peak_case(case)
}

/// Whether it is of values of a cell that were read in a section.
pub fn is_of_sections(case: &str) -> bool {
    let mut names = [Place::Outside, Place::Inside].map(Place::name).into_iter();
    names.any(|name| case.starts_with(name))
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct RetireOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Only these subjects, when not empty.
    pub only: Vec<String>,
    /// The cases.
    pub cases: Vec<RetireCase>,
    /// Rounds.
    pub rounds: u64,
    /// Objects a process, of all producers together.
    pub objects: u64,
    /// How long processes at rest are watched, in ms.
    pub rest_ms: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl RetireOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        RetireOptions {
            program,
            compare: false,
            only: Vec::new(),
            cases: RetireCase::ALL.to_vec(),
            rounds: 5,
            objects: 4_000_000,
            rest_ms: 3_000,
            seed: 1,
        }
    }

    fn ask(&self, subject: &Deferring, case: RetireCase) -> Ask {
        Ask::of(&RetireAsk {
            subject: subject.name.into(),
            case,
            objects: case.objects(self.objects),
            rest_ms: self.rest_ms,
        })
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0, [`Error::Failed`] when a measuring process cannot be started, dies or
/// hangs.
pub fn run(options: &RetireOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.rounds == 0 || options.objects == 0 {
        let text =
            "0 rounds or 0 objects measure nothing: give 3 rounds or more, 100000 objects or more";
        return Err(Error::Usage(text.into()));
    }
    let mut subjects = deferral::selected(options.compare);
    // Its reader is what differs, and nothing reads here.
    subjects.retain(|subject| subject.name != "arc-swap-cache");
    subjects.push(deferral::malloc_free());
    if !options.only.is_empty() {
        subjects.retain(|subject| {
            options
                .only
                .iter()
                .any(|name| name == subject.name || subject.name == BARE)
        });
    }
    let mut samples = Samples::default();
    rounds(options, &subjects, &mut samples, control)?;
    let resting = match options.cases.contains(&RetireCase::AtRest) && !control.stopped() {
        true => rest(options, &subjects, control)?,
        false => Samples::default(),
    };
    let mut report = Report::new("bench retire", options.seed);
    describe(&mut report, options);
    let subjects: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
    let mut cases: Vec<String> = options.cases.iter().map(|case| case.name()).collect();
    cases.dedup();
    report.rows = samples.rows(&subjects, &cases);
    report.rows.extend(resting.rows(&subjects, &cases));
    Ok(report)
}

fn rounds(
    options: &RetireOptions,
    subjects: &[Deferring],
    samples: &mut Samples,
    control: Control<'_>,
) -> Result<(), Error> {
    let mut todo = Vec::new();
    for case in &options.cases {
        let measured = subjects.iter().filter(|subject| case.is_for(subject));
        todo.extend(measured.map(|subject| (*subject, *case)));
    }
    todo.retain(|(_, case)| *case != RetireCase::AtRest);
    let asks: Vec<Ask> = todo
        .iter()
        .map(|(subject, case)| options.ask(subject, *case))
        .collect();
    let mut round = Round::new(todo.len());
    once::in_turn(
        &options.program,
        "bench retire",
        &asks,
        (options.rounds, options.seed),
        control,
        |place, figures| {
            let (subject, case) = todo[place];
            round.add((subject.name, case, figures), samples);
        },
    )?;
    round.settle(samples);
    Ok(())
}

/// Watches all of them at once: they are asleep, so they do not disturb each other.
fn rest(
    options: &RetireOptions,
    subjects: &[Deferring],
    control: Control<'_>,
) -> Result<Samples, Error> {
    let cell = |subject: &Deferring| Cell {
        subject: subject.name,
        ask: options.ask(subject, RetireCase::AtRest),
        load: 0,
    };
    let resting = subjects.iter().filter(|it| RetireCase::AtRest.is_for(it));
    let wave = resting.map(cell).collect();
    waves::run(&options.program, "at rest", vec![wave], control)
}

fn describe(report: &mut Report, options: &RetireOptions) {
    report.option("compare", options.compare);
    report.option("rounds", options.rounds);
    report.option("objects", options.objects);
    report.option("rest_ms", options.rest_ms);
    report.option(
        "method",
        "a fresh process a subject, case and round, in turn, order rotated; 64-byte blocks; push: thread CPU \
         of the call, 4096 blocks made ahead at a time, process_cpu_ns is all threads' to the end less the \
         making, latencies contain the clock; enqueue: thread CPU of the call, all blocks made ahead (4 \
         million at most); all-in, drop, call, string, config: process CPU an object from the first malloc \
         to the end of the final barrier, half as many short strings, 1/80 long ones, 1/8000 configs; \
         inside, outside: the same, half as many, each after a read in a section of the same thread that \
         ends after the retiring or before it, backlog the most at a look every 4093 objects, inside_ratio \
         within a round; \
         peak_rss_bytes is VmHWM, start_rss_bytes the same before the first object; above_malloc_free_ns, \
         above_empty_bytes: less malloc-free's, less empty's of the same round; at rest: voluntary context \
         switches of all threads but the caller",
    );
    deferral::note(report, options.compare);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::nonsense;

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        let usual = RetireOptions::new("true".into());
        for options in [
            RetireOptions {
                rounds: 0,
                ..usual.clone()
            },
            RetireOptions {
                objects: 0,
                ..usual
            },
        ] {
            nonsense(|control| run(&options, control));
        }
    }

    #[test]
    fn names_say_how_many_were_made_for_their_memory() {
        let name = |case: RetireCase| case.peak_name();
        assert_eq!(name(RetireCase::AllIn(2)), "all-in 2t of 20M");
        assert_eq!(name(RetireCase::Empty(2)), "empty 2t");
        let long = name(RetireCase::Swap(Content::Long));
        assert_eq!(long, "string 64 kib 1t of 250k");
        assert!(is_peak_case(&long) && !is_peak_case("string 64 kib 1t"));
    }

    #[test]
    fn a_process_that_says_nothing_is_an_error() {
        let options = RetireOptions::new("true".into());
        let error = run(&options, Control::none()).unwrap_err().to_string();
        assert!(error.contains("quiescent, push"), "{error}");
    }

    #[test]
    fn a_stopped_run_starts_little_and_reports_nothing() {
        let options = RetireOptions::new("true".into());
        let report = run(&options, Control::cancelled()).unwrap();
        report.check().unwrap();
        assert!(report.rows.is_empty());
    }
}
