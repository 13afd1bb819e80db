//! The process of one run: its last argument has its options; it prints a line of JSON for each interval and
//! one at the end, and stops when its standard input ends.
//!
//! It ignores Ctrl-C: the parent handles it and closes the child's input. The end of the parent closes the
//! input, too.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quiescent::FenceMode;
use serde::{Deserialize, Serialize};

use crate::book::options::{Broken, Options};
use crate::run;
use crate::scenario::Scenario;

/// The options of such a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The name of the scenario, or its path.
    pub scenario: String,
    /// The text of its file, if it is in one.
    pub text: Option<String>,
    /// The seed of this run.
    pub seed: u64,
    /// The duration of the run.
    pub duration: Duration,
    /// The interval of its progress lines.
    pub interval: Duration,
    /// Without progress for so long, a thread hangs.
    pub patience: Duration,
    /// A fence mode in place of the scenario's.
    pub fence: Option<Fence>,
    /// The number of readers and writers together, in place of the scenario's.
    pub threads: Option<usize>,
    /// A misuse of the library.
    pub broken: Option<String>,
    /// The number of a file in memory for the last events.
    pub events: Option<i32>,
}

/// A fence mode as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Fence {
    /// The library chooses.
    Any,
    /// `membarrier(2)`; an error if there is none.
    Membarrier,
    /// Readers carry the fence.
    Fenced,
}

/// A line that the process prints.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Progress.
    Line(String),
    /// The results, as a report of the common form.
    Report(String),
    /// The reason why the run could not begin.
    Failed(String),
}

impl Request {
    /// The run.
    ///
    /// # Errors
    /// If there is no such scenario, or it has an error.
    pub fn options(&self) -> Result<Options, String> {
        let scenario = match &self.text {
            Some(text) => Scenario::read(&self.scenario, &self.scenario, text),
            None => Scenario::named(&self.scenario),
        };
        let scenario = scenario.map_err(|why| why.to_string())?;
        self.apply(scenario.options())
    }

    /// The run of a scenario with these options.
    ///
    /// # Errors
    /// If there is no such misuse.
    pub fn apply(&self, mut options: Options) -> Result<Options, String> {
        options.seed = self.seed;
        options.duration = self.duration;
        options.interval = self.interval;
        options.patience = self.patience;
        options.events = self.events;
        match self.fence {
            None => {}
            Some(Fence::Any) => options.library.fence = None,
            Some(Fence::Membarrier) => options.library.fence = Some(FenceMode::Membarrier),
            Some(Fence::Fenced) => options.library.fence = Some(FenceMode::Fenced),
        }
        if let Some(threads) = self.threads {
            options.cast.share(threads);
        }
        if let Some(name) = &self.broken {
            options.broken = Some(Broken::named(name)?);
        }
        Ok(options)
    }
}

/// Runs with these options; returns the exit code.
pub fn serve(request: &str) -> u8 {
    // SAFETY: ignoring a signal has no handler that could go wrong.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = stop.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        _ = std::io::stdin().read_to_end(&mut rest); // an error counts as the end
        stopping.store(true, Ordering::Relaxed);
    });
    let asked = serde_json::from_str::<Request>(request).map_err(|why| why.to_string());
    let ran = asked
        .and_then(|request| request.options())
        .and_then(|options| {
            let ran = run(&options, |moment| {
                if let Some(line) = moment.line {
                    send(&Message::Line(line.to_owned()));
                }
                !stop.load(Ordering::Relaxed)
            });
            ran.map_err(|why| why.to_string())
        });
    match ran {
        Ok(report) => {
            send(&Message::Report(report.shared().to_json()));
            u8::from(!report.is_good())
        }
        Err(why) => {
            send(&Message::Failed(why));
            2
        }
    }
}

fn send(message: &Message) {
    if let Ok(line) = serde_json::to_string(message) {
        let mut out = std::io::stdout().lock();
        // A parent that has ended reads nothing more.
        _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}
