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
use quiescent_bench::cases::plan::{Bench, Given};
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
use std::time::{Duration, Instant};

/// The option of the report with the seconds that each part took.
const SECONDS: &str = "seconds";

/// A part; it leaves out the rest of itself when stopped.
type Step = (&'static str, fn(&mut Run<'_>) -> Result<(), Error>);

/// The parts.
const STEPS: [Step; 9] = [
    ("bench read", |run| {
        run.bench(&READ, &[("rounds", 30, 60), ("cell_us", 300, 2_000)])
    }),
    ("bench sync", |run| {
        run.bench(&SYNC, &[("rounds", 5, 40), ("calls", 50, 500)])
    }),
    ("bench idle", |run| run.idle()),
    ("bench retire", |run| run.retire()),
    ("bench retire of 20M", |run| run.peak()),
    ("bench mixed", |run| {
        run.bench(&MIXED, &[("rounds", 1, 5), ("ms", 10, 50)])
    }),
    ("bench hold", |run| run.bench(&HOLD, &[("ms", 20, 2_000)])),
    ("the synchronize benchmark", |run| run.benchmark()),
    ("bench trickle", |run| run.trickle()),
];

/// What runs during the last part of the trickle.
const MEANWHILE: [Step; 2] = [
    ("instructions", |run| run.instructions()),
    ("the model", |run| run.model()),
];

/// Settings of a bench, each with its value of `--quick` and its usual one.
type Values = &'static [(&'static str, u64, u64)];

const OF_RETIRE: Values = &[
    ("rounds", 1, 3),
    ("objects", 20_000, 1_500_000),
    ("rest_ms", 300, 3_000),
];

/// What `bench retire` runs once more with many objects, and the peers beside this library.
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

/// In so many seconds all processes of the trickle have started.
const STARTING_S: u64 = 2;

/// A run, as far as it has come.
struct Run<'a> {
    found: &'a mut Reproduced,
    seconds: Map<String, Value>,
    options: &'a ReproduceOptions,
    control: Control<'a>,
}

/// Runs all parts; when stopped, those that there was time for.
pub(super) fn run(
    found: &mut Reproduced,
    options: &ReproduceOptions,
    control: Control<'_>,
) -> Result<(), Error> {
    let mut run = Run {
        found,
        seconds: Map::new(),
        options,
        control,
    };
    run.steps(&STEPS)?;
    let Run { found, seconds, .. } = run;
    show::report(&found.modelled, &mut found.report);
    found.report.option("quick", options.quick);
    found.report.option(SECONDS, seconds);
    Ok(())
}

/// What each part took.
pub(super) fn text(report: &Report) -> Option<String> {
    let seconds = report.options.get(SECONDS)?.as_object()?;
    let of = |steps: &[Step]| {
        let took = |it: &Step| Some(format!("{} {:.1}", it.0, seconds.get(it.0)?.as_f64()?));
        steps.iter().filter_map(took).collect::<Vec<_>>().join(", ")
    };
    let (steps, meanwhile) = (of(&STEPS), of(&MEANWHILE));
    Some(format!(
        "Seconds\n- {steps}\n- during the trickle: {meanwhile}\n"
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

    fn given(&self, bench: &'static Bench, values: Values) -> Given {
        let mut given = bench.usual(self.options.program.clone());
        given.seed = self.options.seed;
        for &(name, quick, whole) in values {
            given = given.with(name, if self.options.quick { quick } else { whole });
        }
        given
    }

    /// The same beside other libraries.
    fn compared(&self, bench: &'static Bench, values: Values) -> Given {
        self.given(bench, values).with("compare", 1)
    }

    fn bench(&mut self, bench: &'static Bench, values: Values) -> Result<(), Error> {
        let given = self.compared(bench, values);
        self.measure(bench, &given)
    }

    fn measure(&mut self, bench: &'static Bench, given: &Given) -> Result<(), Error> {
        let part = bench.measure(given, self.control)?;
        self.absorb(bench.figures(&part), part)
    }

    /// Nothing was ever queued.
    fn idle(&mut self) -> Result<(), Error> {
        let mut given = self.given(&IDLE, &[("ms", 300, 300)]);
        given.only = vec![OURS.into()];
        self.measure(&IDLE, &given)
    }

    fn retire(&mut self) -> Result<(), Error> {
        let mut given = self.compared(&RETIRE, OF_RETIRE);
        given.cases = RetireCase::ALL.map(RetireCase::name).into();
        if !self.options.quick {
            // Processes at rest are watched during the trickle.
            given.cases.retain(|it| *it != RetireCase::AtRest.name());
        }
        self.measure(&RETIRE, &given)
    }

    /// `bench retire` again, with many objects for the peak memory.
    fn peak(&mut self) -> Result<(), Error> {
        if self.options.quick {
            return self.note("peak memory with 20 million objects: left out by --quick");
        }
        for (cases, peers) in PEAKS {
            let mut given = self.compared(&RETIRE, OF_RETIRE).with("rounds", 1);
            given = given.with("objects", retire::PEAK_OBJECTS);
            given.cases = cases.iter().map(|case| case.name()).collect();
            let only = [&[OURS, malloc_free().name], peers].concat();
            given.only = only.into_iter().map(String::from).collect();
            let mut peak = RETIRE.measure(&given, self.control)?;
            peak.command += " of 20M";
            // That of `bench retire` itself is the median of more rounds.
            peak.rows.retain(|row| !row.case.starts_with("empty"));
            for row in &mut peak.rows {
                let case = cases.iter().find(|case| case.name() == row.case);
                row.case = case.map_or(row.case.clone(), |case| case.peak_name());
            }
            self.absorb(RETIRE.figures(&peak), peak)?;
        }
        Ok(())
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
        let tables = benchmark::text(&benchmark, report);
        self.found.tables.push(tables);
        self.found.notes.extend(benchmark.notes);
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
        let counted = instructions::run(&counted, self.control)?;
        self.absorb(instructions::text(&counted), counted)
    }

    fn trickle(&mut self) -> Result<(), Error> {
        if self.options.quick {
            self.steps(&MEANWHILE)?;
            return self.note("trickle, most experiments of the model: left out by --quick");
        }
        // It lasts longer than a flush may take, so that one is seen; then the last block may take as long.
        let wanted = self.compared(&TRICKLE, &[("ms", 0, 12_000), ("capacity", 0, u64::MAX)]);
        let wanted = wanted.with_all("rates", vec![10, 100, 1_000]);
        let mut at_rest = self.compared(&RETIRE, OF_RETIRE);
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
        self.absorb(TRICKLE.figures(&trickle), trickle)?;
        rest.command += " at rest";
        self.absorb(RETIRE.figures(&rest), rest)
    }

    fn model(&mut self) -> Result<(), Error> {
        let most = if self.options.quick { 9 } else { usize::MAX };
        let (seed, control) = (self.options.seed, self.control);
        self.found.modelled = experiments::run(most, seed, batch::processors(), control);
        Ok(())
    }

    /// Says why a part was not measured.
    fn note(&mut self, why: &str) -> Result<(), Error> {
        self.found.notes.push(why.into());
        Ok(())
    }

    /// Adds the tables and the rows of a part; its options under the part's name.
    fn absorb(&mut self, tables: String, part: Report) -> Result<(), Error> {
        self.found.tables.push(tables);
        let report = &mut self.found.report;
        report.rows.extend(part.rows);
        report.host.more.extend(part.host.more);
        report.option(&part.command, Map::from_iter(part.options));
        Ok(())
    }
}
