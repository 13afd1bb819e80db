//! Instruction counts: the read-side loops of `bench read`, and `push` of `bench retire`, under
//! `valgrind --tool=callgrind`.
//!
//! Counts do not depend on what else the machine does, so they are the soundest figures here. A loop is run
//! in a process of its own with two numbers of turns; the difference, over the difference in turns, cancels
//! start-up, registration and the first turn. The bare loop, counted the same way, is subtracted. `repin` is
//! per read.
//!
//! `push` counts the loop that retires, in the thread that runs it, and nothing else: blocks are made outside
//! it. What the loop spends *inside the allocator* (frees of earlier blocks, blocks for queues) is left out
//! by callgrind's own call records, not by an estimate: what a free costs depends on what was freed before.
//! What the library does now and then inside the call (a new queue block, a grace period) is in it, spread
//! over the calls. Handing earlier blocks to the allocator is in it too; `push, none freed`, of our own, is
//! the same without that. `push, by a function` is `retire(address, function)`: it marks that the thread runs
//! code of the program, calls the function, and hands its panics over.
//!
//! `synchronize, sole` is a call of `synchronize` in a process with one thread; `synchronize, beside one` is
//! the same with another registered thread that sleeps outside of sections. All threads are counted.
//!
//! [`disassembly`] shows the same pairs of ours as machine code, from `crate::instructions::probes`.

mod callgrind;
mod probes;

use crate::deferral::{self, Blocks, Deferring};
use crate::measure::threads::{Helper, Steps};
use crate::peers;
use crate::subjects::{self, Language, Loops, ReadCase};
use callgrind::tool;
use quiescent_report::OURS;
use quiescent_report::text::cases;
use quiescent_report::{Control, Error, Report, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The metric of the rows.
pub const METRIC: &str = "instructions";
/// Their unit (`repin`: of one read).
pub const UNIT: &str = "instructions/pair";
/// The two numbers of turns; whole sections in each of the four copies of a loop.
const TURNS: [u64; 2] = [6_400, 70_400];
/// The same for `push`: whole batches, and more of them, since some calls do much more than others.
const PUSHES: [u64; 2] = [64 * 400, 64 * 4_400];
/// Blocks made ahead of one batch of pushes.
const BATCH: u64 = 64;

/// What to count.
#[derive(Debug, Clone)]
pub struct InstructionOptions {
    /// Printed with the results; counts do not depend on it.
    pub seed: u64,
    /// The program whose `internal loop` command is [`run_loop`]: this program itself.
    pub program: PathBuf,
    /// Only these subjects, when not empty.
    pub only: Vec<String>,
}

/// What can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopCase {
    /// A loop of the read side.
    Read(ReadCase),
    /// Retiring a block.
    Push,
    /// The same inside a section of the same thread, so that nothing is freed meanwhile: only ours.
    PushOnly,
    /// Retiring a block with the function that frees it: only ours.
    PushFunction,
    /// `synchronize` by the only registered thread: only ours.
    Sync,
    /// `synchronize` beside a registered thread that sleeps outside of sections: only ours.
    SyncBeside,
}

impl LoopCase {
    /// All of them, in order.
    pub fn all() -> Vec<LoopCase> {
        let read = ReadCase::ALL
            .into_iter()
            .filter(|case| *case != ReadCase::Awaited);
        let read = read.map(LoopCase::Read);
        let retires = [LoopCase::Push, LoopCase::PushOnly, LoopCase::PushFunction];
        let waits = [LoopCase::Sync, LoopCase::SyncBeside];
        read.chain(retires).chain(waits).collect()
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            LoopCase::Read(case) => case.name(),
            LoopCase::Push => "push",
            LoopCase::PushOnly => "push, none freed",
            LoopCase::PushFunction => "push, by a function",
            LoopCase::Sync => "synchronize, sole",
            LoopCase::SyncBeside => "synchronize, beside one",
        }
    }

    /// The case of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|case| case.name() == name)
    }

    /// The bare loop that is subtracted.
    fn bare(self) -> Self {
        match self {
            LoopCase::Read(ReadCase::Repin) => self,
            _ if self.retires() => LoopCase::Push,
            _ => LoopCase::Read(ReadCase::Empty),
        }
    }

    fn retires(self) -> bool {
        (LoopCase::Push..=LoopCase::PushFunction).contains(&self)
    }

    fn unit(self) -> &'static str {
        match self {
            LoopCase::Read(_) => UNIT,
            _ => "instructions/call",
        }
    }

    fn turns(self) -> [u64; 2] {
        if self.retires() { PUSHES } else { TURNS }
    }

    /// The language of a subject in this case; `None` when it is not measured in it.
    fn language(self, name: &str) -> Option<Language> {
        match self {
            LoopCase::Read(case) => {
                let subject = subjects::named(name).filter(|it| it.loops.of(case).is_some());
                subject.map(|subject| subject.language)
            }
            LoopCase::Push => deferral::named(name).map(|subject| subject.language),
            _ => (name == OURS).then_some(Language::Rust),
        }
    }
}

/// A loop to be counted: the name that `internal loop --subject` knows, and a case.
type Counted = (&'static str, LoopCase);

fn bare_name(language: Language) -> &'static str {
    match language {
        Language::Rust => "bare-rust",
        Language::C => "bare-c",
    }
}

fn language_of_bare(name: &str) -> Option<Language> {
    let mut languages = [Language::Rust, Language::C].into_iter();
    languages.find(|language| bare_name(*language) == name)
}

/// The read loops of a name that `internal loop --subject` knows, after attaching this thread.
fn loops_named(name: &str) -> Option<Loops> {
    if let Some(language) = language_of_bare(name) {
        return subjects::bare(language);
    }
    let subject = subjects::named(name)?;
    (subject.attach)();
    Some(subject.loops)
}

/// The same for `push`.
fn deferring_named(name: &str) -> Option<Deferring> {
    if let Some(language) = language_of_bare(name) {
        return deferral::bare(language);
    }
    let subject = deferral::named(name)?;
    (subject.attach)();
    Some(subject)
}

/// Every name that has a loop of some case, ours first.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = subjects::all().iter().map(|subject| subject.name).collect();
    let more = deferral::all().into_iter().map(|subject| subject.name);
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Runs a loop and nothing else: what callgrind counts.
///
/// # Errors
/// [`Error::Usage`] when there is no such subject in this case.
pub fn run_loop(name: &str, case: LoopCase, turns: u64) -> Result<(), Error> {
    let unknown = || {
        let case = case.name();
        Error::Usage(format!("`{name}` is no subject of this build for {case}"))
    };
    match case {
        LoopCase::Read(case) => {
            let run = loops_named(name).and_then(|loops| loops.of(case));
            run.ok_or_else(unknown)?(turns);
        }
        LoopCase::Sync | LoopCase::SyncBeside => {
            loops_named(name).ok_or_else(unknown)?;
            synchronize(turns, case == LoopCase::SyncBeside).map_err(Error::Failed)?;
        }
        LoopCase::Push | LoopCase::PushOnly | LoopCase::PushFunction => {
            let mut subject = deferring_named(name).ok_or_else(unknown)?;
            if case == LoopCase::PushFunction && name == OURS {
                subject = peers::by_function();
            }
            let section = (case == LoopCase::PushOnly).then(quiescent::read_lock);
            let mut blocks = Blocks::room(subject, BATCH as usize);
            for _ in 0..turns / BATCH {
                blocks.make();
                blocks.retire_counted();
            }
            drop(section);
            // Some libraries insist at the end of a process.
            (subject.detach)();
        }
    }
    Ok(())
}

/// Waits for grace periods, alone or beside a thread that sleeps.
fn synchronize(turns: u64, beside: bool) -> Result<(), String> {
    let register = || drop(quiescent::read_lock());
    register();
    let sleeps = move |steps: &Steps| {
        register();
        steps.next(());
    };
    let other = beside
        .then(|| Helper::start("beside", sleeps))
        .transpose()?;
    (0..turns).for_each(|_| quiescent::synchronize());
    other.map_or(Ok(()), |(other, ())| other.end())
}

/// Whether valgrind can be run here.
///
/// # Errors
/// [`Error::Failed`] with the command that installs it.
pub fn check_valgrind() -> Result<(), Error> {
    tool("valgrind", &["--version"], "apt-get install valgrind").map(|_| ())
}

/// Counts and reports. When stopped, the report has what was counted until then.
///
/// # Errors
/// [`Error::Failed`] when valgrind is missing or fails.
pub fn run(options: &InstructionOptions, control: Control<'_>) -> Result<Report, Error> {
    let mut names = names();
    let only = |name: &str| options.only.iter().any(|wanted| wanted == name);
    names.retain(|name| options.only.is_empty() || only(name));
    let rows = rows(&options.program, &names, &LoopCase::all(), control)?;
    let mut report = Report::new("instructions", options.seed);
    report.option("turns", TURNS.to_vec());
    report.option("pushes", PUSHES.to_vec());
    report.option(
        "method",
        "callgrind: instructions of the whole process at two numbers of turns, difference a turn; bare loop \
         counted the same way and subtracted; repin is per read, less the same unprotected reads; push: \
         instructions of the retiring loop in its own thread, those inside the allocator (malloc, free and \
         the like) left out",
    );
    subjects::note(&mut report, true);
    report.rows = rows;
    Ok(report)
}

/// Counts these subjects in these cases, where there is such a loop.
///
/// # Errors
/// As [`run`].
pub(crate) fn rows(
    program: &Path,
    names: &[&'static str],
    cases: &[LoopCase],
    control: Control<'_>,
) -> Result<Vec<Row>, Error> {
    check_valgrind()?;
    let each = |case: &LoopCase| {
        let case = *case;
        let of = move |name: &&'static str| {
            let bare = bare_name(case.language(name)?);
            Some([(*name, case), (bare, case.bare())])
        };
        names.iter().filter_map(of).collect::<Vec<_>>()
    };
    let wanted: Vec<[Counted; 2]> = cases.iter().flat_map(each).collect();
    let mut todo = wanted.concat();
    todo.sort_unstable();
    todo.dedup();
    let counts = count_all(program, &todo, control)?;
    let row = |[own, bare]: [Counted; 2]| {
        let cost = thousandths(counts.get(&own)? - counts.get(&bare)?);
        Row::single(own.0, own.1.name(), METRIC, own.1.unit(), cost)
    };
    Ok(wanted.into_iter().filter_map(row).collect())
}

/// Rounded to thousandths: what a first turn did differently, spread over the others, is below that.
fn thousandths(value: f64) -> f64 {
    // Adding 0 turns -0 into 0.
    (value * 1_000.0).round() / 1_000.0 + 0.0
}

/// Instructions a turn of each loop, as many processes at once as there are CPUs.
fn count_all(
    program: &Path,
    todo: &[Counted],
    control: Control<'_>,
) -> Result<BTreeMap<Counted, f64>, Error> {
    let next = AtomicUsize::new(0);
    let (say, said) = channel();
    let work = |say: Sender<(Counted, Result<f64, Error>)>| {
        while let Some(&counted) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
            if say.send((counted, count_a_turn(program, counted))).is_err() {
                break; // stopped, or another failed
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    control.progress.begin("instructions", todo.len() as u64);
    let counts = std::thread::scope(|scope| {
        for _ in 0..workers {
            let (work, say) = (&work, say.clone());
            scope.spawn(move || work(say));
        }
        drop(say);
        let mut counts = BTreeMap::new();
        while !control.stopped() {
            match said.recv_timeout(Duration::from_millis(20)) {
                Ok((counted, count)) => _ = counts.insert(counted, count?),
                Err(RecvTimeoutError::Timeout) => {
                    control.progress.advance(0);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            control.progress.advance(1);
        }
        drop(said);
        Ok(counts)
    });
    control.progress.end();
    counts
}

fn count_a_turn(program: &Path, counted: Counted) -> Result<f64, Error> {
    let (name, case) = counted;
    let [few, many] = case.turns();
    let inside = case.retires().then_some(deferral::COUNTED);
    let count = |turns| callgrind::count(program, name, case.name(), turns, inside);
    let (first, second) = (count(few)?, count(many)?);
    Ok((second as f64 - first as f64) / (many - few) as f64)
}

/// The machine code of our own pairs, by `objdump`.
///
/// # Errors
/// [`Error::Failed`] when objdump is missing or fails, or a probe is not in `program`.
pub fn disassembly(program: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for (probe, _) in std::hint::black_box(probes::all()) {
        let symbol = format!("--disassemble={probe}");
        let program = program.display().to_string();
        let arguments = ["-d", "--no-show-raw-insn", &symbol, &program];
        let said = tool("objdump", &arguments, "apt-get install binutils")?.0;
        let body = function(&said, probe).ok_or_else(|| {
            let why = "no such function in the program";
            Error::failed(
                probe,
                why,
                "is this program stripped? build it with cargo build --release",
            )
        })?;
        text += &body;
        text.push('\n');
    }
    Ok(text)
}

/// The lines of one function in objdump's words, from `address <name>:` to the next empty line.
fn function(said: &str, name: &str) -> Option<String> {
    let head = format!("<{name}>:");
    let lines = said.lines().skip_while(|line| !line.ends_with(&head));
    let body: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    (body.len() > 1).then(|| body.join("\n") + "\n")
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = String::from(
        "Instructions a pair, loop subtracted; repin per read; push: a call, without the allocator's own\n\n",
    );
    text += &cases::by_case(report, METRIC).fitted();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_out_of_objdumps_words() {
        let said = "\nx:     file format elf64\n\n0000000000001000 <other>:\n 1000: ret\n\n\
                    0000000000001010 <probe>:\n 1010: inc\n 1011: ret\n\n";
        let body = function(said, "probe").unwrap();
        assert_eq!(body.lines().count(), 3);
        assert!(body.ends_with("1011: ret\n"));
        assert_eq!(function(said, "missing"), None);
    }

    #[test]
    fn loops_by_name() {
        for case in LoopCase::all() {
            run_loop("bare-rust", case, 256).unwrap();
            assert!(matches!(
                run_loop("no library", case, 1),
                Err(Error::Usage(_))
            ));
            assert_eq!(LoopCase::named(case.name()), Some(case));
            assert_eq!(case.language(OURS), Some(Language::Rust));
        }
        assert!(
            TURNS
                .iter()
                .all(|turns| turns % (4 * subjects::READS_PER_REPIN) == 0)
        );
        assert!(PUSHES.iter().all(|pushes| pushes % BATCH == 0));
        assert_eq!(names().first(), Some(&OURS));
    }
}
