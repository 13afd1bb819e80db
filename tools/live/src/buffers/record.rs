//! A trace of this kernel: ftrace text, as `quiescent trace` reads it.
//!
//! The instance (`instance`) is read while it records, so the length of a recording is limited only by the
//! space for it. Reading is timed, since a process that waits in `trace_pipe` is woken by the first event,
//! and its wake-up is an event again. The pause between two readings is as long as the buffer can take at the
//! last reading's rate: 5 ms to 1 s. The recorder appears in its own trace as the task `quiescent`; it is not
//! filtered out, because its wake-ups of idle CPUs would then have no visible cause.
//!
//! With a command, the marks that `quiescent trace` looks for stand around it (`WORKLOAD_START`,
//! `WORKLOAD_END`): what is outside is read and not counted.
//!
//! The command ends with the recorder, also when that is killed: the kernel kills it then. What the command
//! has started itself, and a command with rights of its own (set-user-ID), has to be ended by hand.
//!
//! Where the kernel lacks RCU's tracepoints, probes are placed for them (`probes`). The head of the trace
//! names each, and those that the kernel has refused.
//!
//! Lost events are reported: the kernel writes a line at the place, and counts them (`per_cpu/cpuN/stats`).

use crate::buffers::events;
use crate::buffers::instance::{Instance, Probed, drain};
use crate::buffers::lines::Lines;
use crate::buffers::probes::{self, Probe};
use crate::buffers::sorted::Sorted;
use crate::state::cpus::known_list;
use crate::state::files::Root;
use crate::state::machine::CPU;
use quiescent_report::Error;
use quiescent_trace::{END_MARK, START_MARK};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Bytes of text read at a time.
const BLOCK: usize = 256 * 1024;

/// Bytes of text read between two checks for the end.
const TURN: usize = 8 << 20;

/// The pause between two readings.
const LOOKS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// How long a command may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to record.
#[derive(Debug, Clone)]
pub struct Options {
    /// Events, as [`events::list`] gives them.
    pub events: Vec<String>,
    /// KiB of the buffer of each CPU.
    pub buffer_kb: u64,
    /// The length, at most.
    pub length: Option<Duration>,
    /// The command; empty: until the length is over, or it is stopped.
    pub command: Vec<OsString>,
    /// Standard output is for data: what the command prints there goes to standard error.
    pub aside: bool,
}

/// The result of a recording.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Events that were on, as `subsystem/name`.
    pub events: Vec<String>,
    /// Words for which this kernel has no event, and no function to probe.
    pub missing: Vec<String>,
    /// What was recorded by probes in place of events.
    pub probed: Probed,
    /// Lines that were written, without the heading.
    pub lines: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Events that were lost, or that a probe missed.
    pub lost: u64,
    /// What the kernel would not remove, as another process uses it: the buffer's folder, probes.
    pub left: Vec<String>,
    /// The length.
    pub length: Duration,
    /// How the command ended.
    pub status: Option<ExitStatus>,
}

/// Records until the command ends, the time is over, or `stop` becomes readable (a pipe that signal handlers
/// write to; nothing is read from it). A command that still runs is then ended.
///
/// # Errors
/// [`Error::Usage`]: there is no such command. [`Error::Failed`]: the kernel refuses, none of the events
/// exists, or the output cannot be written. The instance is removed in any case.
pub fn record(
    tracing: &Path,
    options: &Options,
    output: &mut dyn Write,
    stop: BorrowedFd<'_>,
) -> Result<Outcome, Error> {
    let (there, mut missing) = events::found(&tracing.join("events"), &options.events);
    let instance = Instance::new(tracing, probes::of(&missing))?;
    let probed = instance.probe();
    missing.retain(|word| {
        let of = probes::of([word]);
        let is_placed = |it: &&Probe| probed.placed.iter().any(|(event, _)| *event == it.event);
        !of.iter().any(is_placed)
    });
    if there.is_empty() && probed.placed.is_empty() {
        let why = "this kernel has none of them";
        let place = tracing.join("available_events");
        let remedy = format!("{} lists those there are", place.display());
        return Err(Error::failed(options.events.join(","), why, &remedy));
    }
    instance.write("buffer_size_kb", &options.buffer_kb.to_string())?;
    for event in &there {
        instance.write(&format!("events/{event}/enable"), "1")?;
    }
    let mut recording = Recording {
        output,
        lines: 0,
        bytes: 0,
        unread: false,
        whole: Lines::default(),
        sorted: Sorted::default(),
    };
    recording.heading(options, &probed)?;
    let begin = Instant::now();
    let status = recording.go(&instance, options, stop)?;
    let (lost, length) = (instance.lost(), begin.elapsed());
    Ok(Outcome {
        events: there,
        missing,
        probed,
        lines: recording.lines,
        bytes: recording.bytes,
        lost,
        left: instance.remove(),
        length,
        status,
    })
}

struct Recording<'a> {
    output: &'a mut dyn Write,
    lines: u64,
    bytes: u64,
    unread: bool,
    /// Text that was read, up to the end of its last record.
    whole: Lines,
    /// Lines that were read and may not be in order yet.
    sorted: Sorted,
}

impl Recording<'_> {
    /// The header, as a kernel begins a trace. The counts are not known yet; each loss is reported at its
    /// place.
    fn heading(&mut self, options: &Options, probed: &Probed) -> Result<(), Error> {
        let possible = known_list(&Root::here(), &format!("{CPU}/possible")).unwrap_or_default();
        let cpus = possible.last().map_or(1, |it| it + 1);
        let heading = format!(
            "# tracer: nop\n#\n# recorded by `quiescent record`, clock mono, {} KiB a CPU\n{}\
             # entries-in-buffer/entries-written: 0/0   #P:{cpus}\n#\n",
            options.buffer_kb,
            probed.heading()
        );
        self.put(heading.as_bytes()).map_err(unwritten)?;
        self.lines = 0;
        Ok(())
    }

    /// A reader that closes the output ends the recording without an error.
    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        match self.output.write_all(text) {
            Err(why) if why.kind() == ErrorKind::BrokenPipe => self.unread = true,
            Err(why) => return Err(why),
            Ok(()) => {}
        }
        self.bytes += text.len() as u64;
        self.lines += text.iter().filter(|it| **it == b'\n').count() as u64;
        Ok(())
    }

    /// Reads what there is, and writes what is in its final order. Returns the length; false: there is more.
    fn turn(&mut self, pipe: &mut File, block: &mut [u8]) -> Result<(usize, bool), Error> {
        let (whole, sorted) = (&mut self.whole, &mut self.sorted);
        let read = drain(pipe, block, TURN, |part| {
            sorted.push(&whole.push(part));
            Ok(())
        });
        let read = read.map_err(|why| {
            Error::failed(
                "the kernel's buffer cannot be read",
                why,
                "is tracefs still mounted?",
            )
        })?;
        let done = self.sorted.take(false);
        self.put(&done).map_err(unwritten)?;
        Ok(read)
    }

    /// From the first event to the last.
    fn go(
        &mut self,
        instance: &Instance,
        options: &Options,
        stop: BorrowedFd<'_>,
    ) -> Result<Option<ExitStatus>, Error> {
        let mut pipe = instance.pipe()?;
        let mut block = vec![0; BLOCK];
        let end = options.length.map(|it| Instant::now() + it);
        instance.write("tracing_on", "1")?;
        let mut workload = Workload::start(instance, options)?;
        let mut pause = Duration::from_millis(50);
        let room = options.buffer_kb.saturating_mul(512);
        loop {
            let left = end.map(|it| it.saturating_duration_since(Instant::now()));
            let is_asked = wait(
                stop,
                workload.running.as_ref(),
                left.unwrap_or(pause).min(pause),
            );
            let is_over = is_asked || self.unread || left.is_some_and(|it| it.is_zero());
            let (bytes, is_empty) = self.turn(&mut pipe, &mut block)?;
            if workload.has_ended()? || is_over {
                break;
            }
            let fit = pause.mul_f64((room as f64 / bytes.max(1) as f64).clamp(0.25, 2.0));
            pause = match is_empty {
                true => fit.clamp(LOOKS.0, LOOKS.1),
                false => Duration::ZERO,
            };
        }
        let status = workload.end(instance)?;
        instance.write("tracing_on", "0")?;
        while !self.unread {
            let (_, is_empty) = self.turn(&mut pipe, &mut block)?;
            if is_empty {
                break;
            }
        }
        self.sorted.push(&self.whole.end());
        let last = self.sorted.take(true);
        self.put(&last).map_err(unwritten)?;
        self.output.flush().or_else(|why| match why.kind() {
            ErrorKind::BrokenPipe => Ok(()),
            _ => Err(unwritten(why)),
        })?;
        Ok(status)
    }
}

fn unwritten(why: io::Error) -> Error {
    Error::failed("the trace cannot be written", why, "is the disk full?")
}

/// The command, between its marks. It does not outlive this value.
struct Workload {
    running: Option<Child>,
    status: Option<ExitStatus>,
}

impl Workload {
    fn start(instance: &Instance, options: &Options) -> Result<Workload, Error> {
        let mut none = Workload {
            running: None,
            status: None,
        };
        let Some((program, arguments)) = options.command.split_first() else {
            return Ok(none);
        };
        instance.write("trace_marker", START_MARK)?;
        let mut command = Command::new(program);
        // SAFETY: a system call that takes nothing.
        let recorder = unsafe { libc::getpid() };
        // SAFETY: between fork and exec it makes two system calls, and allocates nothing.
        unsafe { command.pre_exec(move || end_with(recorder)) };
        options.aside.then(|| command.stdout(io::stderr()));
        let started = command.args(arguments).spawn();
        none.running = Some(started.map_err(|why| {
            let program = program.to_string_lossy();
            Error::Usage(format!(
                "cannot start {program}: {why}; give a program and its arguments behind `--`"
            ))
        })?);
        Ok(none)
    }

    /// True once, when the command has ended.
    fn has_ended(&mut self) -> Result<bool, Error> {
        let Some(running) = &mut self.running else {
            return Ok(false);
        };
        let failed =
            |why| Error::failed("the command cannot be waited for", why, "please report it");
        self.status = running.try_wait().map_err(failed)?;
        Ok(self.status.is_some())
    }

    /// Writes the mark of the command's end; a command that has not ended is asked to end first, then killed.
    fn end(&mut self, instance: &Instance) -> Result<Option<ExitStatus>, Error> {
        if self.running.is_some() {
            instance.write("trace_marker", END_MARK)?;
        }
        self.put_down();
        Ok(self.status)
    }

    fn put_down(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        if self.status.is_none() {
            // SAFETY: a number; the process is our child and has not been waited for.
            unsafe { libc::kill(running.id() as libc::pid_t, libc::SIGTERM) };
            let begin = Instant::now();
            while begin.elapsed() < PATIENCE && !matches!(running.try_wait(), Ok(Some(_))) {
                std::thread::sleep(LOOKS.0);
            }
            let _ = running.kill();
            self.status = running.wait().ok();
        }
        self.running = None;
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.put_down();
    }
}

/// This process, a child of the recorder, is killed when the recorder's thread ends. It runs until its end.
fn end_with(recorder: libc::pid_t) -> io::Result<()> {
    // SAFETY: system calls that take numbers.
    let (set, parent) = unsafe {
        let set = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        (set, libc::getppid())
    };
    // It may have ended before.
    match set == 0 && parent == recorder {
        true => Ok(()),
        false => Err(ErrorKind::Interrupted.into()),
    }
}

/// Waits until the time is over, the command ends, or the user interrupts; true in the last case.
fn wait(stop: BorrowedFd<'_>, running: Option<&Child>, time: Duration) -> bool {
    // SAFETY: takes two numbers, gives a descriptor or -1 (kernels before 5.3).
    let ended = running.map_or(-1, |it| unsafe {
        libc::syscall(libc::SYS_pidfd_open, it.id(), 0)
    });
    let watch = |fd: i32| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let ended = ended as i32;
    let mut watched = [watch(stop.as_raw_fd()), watch(ended)];
    let least = if running.is_some() && ended < 0 {
        50
    } else {
        i32::MAX
    };
    // Rounded up, so that the loop does not spin before the deadline.
    let ms = i32::try_from(time.as_micros().div_ceil(1000))
        .unwrap_or(i32::MAX)
        .min(least);
    // SAFETY: two entries of ours; an entry with descriptor -1 is ignored.
    unsafe { libc::poll(watched.as_mut_ptr(), 2, ms) };
    if ended >= 0 {
        // SAFETY: opened above, and used by no other code.
        unsafe { libc::close(ended) };
    }
    watched[0].revents != 0
}
