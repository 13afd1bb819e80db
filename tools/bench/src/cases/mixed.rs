//! `bench mixed`: reads beside updates.
//!
//! One thread (or `--readers`) enters a section, loads a pointer, reads, leaves, in a loop;
//! another makes an object, puts it in the place of the one before and retires that one: at each rate, one
//! after the other, and as fast as it can. At full speed the cache line of the value decides, not the
//! library.
//!
//! | case | what |
//! |---|---|
//! | `read 0/s` | reads, the updater asleep |
//! | `read 1k/s`, `update 1k/s`, … | so many updates a second; `cpu_ns_ratio`: over `read 0/s` |
//! | `read`, `update` | as many updates as possible |
//! | `read config 0/s`, … | a `HashMap<String, String>` of 1000 entries; a read looks one up |
//!
//! `read` is thread CPU time a pair, the loop included: here the pointer and the object come from another
//! processor each time, which no bare loop shows. `update` is the rest of the process's CPU time an update,
//! the library's own threads and the final barrier included. Both have a rate by the clock on the wall, which
//! depends on who else wants the CPUs. `fence_time_percent` is the number of fences that were issued times
//! what one takes beside the readers. A process a subject, content and round.

use super::plan::{Bench, Body, Cell, Given};
use super::setting::{self, Setting};
use crate::deferral::pace::Pace;
use crate::deferral::swap::Content;
use crate::deferral::{self, rest};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::{clock, process, threads};
use crate::subjects::{Counters, ReaderControl};
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The measurement.
pub static MIXED: Bench = Bench {
    name: "mixed",
    settings: &[
        setting::compare(),
        setting::rounds("7"),
        Setting::counts("rates", "1000,100000,1000000", (1, 1_000_000_000)),
        setting::milliseconds("ms", "ms", "100"),
        setting::threads("readers", "1"),
    ],
    body: Body::Asked(cells, patience, measure),
    ..Bench::USUAL
};

/// The case of the readers' rows.
pub const READ: &str = "read";
/// The case of the updater's rows.
pub const UPDATE: &str = "update";

/// The most updates a second of a config, whose making takes a tenth of a ms.
const MOST_OF_CONFIG: u64 = 1_000;

/// The name of a case: `read`, `read 2r`, `update 100k/s`, `read config 0/s`. A rate of `None` is full speed.
pub fn case_name(case: &str, content: Content, rate: Option<u64>, readers: u64) -> String {
    let mut name = String::from(case);
    if content != Content::Block {
        name += &format!(" {}", content.name());
    }
    name += &match rate {
        None => String::new(),
        Some(rate) if rate > 0 && rate % 1_000 == 0 => format!(" {}k/s", rate / 1_000),
        Some(rate) => format!(" {rate}/s"),
    };
    match readers {
        1 => name,
        more => format!("{name} {more}r"),
    }
}

const CONTENTS: [Content; 2] = [Content::Block, Content::Config];

fn cells(given: &Given) -> Vec<Cell> {
    let mut cells = Vec::new();
    for content in CONTENTS {
        let mut rates = given.all("rates").to_vec();
        rates.retain(|rate| content != Content::Config || *rate <= MOST_OF_CONFIG);
        for subject in deferral::selected(given.is("compare")) {
            if subject.beside(content).is_some() {
                let cell = Cell::of(given, subject.name, content.name());
                cells.push(cell.with_all("rates", rates.clone()));
            }
        }
    }
    cells
}

fn patience(ask: &Ask) -> Duration {
    10 * ask.ms("ms") * (ask.all("rates").len() as u32 + 2)
}

/// A stretch of the measurement: so many updates a second, `None` for as many as possible.
type Rate = Option<u64>;

/// What one thread did at one rate.
#[derive(Debug, Clone, Copy)]
struct Did {
    turns: u64,
    cpu_ns: u64,
    wall_ns: u64,
}

/// What the whole process did at one rate.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    begin_cpu_ns: u64,
    wall_ns: u64,
    counted: Option<Counters>,
}

fn measure(ask: &Ask) -> Said {
    let content = CONTENTS.into_iter().find(|it| it.name() == ask.case);
    let content = content.ok_or_else(|| format!("no cell with `{}`", ask.case))?;
    let subject = deferral::find(&ask.subject)?;
    let beside = subject.beside(content).ok_or_else(|| {
        let (name, content) = (subject.name, content.name());
        format!("{name} is not measured with reads beside updates of a {content}")
    })?;
    // No updates come before those at a rate, and as many as possible after.
    let slow = std::iter::once(0).chain(ask.all("rates").iter().copied());
    let rates: Vec<Rate> = slow.map(Some).chain([None]).collect();
    let readers = ask.of("readers");
    let members = 1 + readers as usize;
    // One for each thread and rate.
    let controls: Vec<Vec<ReaderControl>> = (0..members)
        .map(|_| rates.iter().map(|_| ReaderControl::default()).collect())
        .collect();
    let together = Barrier::new(members + 1);
    // The first member updates, the others read.
    let work = |number: usize, ()| -> Vec<Did> {
        let stretches = controls[number].iter().zip(&rates);
        let each = stretches.map(|(control, rate)| {
            together.wait();
            let (cpu, begin) = (clock::thread_cpu_ns(), Instant::now());
            let turns = match number {
                0 => {
                    let mut pace = Pace::new(&control.stop.0, *rate);
                    (beside.update)(&mut pace);
                    pace.done()
                }
                _ => (beside.read)(control),
            };
            Did {
                turns,
                cpu_ns: clock::thread_cpu_ns() - cpu,
                wall_ns: begin.elapsed().as_nanos() as u64,
            }
        });
        each.collect()
    };
    let mut stretches = Vec::new();
    let mut fence_ns = None;
    let in_time = || {
        let begin_cpu = clock::process_cpu_ns();
        for (index, rate) in rates.iter().enumerate() {
            together.wait();
            let (begin_cpu_ns, begin) = (clock::process_cpu_ns() - begin_cpu, Instant::now());
            let before = rest::counters(&subject);
            std::thread::sleep(ask.ms("ms"));
            if *rate == Some(0) && before.is_some() {
                fence_ns = process::fence_ns();
            }
            let counted = rest::counters(&subject).zip(before);
            for control in &controls {
                control[index].stop.0.store(1, Relaxed);
            }
            stretches.push(Stretch {
                begin_cpu_ns,
                wall_ns: begin.elapsed().as_nanos() as u64,
                counted: counted.map(|(now, before)| now.since(before)),
            });
        }
    };
    let ran = threads::run(&subject, members, |_| (), work, in_time)?;
    let mut figures = Vec::new();
    let mut alone = None;
    for (index, (rate, stretch)) in rates.iter().zip(&stretches).enumerate() {
        let did: Vec<Did> = ran.results.iter().map(|member| member[index]).collect();
        let (updater, reading) = did.split_first().ok_or("no thread measured")?;
        let of = |case| Figures::of(case_name(case, content, *rate, readers));
        let (mut read, mut update) = (of(READ), of(UPDATE));
        let read_ns = reads(&mut read, reading, alone);
        alone.get_or_insert(read_ns);
        if *rate != Some(0) {
            update.add("ops_per_s", "updates/s", per_second(updater));
            fences(&mut update, stretch, fence_ns);
        }
        if rate.is_none() {
            let rest = ran.cpu_ns.saturating_sub(stretch.begin_cpu_ns);
            updates(&mut update, updater, reading, rest);
        }
        figures.extend([read.all, update.all].concat());
    }
    Ok(figures)
}

/// A thread that never came to its turn makes no figure but 0 a second.
fn each(ns: u64, turns: u64) -> f64 {
    ns as f64 / turns.max(1) as f64
}

fn per_second(did: &Did) -> f64 {
    did.turns as f64 * 1e9 / did.wall_ns.max(1) as f64
}

/// Figures of readers; the CPU time of a read, which `alone` is without updates.
fn reads(figures: &mut Figures, readers: &[Did], alone: Option<f64>) -> f64 {
    let turns = readers.iter().map(|did| did.turns).sum();
    let ns = each(readers.iter().map(|did| did.cpu_ns).sum(), turns);
    figures.add("cpu_ns", "ns/pair", ns);
    let per_second: f64 = readers.iter().map(per_second).sum();
    figures.add("ops_per_s", "reads/s", per_second);
    let alone = alone.filter(|alone| *alone > 0.0);
    figures.add("cpu_ns_ratio", "times", alone.map(|alone| ns / alone));
    ns
}

/// Figures of an updater at full speed: all CPU time of the process but the readers' is its.
fn updates(figures: &mut Figures, updater: &Did, readers: &[Did], process_cpu_ns: u64) {
    let reading = readers.iter().map(|did| did.cpu_ns).sum();
    let ns = each(process_cpu_ns.saturating_sub(reading), updater.turns);
    figures.add("cpu_ns", "ns/update", ns);
    figures.peak();
}

/// What a library says of its fences: how many a second, and the share of the time that they take.
fn fences(figures: &mut Figures, stretch: &Stretch, fence_ns: Option<u64>) {
    let issued = stretch.counted.map(|it| it.fences_issued as f64);
    let wall_ns = stretch.wall_ns.max(1) as f64;
    figures.add(
        "fences_per_s",
        "fences/s",
        issued.map(|it| it * 1e9 / wall_ns),
    );
    let percent = issued
        .zip(fence_ns)
        .map(|(it, ns)| 100.0 * it * ns as f64 / wall_ns);
    figures.add("fence_time_percent", "%", percent);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(subject: &'static str, content: Content) -> Said {
        let given = MIXED.usual("true".into()).with("ms", 10).with("readers", 2);
        measure(
            &Cell::of(&given, subject, content.name())
                .with("rates", 1_000)
                .ask,
        )
    }

    #[test]
    fn every_subject_reads_and_updates() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            for content in [Content::Block, Content::Config] {
                let figures = asked(subject.name, content);
                if subject.beside(content).is_none() {
                    assert!(figures.unwrap_err().contains("beside"));
                    continue;
                }
                let figures = figures.unwrap();
                let found = |case: &str, metric| {
                    let mut all = figures.iter();
                    all.any(|it| it.case == case && it.metric == metric)
                };
                let name = |case, rate| case_name(case, content, rate, 2);
                for rate in [Some(0), Some(1_000), None] {
                    let ratio = found(&name(READ, rate), "cpu_ns_ratio");
                    assert!(found(&name(READ, rate), "cpu_ns"), "{}", subject.name);
                    assert_eq!(ratio, rate != Some(0), "{}", subject.name);
                    let updates = found(&name(UPDATE, rate), "ops_per_s");
                    assert_eq!(updates, rate != Some(0), "{}", subject.name);
                }
                assert!(found(&name(UPDATE, None), "cpu_ns"), "{}", subject.name);
            }
        }
    }

    /// However busy the machine is: an updater is late, never early, and no thread has more CPU time than
    /// there is.
    #[test]
    fn no_figure_is_larger_than_what_was_asked() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let asked = [500, 20_000];
        let given = MIXED.usual("true".into()).with("ms", 30);
        for subject in deferral::selected(false) {
            if subject.beside(Content::Block).is_none() {
                continue;
            }
            let cell = Cell::of(&given, subject.name, Content::Block.name());
            let figures = measure(&cell.with_all("rates", asked.to_vec()).ask).unwrap();
            let value = |case: &str, rate, metric: &str| {
                let case = case_name(case, Content::Block, rate, 1);
                let found = figures
                    .iter()
                    .find(|it| it.case == case && it.metric == metric);
                found.unwrap_or_else(|| panic!("{case} {metric}")).value
            };
            for rate in asked {
                let updates = value(UPDATE, Some(rate), "ops_per_s");
                assert!(updates <= rate as f64, "{updates} of {rate}");
            }
            let alone = value(READ, Some(0), "cpu_ns");
            for rate in [Some(0), Some(asked[0]), Some(asked[1]), None] {
                let cpu_ns = value(READ, rate, "cpu_ns");
                let busy = cpu_ns * value(READ, rate, "ops_per_s");
                assert!(
                    (0.0..=1.01e9).contains(&busy),
                    "{rate:?}: {busy} ns a second"
                );
                if rate != Some(0) {
                    let ratio = value(READ, rate, "cpu_ns_ratio");
                    assert!((ratio * alone - cpu_ns).abs() < 1e-6 * cpu_ns, "{ratio}");
                }
            }
        }
    }

    #[test]
    fn costs_are_shared_out() {
        let did = |turns, cpu_ns| Did {
            turns,
            cpu_ns,
            wall_ns: 1_000,
        };
        let readers = [did(100, 300)];
        let [mut read, mut update] = ["read", "update"].map(Figures::of);
        assert_eq!(reads(&mut read, &readers, Some(1.5)), 3.0);
        updates(&mut update, &did(10, 400), &readers, 1_000);
        let stretch = Stretch {
            begin_cpu_ns: 0,
            wall_ns: 1_000_000_000,
            counted: Some(Counters {
                fences_issued: 1_000,
                ..Counters::default()
            }),
        };
        fences(&mut update, &stretch, Some(20_000));
        let figures = [read.all, update.all].concat();
        let value = |metric: &str, case: &str| {
            let mut all = figures.iter();
            let found = all.find(|f| f.case == case && f.metric == metric);
            found.unwrap().value
        };
        assert_eq!(value("cpu_ns_ratio", "read"), 2.0);
        let update = value("cpu_ns", "update");
        assert_eq!(update, 70.0, "all that readers did not use");
        assert_eq!(value("ops_per_s", "read"), 1e8);
        assert_eq!(value("fence_time_percent", "update"), 2.0);
    }

    #[test]
    fn cases_are_named_by_content_rate_and_readers() {
        let name = |content, rate, readers| case_name(READ, content, rate, readers);
        assert_eq!(name(Content::Block, None, 1), "read");
        assert_eq!(name(Content::Block, Some(0), 2), "read 0/s 2r");
        assert_eq!(name(Content::Config, Some(1_000), 1), "read config 1k/s");
    }
}
