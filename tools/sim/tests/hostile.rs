//! Damaged files through every reader: each is read or refused, without a panic, and within [`LEAST_ENOUGH`]
//! bytes of memory.
//!
//! The files are the small traces of `check/fuzz/seeds` and `data/traces`, the workloads, and the cases of
//! `torture --sim`. They are cut short, and changed at places that follow from a seed, so a run can be
//! repeated. `cargo test` takes a sample; the ignored tests (`ci/nightly hostile`) take every prefix and
//! thousands of changes. An input that ends the process, or never ends, is left in the file that the test
//! prints.

mod counting;

use std::cell::Cell;
use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use counting::{Counting, LIVE, MOST};
use quiescent_report::{Control, Progress};
use quiescent_sim::chance::Chance;
use quiescent_sim::torture::Case;
use quiescent_sim::whatif::{Reading, Request, ask};
use quiescent_sim::{Workload, replay};
use quiescent_trace::{Analysis, Filter, Kind, Options, Reader, from_read, from_seek};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that no input needs more of.
const LEAST_ENOUGH: usize = 256 << 20;

/// Steps of a replay after which it is stopped: what comes later is the model's work, and not a reader's.
const REPLAYED: u64 = 20;

/// Memory is counted for the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// What a file is read as.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Trace,
    Workload,
    Case,
}

/// Files that are read, by their form.
fn files() -> Vec<(PathBuf, Form)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = [
        ("check/fuzz/seeds/trace", "", Form::Trace),
        ("check/fuzz/seeds/tracedat", "", Form::Trace),
        ("data/traces", "format_variants.txt", Form::Trace),
        ("data/workloads", ".toml", Form::Workload),
        ("check/fuzz/seeds/case", ".json", Form::Case),
    ];
    let mut files = Vec::new();
    for (folder, end, form) in all {
        let entries = fs::read_dir(root.join(folder)).expect("it is part of the project");
        let paths = entries.map(|it| it.expect("it is read").path());
        let those = paths.filter(|it| it.to_string_lossy().ends_with(end));
        files.extend(those.map(|it| (it, form)));
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// Stops what it shows the progress of.
struct Stops {
    stop: AtomicBool,
    steps: Cell<u64>,
}

impl Progress for &Stops {
    fn begin(&self, _: &str, _: u64) {}

    fn advance(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
        self.stop
            .store(self.steps.get() > REPLAYED, Ordering::Relaxed);
    }

    fn end(&self) {}
}

fn read(bytes: &[u8], form: Form) {
    match form {
        Form::Trace => trace(bytes),
        Form::Workload => {
            let text = String::from_utf8_lossy(bytes);
            if let Ok(it) = Workload::read("x", "x.toml", &text) {
                let plan = it.plan(&[]).expect("it was planned when it was read");
                if plan.options.cpus <= 64 {
                    drop(plan.machine());
                }
            }
        }
        Form::Case => {
            let text = String::from_utf8_lossy(bytes);
            if let Ok(case) = Case::from_text("x.json", &text)
                && case.options.cpus <= 64
            {
                drop(case.machine());
            }
        }
    }
}

/// A trace through all analyses, the timeline, and a replay.
fn trace(bytes: &[u8]) {
    let is_dat = bytes.starts_with(b"\x17\x08\x44tracing");
    let input = match is_dat {
        true => from_seek("x", Cursor::new(bytes.to_vec())),
        false => from_read("x", Cursor::new(bytes.to_vec())),
    };
    let Ok(input) = input else { return };
    let mut reader = Reader::new("x", input);
    let mut reading = Reading::new(Options {
        hz: Some(250),
        window: None,
    });
    let mut analyses = Kind::ALL.map(|kind| Analysis::new(kind, Filter::default()));
    let mut timeline = Analysis::timeline(Filter::default(), Box::new(io::sink()));
    while let Ok(Some(record)) = reader.next_record() {
        reading.feed(&record);
        analyses.iter_mut().for_each(|it| it.feed(&record));
        timeline.feed(&record);
    }
    let summary = reader.summary();
    let _ = timeline.finish(summary);
    for analysis in analyses {
        let _ = analysis.finish(summary);
    }
    let Ok(trace) = reading.finish(summary) else {
        return;
    };
    let request = Request {
        set: vec!["rcu=lazy".into()],
        ..Request::default()
    };
    let stops = Stops {
        stop: AtomicBool::new(false),
        steps: Cell::new(0),
    };
    let progress = &stops;
    let _ = ask(&trace, &request, Control::new(&stops.stop, &progress));
    drop(replay::machine(&trace.recorded, trace.options()));
}

/// A run over many inputs.
struct Run {
    /// Where the input is that is being read, for the case that it never returns.
    kept: PathBuf,
    prefixes: u64,
    mutations: u64,
    /// Inputs that ended in a panic or took too much memory: the file that each is from, and where it is.
    found: Vec<String>,
    /// The most bytes that an input took.
    most: usize,
}

impl Run {
    fn input(&mut self, bytes: &[u8], form: Form, name: &str) {
        fs::write(&self.kept, bytes).expect("a file for the input");
        let before = LIVE.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let panics = std::panic::catch_unwind(|| read(bytes, form)).is_err();
        let took = MOST.load(Ordering::Relaxed).saturating_sub(before);
        self.most = self.most.max(took);
        if panics || took > LEAST_ENOUGH {
            let found = format!("{}-{}", self.kept.display(), self.found.len());
            fs::write(&found, bytes).expect("a file for the input");
            self.found
                .push(format!("{name}: {found}, panics: {panics}, {took} bytes"));
        }
    }
}

const ODD: [&str; 9] = [
    "0",
    "-1",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "9999999999999999999999",
    "1e300",
    "0x",
    "2147483648",
];

/// Changes it in one to thirty places.
fn changed(whole: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut it = whole.to_vec();
    let changes = [1, 1, 2, 3, 8, 30][chance.below(6) as usize];
    for _ in 0..changes {
        if it.is_empty() {
            break;
        }
        let at = chance.below(it.len() as u64) as usize;
        match chance.below(8) {
            0 => it[at] ^= 1 << chance.below(8),
            1 => it[at] = [0, 255, 127, 128, 27, 10][chance.below(6) as usize],
            2 => {
                let width = 1 << chance.below(4);
                let number = [0, u64::MAX, 1 << 31, u64::MAX >> 1, 1][chance.below(5) as usize];
                let number = match chance.below(2) {
                    0 => number.to_le_bytes(),
                    _ => number.to_be_bytes(),
                };
                let end = (at + width).min(it.len());
                it[at..end].copy_from_slice(&number[..end - at]);
            }
            3 => {
                let end = (at + [1, 2, 8, 100][chance.below(4) as usize]).min(it.len());
                it.drain(at..end);
            }
            4 => {
                let more = (0..1 + chance.below(100)).map(|_| chance.next() as u8);
                let more: Vec<u8> = more.collect();
                it.splice(at..at, more);
            }
            5 => {
                let from = chance.below(it.len() as u64) as usize;
                let end = (from + [4, 16, 200][chance.below(3) as usize]).min(it.len());
                let copy = it[from..end].to_vec();
                it.splice(at..at, copy);
            }
            6 => it.truncate(at),
            _ => {
                // The next number of a text becomes an odd one.
                let Some(from) = it[at..].iter().position(u8::is_ascii_digit) else {
                    continue;
                };
                let from = at + from;
                let digits = it[from..].iter().take_while(|it| it.is_ascii_digit());
                let end = from + digits.count();
                let odd = ODD[chance.below(ODD.len() as u64) as usize];
                it.splice(from..end, odd.bytes());
            }
        }
    }
    it
}

/// Every `step`th prefix of each file, then so many changes of it.
fn all(step: usize, changes: u64, seed: u64) {
    let _turn = TURN.lock().unwrap_or_else(|it| it.into_inner());
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{step}"));
    println!("the input that is being read is in {}", kept.display());
    let mut run = Run {
        kept,
        prefixes: 0,
        mutations: 0,
        found: Vec::new(),
        most: 0,
    };
    for (path, form) in files() {
        let whole = fs::read(&path).expect("it is part of the project");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        run.input(&whole, form, &name);
        for end in (0..whole.len()).step_by(step) {
            run.input(&whole[..end], form, &name);
            run.prefixes += 1;
        }
        // Each file has numbers of its own, whatever is read beside it.
        let letters = name.bytes().map(u64::from);
        let own = letters.fold(seed, |sum, it| sum.wrapping_mul(31).wrapping_add(it));
        let mut chance = Chance::new(own);
        for _ in 0..changes {
            run.input(&changed(&whole, &mut chance), form, &name);
            run.mutations += 1;
        }
    }
    println!(
        "{} prefixes and {} mutations, {} bytes at most",
        run.prefixes, run.mutations, run.most
    );
    assert!(run.found.is_empty(), "{:#?}", run.found);
    fs::remove_file(&run.kept).expect("it was written");
}

#[test]
fn damaged_files_are_read_or_refused() {
    all(499, 8, 1);
}

/// Four minutes of processor time.
#[test]
#[ignore = "ci/nightly hostile"]
fn every_prefix_and_thousands_of_mutations_are_read_or_refused() {
    all(1, 1000, 2);
}
