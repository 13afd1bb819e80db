//! A running process as a source.
//!
//! The page is searched again at each reading: a program may begin to count later, or execute another
//! program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quiescent_live::telemetry;

use crate::sample::{Function, Holdout, Sample, Source, Subject, Thread};

/// Threads that are read, at most.
const MOST_THREADS: usize = 512;

/// A running process.
#[derive(Clone, Debug)]
pub struct Process {
    pid: u32,
    name: String,
    /// When it was started, as `/proc` has it.
    started: Option<u64>,
}

impl Process {
    /// The process of this number.
    pub fn new(pid: u32) -> Process {
        let name = comm(&format!("/proc/{pid}")).unwrap_or_default();
        let started = started(pid);
        Process { pid, name, started }
    }

    /// Its threads, up to the limit, and the number of further ones.
    fn threads(&self) -> (Vec<Thread>, usize) {
        let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", self.pid)) else {
            return (Vec::new(), 0);
        };
        let mut tasks = tasks.flatten().map(|task| task.path());
        let threads = tasks.by_ref().take(MOST_THREADS);
        let threads = threads.filter_map(thread).collect();
        (threads, tasks.count())
    }

    fn holdout(&self, (thread, nesting): (u32, u32)) -> Holdout {
        let task = format!("/proc/{}/task/{thread}", self.pid);
        let name = match thread {
            0 => Some("(threads without a slot)".to_owned()),
            _ => comm(&task),
        };
        Holdout::Thread {
            id: thread,
            name,
            nesting,
        }
    }
}

impl Source for Process {
    fn about(&self) -> String {
        format!("process {} ({}), counted exactly", self.pid, self.name)
    }

    fn read(&mut self) -> io::Result<Sample> {
        let snapshot = telemetry::Source::of(self.pid)?.read()?;
        if started(self.pid) != self.started {
            let why = format!(
                "process {} has ended, and another one has its number",
                self.pid
            );
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let (threads, more_threads) = self.threads();
        let holdouts = snapshot.holdouts.iter();
        Ok(Sample {
            subject: Subject::Process,
            at: Instant::now(),
            holdouts: holdouts.map(|&it| self.holdout(it)).collect(),
            functions: snapshot.functions.into_iter().map(Function::from).collect(),
            counters: snapshot.counters,
            threads,
            more_threads,
        })
    }
}

/// A file of the kernel as text. Names of threads are arbitrary bytes: they may be cut inside a character,
/// and they are printed on a terminal.
fn said(path: impl AsRef<Path>) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let is_odd = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    Some(text.replace(is_odd, "?"))
}

/// A name, as the kernel has it.
fn comm(folder: &str) -> Option<String> {
    Some(said(format!("{folder}/comm"))?.trim_end().to_owned())
}

/// When a process was started, in clock ticks since the boot: with the number it names one process.
fn started(pid: u32) -> Option<u64> {
    let stat = said(format!("/proc/{pid}/stat"))?;
    // The name is in brackets, and may have some itself.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// The line of `/proc` about a thread; none if it has ended meanwhile.
pub(crate) fn thread(task: PathBuf) -> Option<Thread> {
    let id = task.file_name()?.to_str()?.parse().ok()?;
    let status = said(task.join("status"))?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let sleeps = field("voluntary_ctxt_switches:")?.trim().parse().ok()?;
    // Time on a processor, time waiting for one, turns.
    let times = said(task.join("schedstat")).unwrap_or_default();
    let cpu_ns = times.split(' ').next().and_then(|it| it.parse().ok());
    Some(Thread {
        id,
        name: field("Name:")?.trim().to_owned(),
        sleeps,
        cpu_ns: cpu_ns.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;
    use std::sync::Mutex;

    /// Held by each test that retires something: others count what this process holds.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn this_process_is_read() {
        let _alone = ALONE.lock().unwrap();
        quiescent::telemetry::start().expect("a page");
        let mut source = Process::new(std::process::id());
        assert!(source.about().contains("counted exactly"));
        quiescent::defer(|| ());
        quiescent::barrier();
        // The worker publishes its counters before it sleeps.
        let mut looks = (0..10_000).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            source.read().expect("it counts")
        });
        let has_counted = |sample: &Sample| {
            let mut counters = sample.counters.iter();
            counters.any(|it| it.0 == "barriers" && it.1 > 0)
        };
        let sample = looks.find(has_counted).expect("the page shows it in time");
        assert!(sample.functions.iter().any(|it| it.executed > 0));
        let worker = sample.threads.iter().find(|it| it.name == "quiescent");
        assert!(worker.is_some_and(|it| it.sleeps > 0), "{sample:?}");
    }

    #[test]
    fn what_is_held_is_what_the_budget_counts() {
        let _alone = ALONE.lock().unwrap();
        quiescent::telemetry::start().expect("a page");
        let mut source = Process::new(std::process::id());
        let before = source.read().expect("it counts");
        // A reader keeps all of it in the queues.
        let guard = quiescent::read_lock();
        let domain: quiescent::Domain = quiescent::Domain::new();
        let cell = quiescent::RcuCell::new([0_u64; 10]);
        for _ in 0..500 {
            cell.store([0; 10]).with_owned_bytes(5000).retire();
            quiescent::defer(|| ());
        }
        domain.defer(|| ());
        quiescent::defer_hurry(|| ()); // with it all entries of this thread's queue are counted
        let counted = quiescent::statistics();
        let interval = Interval::between(&before, &source.read().expect("it counts"));
        let (own, _) = interval.held_beside_budget();
        drop(guard);
        assert!(own.bytes > 500 * 5000, "{own:?}");
        assert_eq!(
            (own.count, own.bytes),
            (counted.queued, counted.queued_bytes)
        );
    }

    /// Figures of two processes are not subtracted from each other.
    #[test]
    fn another_process_of_the_same_number_is_not_read() {
        quiescent::telemetry::start().expect("a page");
        let mut source = Process::new(std::process::id());
        assert!(source.started.is_some_and(|it| it > 0));
        source.read().expect("it is the same");
        source.started = source.started.map(|it| it - 1);
        let why = source.read().expect_err("it was started later").to_string();
        assert!(why.contains("another one has its number"), "{why}");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let why = Process::new(u32::MAX).read().expect_err("no such process");
        assert!(why.to_string().contains("no process 4294967295"), "{why}");
    }
}
