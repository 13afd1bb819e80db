//! `trace waits` on traces of machines: each wait that it finds is one that the machine counted, from and
//! until the same microsecond, with the same grace periods; and on a real kernel's trace it finds what
//! `whatif` reads, which follows waits in another way.

use crate::common::{List, MS};
use quiescent_sim::whatif::{self, doings::Awaited};
use quiescent_sim::{Machine, Op, Options, Queued, Stats, settings};
use quiescent_trace::{Analysis, Filter, Findings, Input, Kind, Reader, Table, open};

fn waits<'a>(input: impl Into<Input<'a>>) -> Findings {
    let mut reader = Reader::new("text", input);
    let mut analysis = Analysis::new(Kind::Waits, Filter::default());
    while let Some(record) = reader.next_record().unwrap() {
        analysis.feed(&record);
    }
    analysis.finish(reader.summary()).unwrap()
}

/// Two tasks that wait four times each, at different times of a tick.
fn simulated(op: &Op, sets: &[(&str, &str)]) -> (Stats, Options, Findings) {
    let mut options = Options::kernel_6_12(4, 1000);
    settings::apply(&mut options, sets).unwrap();
    let mut machine = Machine::new(options.clone());
    machine.keep_trace();
    machine.func("file_free");
    for (cpu, pause) in [(1, 17 * MS + 300_000), (2, 23 * MS + 700_000)] {
        let queue = Op::Call(Queued::of(0).lazy(false));
        let ops = (1..5).flat_map(|n| [Op::SleepUntil(n * pause), queue.clone(), op.clone()]);
        machine.spawn(&format!("waiter/{cpu}"), cpu, 0, List::new(ops.collect()));
    }
    assert!(machine.run_tasks(60_000 * MS), "it waits for ever");
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    (machine.stats(), options, waits(&text[..]))
}

/// Start and length in microseconds, and grace periods.
type Wait = (u64, u64, u64);

fn longest(found: &Findings) -> Vec<Wait> {
    let table = found.tables.iter().find(|it| it.prefix == "longest ");
    let table: &Table = table.expect("has waits");
    let place = |metric| table.columns.iter().position(|it| it.metric == metric);
    let [start, ms, gps] = ["start_s", "wait_ms", "gps"].map(|it| place(it).expect("a column"));
    let of = |figures: &[Option<f64>]| {
        let us = |place: usize, scale: f64| (figures[place].unwrap() * scale).round() as u64;
        (us(start, 1e6), us(ms, 1e3), figures[gps].unwrap() as u64)
    };
    let mut all: Vec<Wait> = table.rows.iter().map(|row| of(&row.figures)).collect();
    all.sort_unstable();
    all
}

/// What the machine itself counted. A normal wait is over when the task is switched to: so much before it
/// goes on.
fn counted(stats: &Stats, op: &Op, options: &Options) -> Vec<Wait> {
    let calls = stats.calls.iter().map(|it| (it.start, it.end));
    let mut spans: Vec<(u64, u64)> = calls.chain(stats.barriers.iter().copied()).collect();
    let switched = *op == Op::Synchronize && !options.expedited;
    if switched {
        spans.iter_mut().for_each(|it| it.1 -= options.costs.switch);
    }
    let ended = |span: &(u64, u64)| {
        let gps = stats.grace_periods.iter();
        gps.filter(|it| span.0 < it.end && it.end < span.1).count() as u64
    };
    let us = |span: (u64, u64)| (span.0 / 1000, span.1 / 1000 - span.0 / 1000, ended(&span));
    let mut all: Vec<Wait> = spans.into_iter().map(us).collect();
    all.sort_unstable();
    all
}

#[test]
fn each_wait_is_the_one_that_the_machine_counted() {
    let settings = [
        &[][..],
        &[("rcu_normal_wake_from_gp", "1")],
        &[("rcu", "offload")],
        &[("rcu_expedited", "1")],
    ];
    for sets in settings {
        for (op, name) in [(Op::Synchronize, "normal"), (Op::Barrier, "barrier")] {
            let (stats, options, found) = simulated(&op, sets);
            let (ours, theirs) = (longest(&found), counted(&stats, &op, &options));
            let expedited = options.expedited && op == Op::Synchronize;
            assert_eq!(theirs.len(), 8);
            if expedited {
                let ends = |all: &[Wait]| all.iter().map(|it| (it.0, it.1)).collect::<Vec<_>>();
                assert_eq!(ends(&ours), ends(&theirs), "{sets:?}");
            } else {
                assert_eq!(ours, theirs, "{sets:?} {name}");
            }
            let case = if expedited {
                "(all) expedited"
            } else {
                &format!("(all) {name}")
            };
            let figure = |metric| found.tables[0].figure(case, metric).unwrap();
            let sum: u64 = theirs.iter().map(|it| it.1).sum();
            assert_eq!(figure("waits"), 8.0);
            assert!((figure("wait_ms_total") - sum as f64 / 1e3).abs() < 1e-9);
        }
    }
}

#[test]
fn a_kernels_waits_are_those_that_whatif_reads() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/s-sync-classic-8.txt.xz"
    );
    let found = waits(open(path).unwrap());
    let known = quiescent_trace::Options::default();
    let trace = whatif::read(path, open(path).unwrap(), known).unwrap();
    let (n, mean) = trace.waits(Awaited::GracePeriod);
    let figure = |metric| found.tables[0].figure("(all) normal", metric).unwrap();
    assert_eq!(figure("waits"), n as f64);
    assert!((figure("wait_ms_avg") - mean).abs() < 1e-9);
    assert_eq!(n, 200);
}
