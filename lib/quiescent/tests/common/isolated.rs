//! Tests in processes of their own.
//!
//! A process has one domain: its counters, its fence mode and its registered threads are everybody's. So
//! a test re-executes its own binary for itself alone, and its parent is the watchdog: a child that does
//! not end is reported with what each of its threads is doing, and killed.
//!
//! The machine may be short of memory while tests run, and say so to whoever listens: what is lazy would go at once. So
//! a child does not listen, unless its test is about that.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use quiescent::{Options, init};

/// Tells a child which test it is.
const CHILD: &str = "QUIESCENT_TEST_CHILD";

/// A child that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What no reader of a test takes, however busy the machine is: a driver that sleeps for so long has missed
/// its wake-up, and the count of stalls shows it.
const STALL: Duration = Duration::from_secs(10);

/// Runs `body` in a process of its own. `test` is the name of the test function.
pub fn isolated(test: &str, body: impl FnOnce()) {
    Isolated::new(test).run(body);
}

/// How to start the child.
#[derive(Clone)]
pub struct Isolated {
    test: String,
    tag: String,
    environment: Vec<(&'static str, &'static str)>,
    before_exec: Option<fn() -> io::Result<()>>,
    hears_the_kernel: bool,
}

impl Isolated {
    /// A child that runs the test function `test`.
    pub fn new(test: &str) -> Isolated {
        let tag = String::new();
        Isolated {
            test: test.into(),
            tag,
            environment: Vec::new(),
            before_exec: None,
            hears_the_kernel: false,
        }
    }

    /// Tells several children of one test apart.
    pub fn tag(mut self, tag: &str) -> Isolated {
        self.tag = tag.into();
        self
    }

    /// With an environment variable.
    pub fn env(mut self, name: &'static str, value: &'static str) -> Isolated {
        self.environment.push((name, value));
        self
    }

    /// As programs are: they listen when the kernel says that memory is low.
    pub fn hears_the_kernel(mut self) -> Isolated {
        self.hears_the_kernel = true;
        self
    }

    /// Fenced readers, by the environment.
    pub fn fenced(self) -> Isolated {
        self.tag("fenced").env("QUIESCENT_FENCE", "fenced")
    }

    /// Calls `f` in the child before it executes anything: a sandbox from the start.
    pub fn before_exec(mut self, f: fn() -> io::Result<()>) -> Isolated {
        self.before_exec = Some(f);
        self
    }

    /// In the parent: starts the child and waits for it. In the child: calls `body`.
    ///
    /// # Panics
    /// If the child fails, does not run `body`, or hangs.
    pub fn run(self, body: impl FnOnce()) {
        let name = format!("{}#{}", self.test, self.tag);
        let mark = format!("<< ran {name} >>");
        match std::env::var(CHILD) {
            Ok(child) if child == name => {
                if !self.hears_the_kernel {
                    init(Options::new().memory_pressure(false)).expect("the first call of all");
                }
                quiescent::set_stall_after(STALL);
                body();
                println!("{mark}");
            }
            Ok(_) => {} // another child of the same test
            Err(_) => {
                let output = self.start(&name);
                let text = text_of(&output);
                assert!(output.status.success(), "{name}: {}\n{text}", output.status);
                assert!(
                    text.contains(&mark),
                    "{name}: the child did not run the test:\n{text}"
                );
            }
        }
    }

    fn start(&self, name: &str) -> Output {
        let binary = std::env::current_exe().expect("the path of this binary");
        let mut command = Command::new(binary);
        command.args(["--exact", &self.test, "--nocapture", "--test-threads=1"]);
        command.env_remove("QUIESCENT_FENCE").env(CHILD, name);
        command.envs(self.environment.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(before_exec) = self.before_exec {
            // SAFETY: the functions given make system calls only.
            unsafe { command.pre_exec(before_exec) };
        }
        let child = command.spawn().expect("this binary starts once more");
        let pid = child.id();
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || sender.send(child.wait_with_output()));
        match receiver.recv_timeout(PATIENCE) {
            Ok(output) => output.expect("a child can be waited for"),
            Err(_) => {
                let threads = what_threads_do(pid);
                // SAFETY: kill touches no memory; the child has not been waited for, so its number is
                // still its own.
                unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
                let _ = reader.join();
                let said = receiver.try_recv().ok().and_then(Result::ok);
                let said = said.map_or(String::new(), |it| text_of(&it));
                panic!("{name} hangs; its threads:\n{threads}\nit said:\n{said}");
            }
        }
    }
}

/// What a child has said.
fn text_of(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr];
    parts.map(|part| String::from_utf8_lossy(part)).concat()
}

/// Name, state and place in the kernel of every thread of a process.
fn what_threads_do(pid: u32) -> String {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return String::new();
    };
    let mut text = String::new();
    for task in tasks.flatten() {
        for file in ["comm", "wchan", "syscall"] {
            let content = fs::read_to_string(task.path().join(file)).unwrap_or_default();
            text += content.trim_end();
            text += "  ";
        }
        text += "\n";
    }
    text
}
