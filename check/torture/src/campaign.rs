//! Scenarios one after the other, each in a process: settings of the library last for the life of a process,
//! and a run that crashes is a finding and does not end the campaign.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use quiescent_report::Error;
use quiescent_report::Report;

use crate::book::kept::Kept;
use crate::child::{Message, Request};
use crate::report::EVENTS;
use crate::scenario::Scenario;

/// No run is shorter, except the last or the only one.
const SHORTEST: Duration = Duration::from_secs(2);
/// No run is longer, so that every scenario gets a turn.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a run may take beyond its duration, in addition to several times its patience.
const GRACE: Duration = Duration::from_secs(60);

/// A campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The program that calls [`serve`](crate::child::serve) with its argument.
    pub program: PathBuf,
    /// The scenarios, run in turn.
    pub scenarios: Vec<Scenario>,
    /// The duration of the whole campaign.
    pub duration: Duration,
    /// The options of each run, except for its name, its duration, and its seed: the first run has this seed,
    /// each further one the next number.
    pub request: Request,
}

/// Progress of the campaign.
#[derive(Debug)]
pub enum CampaignEvent<'a> {
    /// A run begins.
    Begin(&'a Request),
    /// So much of the campaign's time has passed.
    Tick(Duration),
    /// Progress of the run.
    Line(&'a Request, &'a str),
    /// It has ended.
    End(&'a Run),
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// The options of the run.
    pub request: Request,
    /// Its duration, with start and end of the process.
    pub elapsed: Duration,
    /// Its end.
    pub end: End,
    /// The last events, if the run made no report.
    pub last: Vec<String>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub enum End {
    /// The run made a report.
    Report(Box<Report>),
    /// The run made none: it crashed, or its process did not end.
    Died(String),
}

impl Run {
    /// The findings, one a line.
    pub fn findings(&self) -> Vec<String> {
        match &self.end {
            End::Report(report) => words(report, "findings"),
            End::Died(why) => vec![why.clone()],
        }
    }

    /// The last events before the finding.
    pub fn events(&self) -> Vec<String> {
        match &self.end {
            End::Report(report) => words(report, "events"),
            End::Died(_) => self.last.clone(),
        }
    }

    /// An option of the report, if its value is a text.
    pub fn text(&self, name: &str) -> &str {
        match &self.end {
            End::Report(report) => report.options.get(name).and_then(|it| it.as_str()),
            End::Died(_) => None,
        }
        .unwrap_or_default()
    }

    /// Did the run find nothing?
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
    /// The number of scenarios that a campaign of this duration reaches, at most: none runs for less than two
    /// seconds.
    pub fn reach(&self) -> usize {
        let shortest = SHORTEST.as_secs_f64();
        let most = (self.duration.as_secs_f64() / shortest).round();
        (most as usize).clamp(1, self.scenarios.len().max(1))
    }

    /// Runs the whole campaign, or until something is found, or until `stop`.
    ///
    /// # Errors
    /// If a process cannot be started, or the library refuses its settings.
    pub fn run(
        &self,
        stop: &AtomicBool,
        mut tell: impl FnMut(CampaignEvent<'_>),
    ) -> Result<Vec<Run>, Error> {
        let start = Instant::now();
        let mut runs = Vec::new();
        for (turn, scenario) in (0u64..).zip(self.scenarios.iter().cycle()) {
            let left = self.duration.saturating_sub(start.elapsed());
            if turn > 0 && (left < SHORTEST / 2 || stop.load(Ordering::Relaxed)) {
                break;
            }
            let request = Request {
                scenario: scenario.name.clone(),
                text: scenario.text.clone(),
                seed: self.request.seed.wrapping_add(turn),
                duration: match turn {
                    0 => slice(self.duration, self.scenarios.len(), turn),
                    _ => slice(left, self.scenarios.len(), turn),
                },
                ..self.request.clone()
            };
            tell(CampaignEvent::Begin(&request));
            let run = self.one(request, stop, |event| match event {
                CampaignEvent::Tick(_) => tell(CampaignEvent::Tick(start.elapsed())),
                event => tell(event),
            })?;
            tell(CampaignEvent::End(&run));
            let good = run.is_good();
            runs.push(run);
            if !good {
                break; // a finding ends the campaign
            }
        }
        Ok(runs)
    }

    fn one(
        &self,
        request: Request,
        stop: &AtomicBool,
        mut tell: impl FnMut(CampaignEvent<'_>),
    ) -> Result<Run, Error> {
        let start = Instant::now();
        let mut kept = Kept::new().ok(); // without it, a crash has no last events
        let request = Request {
            events: kept.as_ref().map(Kept::number),
            ..request.clone()
        };
        let json = serde_json::to_string(&request).expect("numbers and words always serialise");
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
        let end = start + request.duration + 4 * request.patience + GRACE;
        let mut report = None;
        let mut killed = false;
        loop {
            match said.recv_timeout(Duration::from_millis(100)) {
                Ok(Message::Line(line)) => tell(CampaignEvent::Line(&request, &line)),
                Ok(Message::Report(text)) => report = Some(Report::from_json(&text)?),
                Ok(Message::Failed(why)) => return Err(Error::Usage(why)),
                Err(RecvTimeoutError::Timeout) => tell(CampaignEvent::Tick(start.elapsed())),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.load(Ordering::Relaxed) {
                input = None; // the run stops
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
            request,
            elapsed: start.elapsed(),
            last: match (&end, &mut kept) {
                (End::Died(_), Some(kept)) => kept.last(EVENTS),
                _ => Vec::new(),
            },
            end,
        })
    }
}

/// Reads the lines that the process prints, until it ends.
fn listen(child: &mut Child) -> Receiver<Message> {
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

/// The duration of a run: an equal share of the time left for all runs of this round that are left. (Starts
/// and ends of runs take extra time.)
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
