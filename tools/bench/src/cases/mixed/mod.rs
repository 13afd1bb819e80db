//! `bench mixed`: reads beside updates.
//!
//! One thread (or [`MixedOptions::readers`]) enters a section, loads a pointer, reads, leaves, in a loop;
//! another makes an object, puts it in the place of the one before and retires that one: at [`RATES`], one
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

pub mod child;

use crate::deferral;
use crate::deferral::swap::Content;
use crate::measure::once::{self, Ask};
use crate::subjects::pool::MOST_THREADS;
use child::MixedAsk;
use quiescent_report::rows::MEBIBYTE;
use quiescent_report::text::{Table, cases};
use quiescent_report::{Control, Error, Report};
use std::path::PathBuf;

/// The case of the readers' rows.
pub const READ: &str = "read";
/// The case of the updater's rows.
pub const UPDATE: &str = "update";

/// Updates a second, by default.
pub const RATES: [u64; 3] = [1_000, 100_000, 1_000_000];
/// The most that there are of a config, whose making takes a tenth of a ms.
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

/// What to measure.
#[derive(Debug, Clone)]
pub struct MixedOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Rounds.
    pub rounds: u64,
    /// Updates a second, beside none and as many as possible.
    pub rates: Vec<u64>,
    /// How long a process measures at each rate, in ms.
    pub ms: u64,
    /// Threads that read, 1..=[`MOST_THREADS`].
    pub readers: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl MixedOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        MixedOptions {
            program,
            compare: false,
            rounds: 7,
            rates: RATES.to_vec(),
            ms: 100,
            readers: 1,
            seed: 1,
        }
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0 or too many readers, [`Error::Failed`] when a measuring process cannot be
/// started, dies or hangs.
pub fn run(options: &MixedOptions, control: Control<'_>) -> Result<Report, Error> {
    if options.rounds == 0 || options.ms == 0 {
        let text = "0 rounds or 0 ms measure nothing: give 3 rounds or more, 100 ms or more";
        return Err(Error::Usage(text.into()));
    }
    if !(1..=MOST_THREADS as u64).contains(&options.readers) {
        let text = format!("{} readers: give 1 to {MOST_THREADS}", options.readers);
        return Err(Error::Usage(text));
    }
    let subjects = deferral::selected(options.compare);
    let mut asks = Vec::new();
    for content in CONTENTS {
        for subject in subjects.iter().filter(|it| it.beside(content).is_some()) {
            let ask = MixedAsk {
                subject: subject.name.into(),
                content,
                readers: options.readers,
                rates: options.rates_of(content),
                ms: options.ms,
            };
            asks.push((subject.name, Ask::of(&ask)));
        }
    }
    let rounds = (options.rounds, options.seed);
    let samples = once::sampled(&options.program, "bench mixed", asks, rounds, control)?;
    let mut report = Report::new("bench mixed", options.seed);
    describe(&mut report, options);
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
    report.rows = samples.rows(&names, &options.cases());
    Ok(report)
}

/// What is read and replaced.
const CONTENTS: [Content; 2] = [Content::Block, Content::Config];

impl MixedOptions {
    fn rates_of(&self, content: Content) -> Vec<u64> {
        let mut rates = self.rates.clone();
        if content == Content::Config {
            rates.retain(|rate| *rate <= MOST_OF_CONFIG);
        }
        rates
    }

    /// The cases in order: full speed first, whose rows are the oldest.
    fn cases(&self) -> Vec<String> {
        let mut cases = Vec::new();
        for content in CONTENTS {
            for case in [READ, UPDATE] {
                let slow = [0].into_iter().chain(self.rates_of(content));
                let rates = [None].into_iter().chain(slow.map(Some));
                cases.extend(rates.map(|rate| case_name(case, content, rate, self.readers)));
            }
        }
        cases
    }
}

fn describe(report: &mut Report, options: &MixedOptions) {
    report.option("compare", options.compare);
    report.option("rounds", options.rounds);
    report.option("rates", options.rates.clone());
    report.option("ms", options.ms);
    report.option("readers", options.readers);
    report.option(
        "method",
        "a fresh process a subject, content and round, in turn, order rotated; in it no updates, then each \
         rate, then as many updates as possible; read: thread CPU of lock, load, read, unlock, the loop \
         included; cpu_ns_ratio: of the read without updates in the same process; update: make, replace, \
         retire the old, CPU of all threads but the readers, the final barrier included; ahead of its rate \
         an updater spins, or sleeps when the next update is 200 us away; config: a HashMap<String, String> \
         of 1000 entries, one look-up a read; rates by the wall clock",
    );
    deferral::note(report, options.compare);
}

/// Whether this is a case of reads, or of updates, with any content, rate and number of readers.
pub fn is_of(case: &str, name: &str) -> bool {
    let rest = name.strip_prefix(case);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The report as text.
pub fn text(report: &Report) -> String {
    const READS: &str = "CPU ns a read, the loop included";
    let config = |name: &str| name.contains(Content::Config.name());
    let of = |case: &'static str, configs: bool| {
        move |name: &str| is_of(case, name) && config(name) == configs
    };
    let mut text =
        String::from("Reads beside updates: median [min..max] over rounds, a process each\n");
    let mut add = |title: &str, table: Table| text += &table.titled(title);
    for configs in [false, true] {
        let what = if configs {
            "; a config of 1000 settings"
        } else {
            ""
        };
        let (read, update) = (|| of(READ, configs), || of(UPDATE, configs));
        add(
            &format!("{READS}, by the updates a second (first: as many as possible){what}"),
            cases::of_cases(report, "cpu_ns", 1.0, read()),
        );
        add(
            &format!("Times the read without updates{what}"),
            cases::of_cases(report, "cpu_ns_ratio", 1.0, read()),
        );
        add(
            &format!("CPU ns an update, of all other threads{what}"),
            cases::of_cases(report, "cpu_ns", 1.0, update()),
        );
        add(
            &format!("Thousand updates a second, by the wall clock{what}"),
            cases::of_cases(report, "ops_per_s", 1e3, update()),
        );
        add(
            &format!("Million reads a second, by the wall clock{what}"),
            cases::of_cases(report, "ops_per_s", 1e6, read()),
        );
        add(
            &format!("Share of the time in process-wide fences, %{what}"),
            cases::of_cases(report, "fence_time_percent", 1.0, update()),
        );
        add(
            &format!("Peak memory of the process, MiB{what}"),
            cases::of_cases(report, "peak_rss_bytes", MEBIBYTE, update()),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture::nonsense;
    use quiescent_report::Row;

    #[test]
    fn nothing_to_do_is_a_usage_error() {
        for (rounds, ms, readers) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1 << 40)] {
            let options = MixedOptions {
                rounds,
                ms,
                readers,
                ..MixedOptions::new("true".into())
            };
            nonsense(|control| run(&options, control));
        }
    }

    #[test]
    fn cases_are_named_by_content_rate_and_readers() {
        let name = |content, rate, readers| case_name(READ, content, rate, readers);
        assert_eq!(name(Content::Block, None, 1), "read");
        assert_eq!(name(Content::Block, Some(0), 2), "read 0/s 2r");
        assert_eq!(name(Content::Config, Some(1_000), 1), "read config 1k/s");
        let cases = MixedOptions::new("true".into()).cases();
        assert!(cases.contains(&"update 1000k/s".into()), "{cases:?}");
        assert!(!cases.contains(&"read config 100k/s".into()), "too many");
    }

    #[test]
    fn tables_have_these_cases_only() {
        let mut report = Report::new("bench mixed", 1);
        for (case, value) in [
            ("read 2r", 1.5),
            ("update 2r", 70.0),
            ("reader looping", 9.9),
        ] {
            report
                .rows
                .extend(Row::single("ck", case, "cpu_ns", "ns", value));
        }
        let text = text(&report);
        assert!(text.contains("1.50") && text.contains("70.0"), "{text}");
        assert!(!text.contains("9.9") && !text.contains("memory"), "{text}");
    }
}
