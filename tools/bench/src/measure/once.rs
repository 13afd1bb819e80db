//! Processes that measure once: they get a question ([`Ask`]) as an argument, print one line of JSON, and
//! end.
//!
//! There is a fresh process for each subject, case and round, because peak memory is a property of a whole
//! process, and because a library's worker thread and an allocator's pools must not be inherited from the
//! case before. The parent waits in short steps, so Ctrl-C takes effect at once: the running process is
//! ended, and its figures are not used.

use quiescent_report::rows::Figure;
use quiescent_report::{Control, Error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A question to a measuring process: one case of one subject, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// `bench NAME`.
    pub bench: String,
    /// Who.
    pub subject: String,
    /// What: a name that the measurement knows; most are those of reports.
    pub case: String,
    /// The values of its settings, and what else it needs, by name.
    pub numbers: BTreeMap<String, Vec<u64>>,
}

impl Ask {
    /// A number.
    ///
    /// # Panics
    /// When the question has none of this name.
    pub fn of(&self, name: &str) -> u64 {
        self.all(name)[0]
    }

    /// All numbers of this name.
    ///
    /// # Panics
    /// As [`Ask::of`].
    pub fn all(&self, name: &str) -> &[u64] {
        let found = self.numbers.get(name).filter(|it| !it.is_empty());
        found.unwrap_or_else(|| panic!("a question to `bench {}` needs {name}", self.bench))
    }

    /// A number of milliseconds.
    pub(crate) fn ms(&self, name: &str) -> Duration {
        Duration::from_millis(self.of(name))
    }

    /// The arguments that ask it.
    fn arguments(&self) -> Vec<String> {
        let json = serde_json::to_string(self).expect("numbers and words always serialise");
        let words = WORDS.into_iter().map(String::from);
        words.chain([json]).collect()
    }
}

/// The words before it. The command line looks for them before anything else: a parser of options would weigh
/// as much as what is measured ([`crate::measure::process::peak_rss_bytes`]).
pub const WORDS: [&str; 2] = ["internal", "measure"];

/// Added to the patience of every question: what starting and ending a process may take.
const SPARE: Duration = Duration::from_secs(30);

/// What such a process says: its figures, or the reason why there are none and the remedy.
pub type Said = Result<Vec<Figure>, String>;

/// How often the parent looks whether it was stopped. It sleeps in between, since what runs is being
/// measured.
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
    pub fn start(program: &Path, ask: &Ask, patience: Duration) -> Result<Self, Error> {
        let arguments = ask.arguments();
        Self::launch(program, &arguments, &arguments[2], patience + SPARE)
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
        let output = self.process.stdout.take().expect("stdout was piped");
        let answer = read_to_end(output);
        let said = loop {
            if control.stopped() {
                return Ok(None);
            }
            if Instant::now() >= self.deadline {
                return Err(self.failed("no answer in time: it hangs, or the machine is busy"));
            }
            match answer.recv_timeout(STEP) {
                Ok(said) => break said.map_err(|why| self.failed(why))?,
                Err(RecvTimeoutError::Timeout) => control.progress.advance(0),
                Err(why) => return Err(self.failed(why)),
            }
        };
        let status = self.process.wait().map_err(|why| self.failed(why))?;
        let said = String::from_utf8_lossy(&said);
        match serde_json::from_str::<Said>(&said) {
            Ok(Ok(figures)) => Ok(Some(figures)),
            Ok(Err(why)) => Err(Error::Failed(format!("{}: {why}", self.name))),
            Err(_) => Err(self.failed(format!("it ended ({status}) and said `{}`", said.trim()))),
        }
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        Error::failed(&self.name, why, "what it printed is above, if anything")
    }
}

/// Has processes measure at the same time, with so much patience each; `take` gets the place of each question
/// in `asks`, and its figures.
/// When stopped, the rest is left out.
///
/// # Errors
/// [`Error::Failed`] when a process cannot be started, dies or hangs.
pub fn together(
    program: &Path,
    asks: &[&Ask],
    patience: fn(&Ask) -> Duration,
    control: Control<'_>,
    mut take: impl FnMut(usize, Vec<Figure>),
) -> Result<(), Error> {
    if control.stopped() {
        return Ok(());
    }
    let start = |ask: &&Ask| Once::start(program, ask, patience(ask));
    let running = asks.iter().map(start);
    let running: Vec<Once> = running.collect::<Result<_, _>>()?;
    for (place, process) in running.into_iter().enumerate() {
        let Some(figures) = process.wait(control)? else {
            break;
        };
        take(place, figures);
        control.progress.advance(1);
    }
    Ok(())
}

/// All that it prints, from a thread that sleeps until it has ended.
fn read_to_end(mut output: ChildStdout) -> Receiver<std::io::Result<Vec<u8>>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let read = output.read_to_end(&mut said).map(|_| said);
        let _ = send.send(read); // unless the measurement was stopped
    });
    receive
}

impl Drop for Once {
    fn drop(&mut self) {
        // It holds nothing worth keeping; both calls fail only when it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How a question is answered.
pub type Answer = fn(&Ask) -> Said;

/// The other side: measures what the last argument asks, prints it, and gives the exit code. Ctrl-C is for
/// the parent, so it is ignored here.
pub fn serve(ask: &str, answer: Answer) -> u8 {
    #[cfg(unix)]
    // SAFETY: ignoring a signal touches no memory.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    let said = asked(ask, answer);
    let line = serde_json::to_string(&said).expect("numbers and words always serialise");
    // A parent that was interrupted does not read it.
    _ = std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{line}\n"));
    u8::from(said.is_err())
}

fn asked(ask: &str, answer: Answer) -> Said {
    let question = serde_json::from_str(ask);
    answer(&question.map_err(|why| format!("not a question: `{ask}` ({why})"))?)
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
        let said: Said = Ok(vec![Figure::new("push", "cpu_ns", "ns", 1.5)]);
        let script = format!("echo '{}'", serde_json::to_string(&said).unwrap());
        let figures = says(&script, LONG, false).unwrap().unwrap();
        assert_eq!(figures[0].value, 1.5);
    }

    #[test]
    fn every_other_end_is_an_error_that_names_it() {
        for (script, words) in [
            ("echo '{\"Err\":\"no room; make some\"}'", "make some"),
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
        let ask = Ask {
            bench: "mixed".into(),
            subject: "ck".into(),
            case: "twice".into(),
            numbers: BTreeMap::from([("n".into(), vec![7, 8])]),
        };
        let twice: Answer = |ask| {
            assert_eq!(ask.all("n"), [7, 8]);
            let twice = 2.0 * ask.of("n") as f64;
            Ok(vec![Figure::new(&ask.case, "number", "numbers", twice)])
        };
        let [first, second, text] = &ask.arguments()[..] else {
            panic!("three words");
        };
        assert_eq!([first.as_str(), second.as_str()], WORDS);
        assert_eq!(asked(text, twice).unwrap()[0].value, 14.0);
        for wrong in ["not JSON", "{}", r#"{"bench":"mixed"}"#] {
            let why = asked(wrong, twice).unwrap_err();
            assert!(
                why.contains("not a question") && why.contains(wrong),
                "{why}"
            );
            assert_eq!(serve(wrong, twice), 1);
        }
    }

    #[test]
    fn stopping_does_not_wait() {
        assert_eq!(says("sleep 60", LONG, true).unwrap(), None);
    }
}
