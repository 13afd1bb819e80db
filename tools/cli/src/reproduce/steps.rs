//! The parts of `reproduce`, in turn, so that nothing computes while another part times.
//!
//! The trickle comes last. Its processes sleep nearly always, so that all run at the same time; and when the
//! last block has been handed over they only wait for what a library keeps for seconds. What times nothing
//! runs meanwhile: wake-ups at rest and instructions are counted, and the model is in virtual time. Delays of
//! seconds may be longer by the milliseconds that a thread then waits for a processor.

use super::{ReproduceOptions, Reproduced, benchmark};
use quiescent_bench::cases::hold::HOLD;
use quiescent_bench::cases::idle::IDLE;
use quiescent_bench::cases::mixed::MIXED;
use quiescent_bench::cases::plan::Given;
use quiescent_bench::cases::read::READ;
use quiescent_bench::cases::retire::{self, RETIRE, RetireCase};
use quiescent_bench::cases::sync::SYNC;
use quiescent_bench::cases::trickle::TRICKLE;
use quiescent_bench::deferral::malloc_free;
use quiescent_bench::deferral::swap::Content;
use quiescent_bench::instructions::{self, InstructionOptions};
use quiescent_report::{Control, Error, OURS, Report, Silent};
use quiescent_sim::batch;
use quiescent_sim::experiments::{self, show};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The option of the report with the seconds that each part took.
pub(super) const SECONDS: &str = "seconds";

/// A part; it leaves out the rest of itself when stopped.
type Step = (&'static str, fn(&mut Run<'_>) -> Result<(), Error>);

/// The parts.
const STEPS: [Step; 9] = [
    ("bench read", |run| run.read()),
    ("bench sync", |run| run.sync()),
    ("bench idle", |run| run.idle()),
    ("bench retire", |run| run.retire()),
    ("bench retire of 20M", |run| run.peak()),
    ("bench mixed", |run| run.mixed()),
    ("bench hold", |run| run.hold()),
    ("the synchronize benchmark", |run| run.benchmark()),
    ("bench trickle", |run| run.trickle()),
];

/// What runs during the last part of the trickle.
const MEANWHILE: [Step; 2] = [
    ("instructions", |run| run.instructions()),
    ("the model", |run| run.model()),
];

/// A run, as far as it has come.
struct Run<'a> {
    found: Reproduced,
    seconds: Map<String, Value>,
    options: &'a ReproduceOptions,
    control: Control<'a>,
}

/// Runs all parts; when stopped, those that there was time for.
pub(super) fn run(
    found: Reproduced,
    options: &ReproduceOptions,
    control: Control<'_>,
) -> Result<Reproduced, Error> {
    let mut run = Run {
        found,
        seconds: Map::new(),
        options,
        control,
    };
    run.found.report.option("quick", options.quick);
    run.steps(&STEPS)?;
    let Run {
        mut found, seconds, ..
    } = run;
    show::report(&found.modelled, &mut found.report);
    found.report.option(SECONDS, seconds);
    Ok(found)
}

/// What each part took.
pub(super) fn text(report: &Report) -> Option<String> {
    let seconds = report.options.get(SECONDS)?.as_object()?;
    let of = |steps: &[Step]| -> (f64, String) {
        let took = |it: &Step| Some((it.0, seconds.get(it.0)?.as_f64()?));
        let took: Vec<(&str, f64)> = steps.iter().filter_map(took).collect();
        let words = took.iter().map(|(name, took)| format!("{name} {took:.1}"));
        let words: Vec<String> = words.collect();
        (took.iter().map(|it| it.1).sum(), words.join(", "))
    };
    let ((all, steps), (_, meanwhile)) = (of(&STEPS), of(&MEANWHILE));
    Some(format!(
        "Seconds\n- {all:.0} in all: {steps}\n- during the trickle: {meanwhile}\n"
    ))
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), Error> {
        for (name, step) in steps {
            if self.control.stopped() {
                break;
            }
            let begin = Instant::now();
            step(self)?;
            let took = begin.elapsed().as_secs_f64();
            self.seconds.insert((*name).into(), took.into());
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), Error> {
        let given = self.compared(READ.usual(self.program()));
        let (rounds, cell_us) = if self.options.quick {
            (30, 300)
        } else {
            (60, 2_000)
        };
        let given = given.with("rounds", rounds).with("cell_us", cell_us);
        self.absorb(READ.measure(&given, self.control))
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.absorb(SYNC.measure(&sync_options(self.options), self.control))
    }

    fn retire(&mut self) -> Result<(), Error> {
        let mut given = retire_options(self.options);
        // Processes at rest are watched during the trickle.
        let now = |case: &RetireCase| self.options.quick || *case != RetireCase::AtRest;
        given.cases = RetireCase::ALL
            .into_iter()
            .filter(now)
            .map(RetireCase::name)
            .collect();
        self.absorb(RETIRE.measure(&given, self.control))
    }

    /// `bench retire` again, with many objects for the peak memory.
    fn peak(&mut self) -> Result<(), Error> {
        if self.options.quick {
            return self.note("peak memory with 20 million objects: left out by --quick");
        }
        for (cases, peers) in PEAKS {
            let mut given = retire_options(self.options).with("rounds", 1);
            given = given.with("objects", retire::PEAK_OBJECTS);
            given.cases = cases.iter().map(|case| case.name()).collect();
            let only = [OURS, malloc_free().name]
                .into_iter()
                .chain(peers.iter().copied());
            given.only = only.map(String::from).collect();
            let mut peak = RETIRE.measure(&given, self.control)?;
            peak.command += " of 20M";
            for row in &mut peak.rows {
                let case = cases.iter().find(|case| case.name() == row.case);
                row.case = case.map_or(row.case.clone(), |case| case.peak_name());
            }
            // That of `bench retire` itself is the median of more rounds.
            peak.rows.retain(|row| !row.case.starts_with("empty"));
            self.absorb(Ok(peak))?;
        }
        Ok(())
    }

    fn mixed(&mut self) -> Result<(), Error> {
        let given = self.compared(MIXED.usual(self.program()));
        let (rounds, ms) = if self.options.quick { (1, 10) } else { (5, 50) };
        let given = given.with("rounds", rounds).with("ms", ms);
        self.absorb(MIXED.measure(&given, self.control))
    }

    fn hold(&mut self) -> Result<(), Error> {
        let given = self.compared(HOLD.usual(self.program()));
        let given = given.with("ms", if self.options.quick { 20 } else { 2_000 });
        self.absorb(HOLD.measure(&given, self.control))
    }

    /// Nothing was ever queued.
    fn idle(&mut self) -> Result<(), Error> {
        let mut given = IDLE.usual(self.program()).with("ms", 300);
        given.seed = self.options.seed;
        given.only = vec![OURS.into()];
        self.absorb(IDLE.measure(&given, self.control))
    }

    fn program(&self) -> PathBuf {
        self.options.program.clone()
    }

    fn compared(&self, given: Given) -> Given {
        compared(given, self.options.seed)
    }

    fn benchmark(&mut self) -> Result<(), Error> {
        let benchmark = benchmark::run(self.options, self.control)?;
        let report = &mut self.found.report;
        report.option("benchmark_runs", benchmark.runs);
        report.option("benchmark_calls", benchmark.calls);
        if let Some(kernel) = &benchmark.kernel {
            report.option("kernel bench", kernel.json());
        }
        report.rows.extend(benchmark.rows.iter().cloned());
        self.found.notes.extend(benchmark.notes.iter().cloned());
        self.found.benchmark = Some(benchmark);
        Ok(())
    }

    fn instructions(&mut self) -> Result<(), Error> {
        if self.options.quick {
            return self.note("instructions: left out by --quick; see ci/instructions");
        }
        if let Err(why) = instructions::check_valgrind() {
            return self.note(&format!("instructions: {why}"));
        }
        let counted = InstructionOptions {
            seed: self.options.seed,
            program: self.options.program.clone(),
            only: [OURS, "liburcu-memb", "liburcu-qsbr", "ck"]
                .map(String::from)
                .to_vec(),
        };
        self.absorb(instructions::run(&counted, self.control))
    }

    fn trickle(&mut self) -> Result<(), Error> {
        if self.options.quick {
            self.steps(&MEANWHILE)?;
            return self.note("trickle: left out by --quick; see bench trickle");
        }
        // It lasts longer than a flush may take, so that one is seen; then the last block may take as long.
        let wanted = self.compared(TRICKLE.usual(self.program()));
        let wanted = wanted.with("ms", 12_000).with("capacity", u64::MAX);
        let wanted = wanted.with_all("rates", vec![10, 100, 1_000]);
        let mut at_rest = retire_options(self.options);
        at_rest.cases = vec![RetireCase::AtRest.name()];
        let flag = self.control.flag();
        let silent = || Control::new(flag, &Silent);
        let (trickle, mut rest) = std::thread::scope(|scope| {
            let measured = scope.spawn(|| TRICKLE.measure(&wanted, silent()));
            let progress = self.control.progress;
            let until = wanted.of("ms") / 1_000 + STARTING_S;
            progress.begin("bench trickle", until);
            for _ in 0..until {
                if !self.control.stopped() && !measured.is_finished() {
                    std::thread::sleep(Duration::from_secs(1));
                    progress.advance(1);
                }
            }
            progress.end();
            let rest = scope.spawn(|| RETIRE.measure(&at_rest, silent()));
            self.steps(&MEANWHILE)?;
            let [trickle, rest] = [measured, rest].map(|it| it.join().expect("it does not panic"));
            Ok::<_, Error>((trickle?, rest?))
        })?;
        self.absorb(Ok(trickle))?;
        rest.command += " at rest";
        self.absorb(Ok(rest))
    }

    fn model(&mut self) -> Result<(), Error> {
        let (seed, control) = (self.options.seed, self.control);
        self.found.modelled = experiments::run(seed, batch::processors(), control);
        Ok(())
    }

    /// Says why a part was not measured.
    fn note(&mut self, why: &str) -> Result<(), Error> {
        self.found.notes.push(why.into());
        Ok(())
    }

    /// Adds the rows of a part; its options under the part's name.
    fn absorb(&mut self, part: Result<Report, Error>) -> Result<(), Error> {
        let part = part?;
        let report = &mut self.found.report;
        report.rows.extend(part.rows);
        report.host.more.extend(part.host.more);
        let options: serde_json::Map<_, _> = part.options.into_iter().collect();
        report.option(&part.command, options);
        Ok(())
    }
}

fn compared(mut given: Given, seed: u64) -> Given {
    given.seed = seed;
    given.with("compare", 1)
}

/// For `bench sync` and the synchronize benchmark.
fn sync_options(options: &ReproduceOptions) -> Given {
    let (rounds, calls) = if options.quick { (30, 100) } else { (40, 500) };
    let given = compared(SYNC.usual(options.program.clone()), options.seed);
    given.with("rounds", rounds).with("calls", calls)
}

/// What is run once more with many objects, and the peers beside this library.
const PEAKS: [(&[RetireCase], &[&str]); 2] = [
    (
        &[
            RetireCase::AllIn(1),
            RetireCase::AllIn(2),
            RetireCase::Empty(1),
            RetireCase::Empty(2),
        ],
        &["ck", "liburcu-memb"],
    ),
    (
        &[
            RetireCase::Swap(Content::Short),
            RetireCase::Swap(Content::Long),
        ],
        &["arc-swap"],
    ),
];

fn retire_options(options: &ReproduceOptions) -> Given {
    let (rounds, objects, rest_ms) = match options.quick {
        true => (1, 20_000, 300),
        false => (3, 1_500_000, 3_000),
    };
    let given = compared(RETIRE.usual(options.program.clone()), options.seed);
    given
        .with("rounds", rounds)
        .with("objects", objects)
        .with("rest_ms", rest_ms)
}

/// In so many seconds all processes of the trickle have started.
const STARTING_S: u64 = 2;
