//! How the parent talks to its measuring processes: a line of JSON each way, strictly in turn.
//!
//! A process answers `ready` by itself, then one line for each line it is asked, and ends when its input
//! does: after a parent that dies no process remains. An answer that does not come in time is an error that
//! names the subject (a library may hang), never an unlimited wait.

use super::{SyncCase, SyncOptions};
use crate::subjects::Counters;
use quiescent_report::Error;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest an answer may take beyond the requested time.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a measuring process is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Wait for up to `calls` grace periods, for `budget_ms` at most.
    Round {
        /// Calls.
        calls: u64,
        /// Milliseconds.
        budget_ms: u64,
    },
    /// Do nothing for so long.
    Idle {
        /// Milliseconds.
        ms: u64,
    },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Set up; `threads` is the number of threads in the process.
    Ready {
        /// Threads.
        threads: u64,
    },
    /// A round.
    Round {
        /// The calls that count.
        latencies_ns: Vec<u64>,
        /// Fences in all of them, when they are being counted.
        fences: Option<u64>,
    },
    /// The subject's counters before and after doing nothing.
    Idle {
        /// Before.
        before: Counters,
        /// After.
        after: Counters,
        /// Threads of the process at the end.
        threads: u64,
    },
    /// It cannot be done.
    Failed {
        /// The reason and the remedy.
        why: String,
    },
}

/// A measuring process.
#[derive(Debug)]
pub struct Child {
    name: String,
    process: std::process::Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Child {
    /// Starts `program internal sync-child` for a subject and case, and waits until it is ready.
    ///
    /// # Errors
    /// [`Error::Failed`] when it cannot be started or is not what it should be: another number of threads,
    /// for one.
    pub fn start(
        options: &SyncOptions,
        subject: &str,
        case: SyncCase,
        count_fences: bool,
    ) -> Result<Self, Error> {
        let program = &options.program;
        let name = format!("measuring process for {subject}, {}", case.name());
        let mut command = Command::new(program);
        command
            .args(["internal", "sync-child", "--subject", subject, "--case"])
            .arg(case.name())
            .args(["--threads", &options.threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if count_fences {
            command.arg("--count-fences");
        }
        let mut process = command.spawn().map_err(|why| {
            let remedy = "is the program still there, and is there room for a process (ulimit -u)?";
            Error::failed(format!("{name} ({})", program.display()), why, remedy)
        })?;
        let asks = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("stdout was piped"));
        let mut child = Child {
            name,
            process,
            asks,
            answers,
        };
        let expected = match case {
            SyncCase::SoleThread => 1,
            SyncCase::OtherAsleep | SyncCase::ReaderLooping => 1 + options.threads as u64,
        };
        match child.answer(PATIENCE)? {
            Answer::Ready { threads } if threads == expected => Ok(child),
            Answer::Ready { threads } => {
                let why = format!("it has {threads} threads where the case wants {expected}");
                Err(Error::failed(&child.name, why, "some library started one"))
            }
            other => Err(child.confused(&other)),
        }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`Error::Failed`] when the process died, hangs, or says that it failed.
    pub fn ask(&mut self, ask: &Ask) -> Result<Answer, Error> {
        let line = serde_json::to_string(ask).expect("numbers always serialise") + "\n";
        let (Ask::Round { budget_ms: ms, .. } | Ask::Idle { ms }) = ask;
        let sent = self
            .asks
            .as_mut()
            .map(|asks| asks.write_all(line.as_bytes()));
        match sent {
            Some(Ok(())) => self.answer(PATIENCE + Duration::from_millis(*ms)),
            Some(Err(why)) => Err(self.failed(why)),
            None => Err(self.failed("it has no input")),
        }
    }

    /// The error for an answer that does not fit the question.
    pub fn confused(&self, answer: &Answer) -> Error {
        match answer {
            Answer::Failed { why } => Error::Failed(format!("{}: {why}", self.name)),
            other => self.failed(format!("unexpected answer {other:?}")),
        }
    }

    fn answer(&mut self, patience: Duration) -> Result<Answer, Error> {
        if self.answers.buffer().is_empty() {
            self.wait_readable(patience)?;
        }
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(self.failed("it ended early")),
            Ok(_) => serde_json::from_str(&line).map_err(|why| self.failed(why)),
            Err(why) => Err(self.failed(why)),
        }
    }

    fn wait_readable(&self, patience: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut poll = libc::pollfd {
                fd: self.answers.get_ref().as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: `poll` is one valid pollfd, and the count says one.
            let ready = unsafe { libc::poll(&mut poll, 1, left.as_millis() as i32) };
            match ready {
                0 => {
                    let why = format!("no answer for {} s: it hangs", patience.as_secs());
                    return Err(self.failed(why));
                }
                1.. => return Ok(()),
                _ => {
                    let why = std::io::Error::last_os_error();
                    if why.kind() != std::io::ErrorKind::Interrupted {
                        return Err(self.failed(why));
                    }
                }
            }
        }
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        Error::failed(&self.name, why, "what it printed is above, if anything")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.asks.take());
        // It holds nothing worth keeping, and might hang; both calls fail only when it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_there_and_back() {
        let ask = Ask::Round {
            calls: 7,
            budget_ms: 9,
        };
        let text = serde_json::to_string(&ask).unwrap();
        assert_eq!(text, r#"{"round":{"calls":7,"budget_ms":9}}"#);
        assert_eq!(serde_json::from_str::<Ask>(&text).unwrap(), ask);
        let answer = Answer::Round {
            latencies_ns: vec![1, 2],
            fences: None,
        };
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
    }

    fn start(program: &str) -> Error {
        let options = SyncOptions::new(program.into());
        Child::start(&options, "ck", SyncCase::SoleThread, false).unwrap_err()
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = start("/nowhere/quiescent").to_string();
        assert!(error.contains("/nowhere/quiescent"), "{error}");
    }

    #[test]
    fn a_program_that_ends_early_is_an_error() {
        let error = start("true").to_string();
        assert!(error.contains("ended early"), "{error}");
    }
}
