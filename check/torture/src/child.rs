//! The process of one run: its last argument has its options; it prints a line of JSON for each interval and
//! one at the end, and stops when its standard input ends.
//!
//! It ignores Ctrl-C: the parent handles it, and closes the child's input. The end of the parent closes it,
//! too.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quiescent::FenceMode;
use serde::{Deserialize, Serialize};

use crate::options::{Broken, Options};
use crate::run;
use crate::scenario::Scenario;

/// What such a process is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The name of the scenario, or its path.
    pub scenario: String,
    /// The seed of this run.
    pub seed: u64,
    /// How long it goes on.
    pub duration: Duration,
    /// How often it says how it goes.
    pub interval: Duration,
    /// What is a hang.
    pub patience: Duration,
    /// In place of the scenario's fence mode.
    pub fence: Option<Fence>,
    /// In place of the scenario's readers and writers, so many of both together.
    pub threads: Option<usize>,
    /// The misuse.
    pub broken: Option<String>,
    /// The number of a file in memory for the last events.
    pub events: Option<i32>,
}

/// A fence mode that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fence {
    /// Whatever there is.
    Any,
    /// `membarrier(2)`, or nothing.
    Membarrier,
    /// Readers carry the fence.
    Fenced,
}

/// What it says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// How it goes.
    Line(String),
    /// What it has found: a report of the common shape.
    Report(String),
    /// Why it could not begin.
    Failed(String),
}

impl Ask {
    /// The run.
    fn options(&self) -> Result<Options, String> {
        let scenario = Scenario::named(&self.scenario).map_err(|why| why.to_string())?;
        let mut options = scenario.options();
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
            let broken = Broken::named(name);
            options.broken = Some(broken.ok_or_else(|| format!("`{name}`: no such misuse"))?);
        }
        Ok(options)
    }
}

/// Does what it is asked; the exit code.
pub fn serve(ask: &str) -> u8 {
    // SAFETY: ignoring a signal has no handler that could go wrong.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        _ = std::io::stdin().read_to_end(&mut rest); // an error is an end as well
        told.store(true, Ordering::Relaxed);
    });
    let asked = serde_json::from_str::<Ask>(ask).map_err(|why| why.to_string());
    let ran = asked.and_then(|ask| ask.options()).and_then(|options| {
        let ran = run(&options, |moment| {
            if let Some(line) = moment.line {
                say(&Said::Line(line.to_owned()));
            }
            !stop.load(Ordering::Relaxed)
        });
        ran.map_err(|why| why.to_string())
    });
    match ran {
        Ok(report) => {
            say(&Said::Report(report.shared().to_json()));
            u8::from(!report.is_good())
        }
        Err(why) => {
            say(&Said::Failed(why));
            2
        }
    }
}

fn say(said: &Said) {
    if let Ok(line) = serde_json::to_string(said) {
        let mut out = std::io::stdout().lock();
        // A parent that has gone away does not listen.
        _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}
