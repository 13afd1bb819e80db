//! Tests in processes of their own.
//!
//! A process has one global domain: all its threads share the counters, the fence mode and the registered
//! threads. So a test that uses the library re-executes its own program for itself alone, under the name that
//! libtest gave to its thread. The parent does not use the library; it is the watchdog: it reports a child
//! that does not end, with the state of each of its threads, and kills it.
//!
//! Most children sleep most of the time, so the programs run more tests at once than there are CPUs
//! ([`at_once`]).
//!
//! The kernel may report low memory while tests run, which flushes lazy items. So a child does not listen,
//! unless its test is about that.

use std::fs;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quiescent::{FenceMode, Options, statistics};
use quiescent_core::os::needs;

use super::{emulated, healed};

/// Tells a child which test it is.
const CHILD: &str = "QUIESCENT_TEST_CHILD";

/// A child that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What no reader of a test takes, however busy the machine is: a driver that sleeps for so long has missed
/// its wake-up, and the count of stalls shows it.
const STALL: Duration = Duration::from_secs(10);

#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = at_once;

/// Tells libtest how many tests to run at once, unless the environment does. Called before `main`: libtest
/// reads it there.
#[cfg(target_os = "linux")]
extern "C" fn at_once() {
    /// Tests that run at the same time, for each CPU.
    const AT_ONCE: libc::c_long = 4;
    // SAFETY: takes a number.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1);
    // A child that is started while another thread opens or closes a file may hang in qemu.
    let threads = if needs::emulated() { 1 } else { AT_ONCE * cpus };
    let threads = std::ffi::CString::new(threads.to_string()).expect("digits");
    // SAFETY: both end with a zero, and no other thread exists yet.
    unsafe { libc::setenv(c"RUST_TEST_THREADS".as_ptr(), threads.as_ptr(), 0) };
}

/// A command that runs this program once more.
pub fn once_more() -> Command {
    needs::command(&std::env::current_exe().expect("the path of this binary"))
}

/// Runs `body` in a process of its own.
pub fn isolated(body: impl FnOnce()) {
    Isolated::new().run(body);
}

/// Runs `body` in two processes of its own: with a fence of the process, if there is one, and with fenced
/// readers.
pub fn in_both_modes(body: impl Fn()) {
    in_both(&body);
}

// Not generic, as what else most tests call: that would be compiled hundreds of times.
fn in_both(body: &dyn Fn()) {
    if needs::fence() {
        isolated(|| {
            body();
            assert_eq!(statistics().fence_mode, FenceMode::Membarrier);
        });
    }
    Isolated::new().fenced().run(|| {
        body();
        assert_eq!(statistics().fence_mode, FenceMode::Fenced);
    });
}

/// The name of the running test, for `--exact`: libtest gives it to the thread that runs the test.
pub fn test_name() -> String {
    let name = std::thread::current().name().map(str::to_owned);
    name.expect("called on the thread of a test")
}

/// The arguments with which this program runs the calling test and no other, even if it is ignored otherwise.
pub fn only_this_test() -> Vec<String> {
    let options = "--include-ignored --nocapture --test-threads=1 --exact";
    let mut arguments: Vec<_> = options.split(' ').map(str::to_owned).collect();
    arguments.push(test_name());
    arguments
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
    /// A child that runs the calling test.
    pub fn new() -> Isolated {
        Isolated {
            test: test_name(),
            tag: String::new(),
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

    /// As in programs: the child listens to the kernel's reports of low memory.
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
        self.run_or_start(Box::new(body));
    }

    fn run_or_start(self, body: Box<dyn FnOnce() + '_>) {
        let name = format!("{}#{}", self.test, self.tag);
        let mark = format!("<< ran {name} >>");
        match std::env::var(CHILD) {
            Ok(child) if child == name => {
                if !self.hears_the_kernel {
                    Options::new()
                        .memory_pressure(false)
                        .apply()
                        .expect("the first call of all");
                }
                quiescent::report::set_stall_after(STALL);
                let start = healed::Start::new();
                body();
                start.check();
                println!("{mark}");
            }
            Ok(_) => {} // another child of the same test
            Err(_) => {
                let (status, text) = self.start(&name);
                assert!(status.success(), "{name}: {status}\n{text}");
                assert!(
                    text.contains(&mark),
                    "{name}: the child did not run the test:\n{text}"
                );
                let panics = text.lines().find(|line| is_panic_of_a_worker(line));
                assert_eq!(panics, None, "{name}: a thread of the library has ended");
            }
        }
    }

    fn start(&self, name: &str) -> (ExitStatus, String) {
        let mut command = once_more();
        command.args(only_this_test());
        command.env_remove("QUIESCENT_FENCE").env(CHILD, name);
        command.envs(self.environment.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        #[cfg(unix)]
        if let Some(before_exec) = self.before_exec {
            // SAFETY: the functions given make system calls only.
            unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, before_exec) };
        }
        // Under Wine, on a busy machine, one start in some hundreds is an "internal error".
        let started = command.spawn().or_else(|_| command.spawn());
        let mut child = started.expect("this binary starts once more");
        let said = [
            listen(child.stdout.take().expect("a pipe")),
            listen(child.stderr.take().expect("a pipe")),
        ];
        let ended = ends(&mut child, &said);
        let threads = what_threads_do(child.id());
        if ended.is_none() {
            kill(&mut child);
        }
        let said = said.map(|it| it.join().expect("no panic")).concat();
        match ended {
            Some(status) => (status, said),
            None => panic!("{name} hangs; its threads:\n{threads}\nit said:\n{said}"),
        }
    }
}

/// Collects what a child says.
fn listen(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut said = Vec::new();
        let _ = pipe.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Waits until a child has ended, and its own children have; not longer than one takes.
fn ends(child: &mut Child, said: &[JoinHandle<String>]) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < emulated(PATIENCE) {
        if let Some(status) = child.try_wait().expect("our child")
            && said.iter().all(JoinHandle::is_finished)
        {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Kills a child that hangs; on Unix with its own children, which would keep the pipes open.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    // SAFETY: takes numbers. The child's is its group's, too, and no other's while one of them lives.
    unsafe {
        libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL);
    }
    let _ = child.kill();
}

/// Whether the library has panicked on a thread without a name, as its own ones are for the standard library.
/// (Such a thread ends, and others do its work: that is to be seen nowhere else.)
fn is_panic_of_a_worker(line: &str) -> bool {
    let library = ["lib/engine/src/", "lib/core/src/", "lib/quiescent/src/"];
    line.starts_with("thread '<unnamed>'") && library.iter().any(|it| line.contains(it))
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
