//! Scenarios one after the other, a process each: settings of the library are for the life of a process, and
//! a run that crashes is a finding and does not end the campaign.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use quiescent_report::Error;
use quiescent_report::Report;

use crate::child::{Ask, Said};
use crate::kept::Kept;
use crate::report::EVENTS;
use crate::scenario::Scenario;

/// No run is shorter, but for the last, or the only one.
const SHORTEST: Duration = Duration::from_secs(2);
/// Nor longer: others want their turn.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a run may take beyond what it was told, and its patience several times.
const GRACE: Duration = Duration::from_secs(60);

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The program that [`serve`](crate::child::serve)s what is its argument.
    pub program: PathBuf,
    /// Which, by turns.
    pub scenarios: Vec<Scenario>,
    /// For how long, all together.
    pub duration: Duration,
    /// What each is asked, but for its name, its time, and its seed: the first has this one, each
    /// further one the next.
    pub ask: Ask,
}

/// What the campaign tells.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run begins.
    Begin(&'a Ask),
    /// So much of the campaign's time is over.
    Tick(Duration),
    /// How the run goes.
    Line(&'a Ask, &'a str),
    /// It has ended.
    End(&'a Run),
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it was asked.
    pub ask: Ask,
    /// How long it took, with its start and its end.
    pub elapsed: Duration,
    /// What it found.
    pub end: End,
    /// The last events, if it did not come to a report.
    pub last: Vec<String>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub enum End {
    /// It says so itself.
    Report(Box<Report>),
    /// It did not come to that: a crash, a process that did not end.
    Died(String),
}

impl Run {
    /// What was found, a line each.
    pub fn findings(&self) -> Vec<String> {
        match &self.end {
            End::Report(report) => words(report, "findings"),
            End::Died(why) => vec![why.clone()],
        }
    }

    /// The last events before that.
    pub fn events(&self) -> Vec<String> {
        match &self.end {
            End::Report(report) => words(report, "events"),
            End::Died(_) => self.last.clone(),
        }
    }

    /// An option of the report, if it is a text.
    pub fn text(&self, name: &str) -> &str {
        match &self.end {
            End::Report(report) => report.options.get(name).and_then(|it| it.as_str()),
            End::Died(_) => None,
        }
        .unwrap_or_default()
    }

    /// Is everything as it should be?
    pub fn is_good(&self) -> bool {
        self.findings().is_empty()
    }
}

fn words(report: &Report, option: &str) -> Vec<String> {
    let words = report.options.get(option).and_then(|it| it.as_array());
    let words = words.into_iter().flatten().filter_map(|it| it.as_str());
    words.map(str::to_owned).collect()
}

impl Campaign {
    /// Runs all of it, or until something is found, or until `stop`.
    ///
    /// # Errors
    /// A process cannot be started, or the library refuses what it is told.
    pub fn run(
        &self,
        stop: &AtomicBool,
        mut tell: impl FnMut(Event<'_>),
    ) -> Result<Vec<Run>, Error> {
        let start = Instant::now();
        let mut runs = Vec::new();
        for (turn, scenario) in (0u64..).zip(self.scenarios.iter().cycle()) {
            let left = self.duration.saturating_sub(start.elapsed());
            if turn > 0 && (left < SHORTEST / 2 || stop.load(Ordering::Relaxed)) {
                break;
            }
            let ask = Ask {
                scenario: scenario.name.clone(),
                seed: self.ask.seed.wrapping_add(turn),
                duration: match turn {
                    0 => slice(self.duration, self.scenarios.len(), turn),
                    _ => slice(left, self.scenarios.len(), turn),
                },
                ..self.ask.clone()
            };
            tell(Event::Begin(&ask));
            let run = self.one(ask, stop, |event| match event {
                Event::Tick(_) => tell(Event::Tick(start.elapsed())),
                event => tell(event),
            })?;
            tell(Event::End(&run));
            let good = run.is_good();
            runs.push(run);
            if !good {
                break; // what was found is to be looked at
            }
        }
        Ok(runs)
    }

    fn one(
        &self,
        ask: Ask,
        stop: &AtomicBool,
        mut tell: impl FnMut(Event<'_>),
    ) -> Result<Run, Error> {
        let start = Instant::now();
        let mut kept = Kept::new().ok(); // without, a crash has no last events
        let told = Ask {
            events: kept.as_ref().map(Kept::number),
            ..ask.clone()
        };
        let json = serde_json::to_string(&told).expect("numbers and words always serialise");
        let failed = |why| {
            let what = format!("cannot start {}", self.program.display());
            Error::failed(what, why, "is there memory, and room for a process?")
        };
        let mut child = Command::new(&self.program)
            .arg(json)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut input = child.stdin.take();
        let said = listen(&mut child);
        let end = start + ask.duration + 4 * ask.patience + GRACE;
        let mut report = None;
        let mut killed = false;
        loop {
            match said.recv_timeout(Duration::from_millis(100)) {
                Ok(Said::Line(line)) => tell(Event::Line(&ask, &line)),
                Ok(Said::Report(text)) => report = Some(Report::from_json(&text)?),
                Ok(Said::Failed(why)) => return Err(Error::Usage(why)),
                Err(RecvTimeoutError::Timeout) => tell(Event::Tick(start.elapsed())),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.load(Ordering::Relaxed) {
                input = None; // it stops
            }
            if Instant::now() > end && !killed {
                killed = child.kill().is_ok();
            }
        }
        drop(input);
        let status = child.wait().map_err(failed)?;
        let end = match (report, status.signal()) {
            (Some(report), None) => End::Report(Box::new(report)),
            (_, Some(_)) if killed => End::Died("the run did not end, and was killed".into()),
            (_, Some(signal)) => End::Died(format!("the run was ended by signal {signal}")),
            (None, None) => End::Died(format!("the run ended without a report: {status}")),
        };
        Ok(Run {
            ask,
            elapsed: start.elapsed(),
            last: match (&end, &mut kept) {
                (End::Died(_), Some(kept)) => kept.last(EVENTS),
                _ => Vec::new(),
            },
            end,
        })
    }
}

/// What the process says, until it says no more.
fn listen(child: &mut Child) -> Receiver<Said> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for said in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if sender.send(said).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// The time of a run: an equal share of what is left for all that have yet to come in this round. (Starts and
/// ends of runs take time of their own.)
fn slice(left: Duration, scenarios: usize, turn: u64) -> Duration {
    let to_come = scenarios as u64 - turn % scenarios as u64;
    match scenarios {
        1 => left,
        _ => (left / to_come as u32).clamp(SHORTEST, LONGEST).min(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shared() {
        let seconds = Duration::from_secs;
        assert_eq!(slice(seconds(60), 20, 0), seconds(3));
        assert_eq!(slice(seconds(30), 20, 10), seconds(3));
        assert_eq!(slice(seconds(8), 20, 19), seconds(8));
        assert_eq!(slice(seconds(3600), 20, 20), seconds(60));
        assert_eq!(slice(seconds(3600), 1, 7), seconds(3600));
        assert_eq!(slice(seconds(1), 20, 3), seconds(1));
        assert_eq!(slice(seconds(10), 20, 3), seconds(2));
    }
}
