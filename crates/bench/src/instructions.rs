//! Instruction counts: the read-side loops of `bench read` under `valgrind --tool=callgrind`.
//!
//! Counts do not depend on what else the machine does, so they are the soundest figures here. A loop is run in a
//! process of its own with two numbers of turns; the difference, over the difference in turns, cancels start-up,
//! registration and the first turn. The bare loop, counted the same way, is subtracted. `repin` is per read.
//!
//! [`disassembly`] shows the same pairs of ours as machine code, from `crate::probes`.

use crate::subjects::{self, Language, Loops, ReadCase};
use crate::{Control, Error, Report, Row, table};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The metric of the rows.
pub const METRIC: &str = "instructions";
/// Their unit (`repin`: of one read).
pub const UNIT: &str = "instructions/pair";
/// The two numbers of turns; whole sections in each of the four copies of a loop.
const TURNS: [u64; 2] = [6_400, 70_400];

/// What to count.
#[derive(Debug, Clone)]
pub struct InstructionOptions {
    /// Printed with the results; counts do not depend on it.
    pub seed: u64,
    /// The program whose `internal loop` command is [`run_loop`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only ours.
    pub compare: bool,
    /// Only these subjects, when not empty.
    pub only: Vec<String>,
}

/// A loop to be counted: the name that `internal loop --subject` knows, and a case.
type Counted = (&'static str, ReadCase);

fn bare_name(language: Language) -> &'static str {
    match language {
        Language::Rust => "bare-rust",
        Language::C => "bare-c",
    }
}

/// The loops of a name that `internal loop --subject` knows, after attaching this thread.
fn loops_named(name: &str) -> Option<Loops> {
    for language in [Language::Rust, Language::C] {
        if name == bare_name(language) {
            return subjects::bare(language);
        }
    }
    let subject = subjects::named(name)?;
    (subject.attach)();
    Some(subject.loops)
}

/// Runs a loop and nothing else: what callgrind counts.
///
/// # Errors
/// [`Error::Usage`] when there is no such subject.
pub fn run_loop(name: &str, case: ReadCase, turns: u64) -> Result<(), Error> {
    let loops = loops_named(name)
        .ok_or_else(|| Error::Usage(format!("`{name}` is no subject of this build")))?;
    loops.of(case)(turns);
    Ok(())
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
    check_valgrind()?;
    let mut subjects = subjects::selected(options.compare);
    if !options.only.is_empty() {
        subjects.retain(|subject| options.only.iter().any(|name| name == subject.name));
    }
    let mut todo: Vec<Counted> = Vec::new();
    for language in [Language::Rust, Language::C] {
        if subjects.iter().any(|subject| subject.language == language) {
            todo.extend([ReadCase::Empty, ReadCase::Repin].map(|case| (bare_name(language), case)));
        }
    }
    for subject in &subjects {
        todo.extend(ReadCase::ALL.map(|case| (subject.name, case)));
    }
    let counts = count_all(&options.program, &todo, control)?;
    let mut report = Report::new("instructions", options.seed);
    report.option("compare", options.compare);
    report.option("turns", TURNS.to_vec());
    report.option(
        "method",
        "callgrind: instructions of the whole process at two numbers of turns, difference a turn; bare loop counted \
         the same way and subtracted; repin is per read, less the same unprotected reads",
    );
    subjects::note(&mut report, options.compare);
    for case in ReadCase::ALL {
        for subject in &subjects {
            let bare_case = match case {
                ReadCase::Repin => ReadCase::Repin,
                _ => ReadCase::Empty,
            };
            let bare = counts.get(&(bare_name(subject.language), bare_case));
            let own = counts.get(&(subject.name, case));
            let cost = own.zip(bare).map(|(own, bare)| thousandths(own - bare));
            report.rows.extend(
                cost.and_then(|cost| Row::single(subject.name, case.name(), METRIC, UNIT, cost)),
            );
        }
    }
    Ok(report)
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
    let counts = Mutex::new(BTreeMap::new());
    let failure = Mutex::new(None);
    let done = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(&counted), false) = (todo.get(index), unlocked(&failure).is_some()) else {
                break;
            };
            match count_a_turn(program, counted) {
                Ok(count) => {
                    unlocked(&counts).insert(counted, count);
                }
                Err(error) => *unlocked(&failure) = Some(error),
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    control.progress.begin("instructions", todo.len() as u64);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.min(todo.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut shown = 0;
        while threads.iter().any(|thread| !thread.is_finished()) {
            if control.stopped() {
                next.store(todo.len(), Ordering::Relaxed);
            }
            let now = done.load(Ordering::Relaxed);
            control.progress.advance((now - shown) as u64);
            shown = now;
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    control.progress.end();
    if let Some(error) = unlocked(&failure).take()
        && !control.stopped()
    {
        return Err(error);
    }
    let counts = std::mem::take(&mut *unlocked(&counts));
    Ok(counts)
}

fn unlocked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn count_a_turn(program: &Path, counted: Counted) -> Result<f64, Error> {
    let [few, many] = TURNS;
    let (first, second) = (
        callgrind(program, counted, few)?,
        callgrind(program, counted, many)?,
    );
    Ok((second as f64 - first as f64) / (many - few) as f64)
}

fn callgrind(program: &Path, (name, case): Counted, turns: u64) -> Result<u64, Error> {
    let program = program.display().to_string();
    let turns = turns.to_string();
    let arguments = [
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        &program,
        "internal",
        "loop",
        "--subject",
        name,
        "--case",
        case.name(),
        "--turns",
        &turns,
    ];
    let said = tool("valgrind", &arguments, "apt-get install valgrind")?.1;
    collected(&said).ok_or_else(|| {
        Error::failed(
            format!("valgrind over {name}, {}", case.name()),
            format!("no line `Collected :` in `{}`", said.trim()),
            "is this callgrind newer than 3.19?",
        )
    })
}

/// The total in callgrind's closing words: `==1234== Collected : 567`.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':')
        .next()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Runs a tool to its end; what it wrote to standard output and standard error.
fn tool(name: &str, arguments: &[&str], remedy: &str) -> Result<(String, String), Error> {
    let output = Command::new(name).args(arguments).output().map_err(|why| {
        let why = match why.kind() {
            ErrorKind::NotFound => "not installed".to_string(),
            _ => why.to_string(),
        };
        Error::failed(name, why, remedy)
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        let why = format!("{} ({})", output.status, err.trim());
        let what = format!("{name} {}", arguments.join(" "));
        return Err(Error::failed(what, why, "run it by hand to see more"));
    }
    Ok((out, err))
}

/// The machine code of our own pairs, by `objdump`.
///
/// # Errors
/// [`Error::Failed`] when objdump is missing or fails, or a probe is not in `program`.
pub fn disassembly(program: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for (probe, _address) in std::hint::black_box(crate::probes::all()) {
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
    let mut text =
        String::from("Read side: instructions a pair, loop subtracted; repin per read\n\n");
    text += &table::by_case(report, METRIC).render();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrinds_closing_words() {
        let said = "==7== Callgrind\n==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(collected(said), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn a_function_out_of_objdumps_words() {
        let said = "\nx:     file format elf64\n\n0000000000001000 <other>:\n 1000: ret\n\n0000000000001010 <probe>:\n 1010: inc\n 1011: ret\n\n";
        let body = function(said, "probe").unwrap();
        assert_eq!(body.lines().count(), 3);
        assert!(body.ends_with("1011: ret\n"));
        assert_eq!(function(said, "missing"), None);
    }

    #[test]
    fn a_missing_tool_comes_with_its_remedy() {
        let error = tool("no-such-tool-here", &[], "apt-get install it")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("not installed") && error.contains("apt-get install it"),
            "{error}"
        );
        let error = tool("false", &[], "").unwrap_err().to_string();
        assert!(error.contains("exit status: 1"), "{error}");
    }

    #[test]
    fn loops_by_name() {
        run_loop("bare-rust", ReadCase::Repin, 128).unwrap();
        assert!(matches!(
            run_loop("nobody", ReadCase::Empty, 1),
            Err(Error::Usage(_))
        ));
        assert!(
            TURNS
                .iter()
                .all(|turns| turns % (4 * subjects::READS_PER_REPIN) == 0)
        );
    }
}
