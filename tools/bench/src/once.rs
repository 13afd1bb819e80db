//! Processes that measure once: they are told what by their arguments, print one line of JSON, and end.
//!
//! A fresh process a subject, case and round, because peak memory is a fact about a whole process, and because a
//! library's worker thread and an allocator's pools must not be inherited from the case before. The parent waits in
//! short steps, so Ctrl-C takes effect at once: the process that is running is ended, its figures are not used.

use crate::barrier::BarrierAsk;
use crate::domain::child::DomainAsk;
use crate::flood::FloodAsk;
use crate::idle::IdleAsk;
use crate::mixed::child::MixedAsk;
use crate::pressure::child::PressureAsk;
use crate::retire::child::RetireAsk;
use crate::scale::child::ScaleAsk;
use crate::stall::StallAsk;
use crate::trickle::child::TrickleAsk;
use quiescent_report::rows::Figure;
use quiescent_report::{Control, Error};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What such a process is asked: the last of its arguments, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// One measurement of `bench retire`.
    Retire(RetireAsk),
    /// One measurement of `bench mixed`.
    Mixed(MixedAsk),
    /// One measurement of `bench scale`.
    Scale(ScaleAsk),
    /// One measurement of `bench trickle`.
    Trickle(TrickleAsk),
    /// One measurement of `bench idle`.
    Idle(IdleAsk),
    /// One measurement of `bench flood`.
    Flood(FloodAsk),
    /// One measurement of `bench stall`.
    Stall(StallAsk),
    /// One measurement of `bench barrier`.
    Barrier(BarrierAsk),
    /// One measurement of `bench pressure`.
    Pressure(PressureAsk),
    /// One measurement of `bench domain`.
    Domain(DomainAsk),
}

/// The words before it. The command line looks for them before anything else: a parser of options would weigh as much as
/// what is measured ([`crate::process::peak_rss_bytes`]).
pub const WORDS: [&str; 2] = ["internal", "measure"];

impl Ask {
    /// The arguments that ask it.
    fn arguments(&self) -> Vec<String> {
        let ask = serde_json::to_string(self).expect("numbers and words always serialise");
        WORDS.into_iter().map(String::from).chain([ask]).collect()
    }

    /// Who is to do what, for errors.
    fn name(&self) -> String {
        match self {
            Ask::Retire(ask) => format!("{}, {}", ask.subject, ask.case.name()),
            Ask::Mixed(ask) => format!("{}, reads beside updates", ask.subject),
            Ask::Scale(ask) => format!("{}, {} threads", ask.subject, ask.threads),
            Ask::Trickle(ask) => format!("{}, a trickle of {}", ask.subject, ask.case()),
            Ask::Idle(ask) => format!("{}, idle, {}", ask.subject, ask.case()),
            Ask::Flood(ask) => format!("{}, a flood of {}", ask.subject, ask.case()),
            Ask::Stall(ask) => format!("{}, {} behind a stalled reader", ask.subject, ask.verb),
            Ask::Barrier(ask) => format!("{}, barrier, {}", ask.subject, ask.case()),
            Ask::Pressure(ask) => format!("memory pressure, {} threads", ask.holders),
            Ask::Domain(ask) => ask.name(),
        }
    }

    /// The longest it may take: what a slow library on a busy machine takes, several times over.
    fn patience(&self) -> Duration {
        let asked = match self {
            Ask::Retire(ask) => {
                Duration::from_micros(10 * ask.objects) + Duration::from_millis(ask.rest_ms)
            }
            Ask::Mixed(ask) => Duration::from_millis(10 * ask.ms),
            Ask::Scale(ask) => {
                Duration::from_millis(20 * ask.threads) + Duration::from_millis(50 * ask.calls)
            }
            Ask::Trickle(ask) => Duration::from_millis(2 * ask.ms + 2 * ask.patience_ms),
            Ask::Idle(ask) => Duration::from_millis(2 * ask.ms),
            Ask::Flood(ask) => Duration::from_millis(20 * ask.ms),
            Ask::Stall(ask) => {
                Duration::from_millis(10 * ask.ms) + Duration::from_micros(20 * ask.objects)
            }
            Ask::Barrier(ask) => {
                Duration::from_micros(10 * ask.objects * ask.calls)
                    + Duration::from_millis(100 * ask.calls)
            }
            Ask::Pressure(_) => Duration::ZERO,
            Ask::Domain(ask) => ask.patience(),
        };
        asked + Duration::from_secs(30)
    }
}

/// What such a process says: its figures, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// What was measured.
    Figures(Vec<Figure>),
    /// The reason and the remedy.
    Failed(String),
}

/// How often the parent looks whether it was stopped. It sleeps in between, since what runs is being measured.
const STEP: Duration = Duration::from_millis(20);

/// A process that is measuring.
#[derive(Debug)]
pub struct Once {
    name: String,
    process: Child,
    deadline: Instant,
}

impl Once {
    /// Has `program` measure.
    ///
    /// # Errors
    /// [`Error::Failed`] when it cannot be started.
    pub fn start(program: &Path, ask: &Ask) -> Result<Self, Error> {
        Self::launch(program, &ask.arguments(), &ask.name(), ask.patience())
    }

    fn launch(
        program: &Path,
        arguments: &[String],
        what: &str,
        patience: Duration,
    ) -> Result<Self, Error> {
        let name = format!("measuring process for {what}");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let process = command.spawn().map_err(|why| {
            let remedy = "is the program still there, and is there room for a process (ulimit -u)?";
            Error::failed(format!("{name} ({})", program.display()), why, remedy)
        })?;
        Ok(Once {
            name,
            process,
            deadline: Instant::now() + patience,
        })
    }

    /// Waits for its end; `None` when stopped before.
    ///
    /// # Errors
    /// [`Error::Failed`] when it hangs, dies, or says that it failed.
    pub fn wait(mut self, control: Control<'_>) -> Result<Option<Vec<Figure>>, Error> {
        let mut output = self.process.stdout.take().expect("stdout was piped");
        let mut said = Vec::new();
        let mut some = [0; 4096];
        loop {
            if control.stopped() {
                return Ok(None);
            }
            if Instant::now() >= self.deadline {
                return Err(self.failed("no answer in time: it hangs, or the machine is busy"));
            }
            if !readable(&output, STEP).map_err(|why| self.failed(why))? {
                continue;
            }
            match output.read(&mut some) {
                Ok(0) => break,
                Ok(n) => said.extend_from_slice(&some[..n]),
                Err(why) => return Err(self.failed(why)),
            }
        }
        let status = self.process.wait().map_err(|why| self.failed(why))?;
        let said = String::from_utf8_lossy(&said);
        match serde_json::from_str(&said) {
            Ok(Said::Figures(figures)) => Ok(Some(figures)),
            Ok(Said::Failed(why)) => Err(Error::Failed(format!("{}: {why}", self.name))),
            Err(_) => Err(self.failed(format!("it ended ({status}) and said `{}`", said.trim()))),
        }
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        Error::failed(&self.name, why, "what it printed is above, if anything")
    }
}

/// Whether there is something to read, or the end, within this time.
fn readable(output: &ChildStdout, time: Duration) -> std::io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: output.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `poll` is one valid pollfd, and the count says one.
    let ready = unsafe { libc::poll(&mut poll, 1, time.as_millis() as i32) };
    match ready {
        0.. => Ok(ready > 0),
        _ => match std::io::Error::last_os_error() {
            why if why.kind() == std::io::ErrorKind::Interrupted => Ok(false),
            why => Err(why),
        },
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        // It holds nothing worth keeping; both calls fail only when it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The other side: measures what the last argument asks, prints it, and gives the exit code. Ctrl-C is for the parent, so
/// it is ignored here.
pub fn serve(ask: &str) -> u8 {
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let measured = match serde_json::from_str(ask) {
        Ok(Ask::Retire(ask)) => crate::retire::child::measure(&ask),
        Ok(Ask::Mixed(ask)) => crate::mixed::child::measure(&ask),
        Ok(Ask::Scale(ask)) => crate::scale::child::measure(&ask),
        Ok(Ask::Trickle(ask)) => crate::trickle::child::measure(&ask),
        Ok(Ask::Idle(ask)) => crate::idle::measure(&ask),
        Ok(Ask::Flood(ask)) => crate::flood::measure(&ask),
        Ok(Ask::Stall(ask)) => crate::stall::measure(&ask),
        Ok(Ask::Barrier(ask)) => crate::barrier::measure(&ask),
        Ok(Ask::Pressure(ask)) => crate::pressure::child::measure(&ask),
        Ok(Ask::Domain(ask)) => crate::domain::child::measure(&ask),
        Err(why) => Err(format!("not a question: `{ask}` ({why})")),
    };
    let said = match measured {
        Ok(figures) => Said::Figures(figures),
        Err(why) => Said::Failed(why),
    };
    let line = serde_json::to_string(&said).expect("numbers and words always serialise");
    println!("{line}");
    u8::from(matches!(said, Said::Failed(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Silent;
    use std::sync::atomic::AtomicBool;

    fn says(script: &str, patience: Duration, stop: bool) -> Result<Option<Vec<Figure>>, Error> {
        let stop = AtomicBool::new(stop);
        let arguments = ["-c".to_string(), script.to_string()];
        Once::launch("/bin/sh".as_ref(), &arguments, "a script", patience)?
            .wait(Control::new(&stop, &Silent))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn figures_come_back() {
        let said = Said::Figures(vec![Figure::new("push", "cpu_ns", "ns", 1.5)]);
        let script = format!("echo '{}'", serde_json::to_string(&said).unwrap());
        let figures = says(&script, LONG, false).unwrap().unwrap();
        assert_eq!(figures[0].value, 1.5);
    }

    #[test]
    fn every_other_end_is_an_error_that_names_it() {
        for (script, words) in [
            ("echo '{\"failed\":\"no room; make some\"}'", "make some"),
            ("exit 3", "exit status: 3"),
            ("echo nonsense", "nonsense"),
        ] {
            let error = says(script, LONG, false).unwrap_err().to_string();
            assert!(
                error.contains(words) && error.contains("a script"),
                "{error}"
            );
        }
        let error = says("sleep 60", Duration::ZERO, false).unwrap_err();
        assert!(error.to_string().contains("hangs"), "{error}");
        let missing = Once::launch("/nowhere/x".as_ref(), &[], "x", LONG).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/x"));
    }

    #[test]
    fn questions_there_and_back() {
        let ask = Ask::Retire(RetireAsk {
            subject: "ck".into(),
            case: crate::retire::RetireCase::AllIn(2),
            objects: 7,
            rest_ms: 1,
        });
        let [first, second, text] = &ask.arguments()[..] else {
            panic!("three words");
        };
        assert_eq!([first.as_str(), second.as_str()], WORDS);
        assert_eq!(serde_json::from_str::<Ask>(text).unwrap(), ask);
        assert_eq!(serve("not JSON"), 1);
    }

    #[test]
    fn stopping_does_not_wait() {
        assert_eq!(says("sleep 60", LONG, true).unwrap(), None);
    }
}
