//! A program for unit tests: each test has its own environment, without workers. It counts what it is asked.

use std::cell::RefCell;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use quiescent_engine::credit::Urgency;

use crate::domain::enqueue::Terms;
use crate::domain::env::{Env, Zeros};
use crate::domain::host::Host;
use crate::domain::life::Domain;
use crate::domain::report::Report;
use crate::domain::state::State;
use crate::queue::intrusive::Head;
use crate::queue::kind;
use crate::queue::lane::Entry;
use crate::queue::meter::uncounted;
use crate::queue::parcel::{Name, Parcel};
use crate::queue::per_thread::Queue;
use crate::queue::weight::Owned;
use crate::reader::counted::{Counted, Entered};
use crate::reader::local::{Here, Local};
use crate::reader::registration::Keeper;
use crate::reader::word::{self, Reader};

/// A program whose worker is the test: it makes the passes itself.
#[derive(Debug)]
pub struct Program {
    pub env: Env,
    pub asked: Asked,
    zeros: Zeros,
}

/// What a program was asked, and which reports it got.
#[derive(Debug, Default)]
pub struct Asked {
    /// Calls of `start_worker`.
    pub worker: AtomicU32,
    /// Such a call is answered by "none can be started".
    pub has_no_worker: AtomicU32,
    /// Calls of `call_overflow`.
    pub overflow: AtomicU32,
    /// Callbacks that may begin before the worker counts as replaced; 0 for any number.
    pub dismissed_at: AtomicU32,
    /// Callbacks and wakers that have begun.
    pub begun: AtomicU32,
    /// Calls of `ready`.
    pub ready: AtomicU32,
    reports: Mutex<Vec<Report>>,
}

thread_local! {
    /// The locals of this thread, by program.
    static LOCALS: RefCell<Vec<(*const Program, &'static Local)>> = const { RefCell::new(Vec::new()) };
}

/// Checks that `body` ends its process by an abort. The test of this name calls it; it is run again in a
/// process of its own.
pub fn aborts(name: &str, body: impl FnOnce()) {
    const ABORTS: &str = "QUIESCENT_TEST_ABORTS";
    if std::env::var_os(ABORTS).is_some() {
        return body();
    }
    let mut again = crate::os::needs::command(&std::env::current_exe().expect("this program"));
    again
        .args([name, "--exact", "--nocapture"])
        .env(ABORTS, "1");
    let output = again.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("running 1 test"), "{text}");
    assert!(
        !text.contains("test result"),
        "it ended as any test does: {text}"
    );
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&output.status),
        Some(6) // SIGABRT, on every Unix
    );
}

/// Waits until the thread with this number sleeps (Linux).
pub fn until_asleep(thread: u32) {
    let stat = || std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    while !stat().expect("the thread runs").contains(") S ") {
        std::thread::yield_now();
    }
}

/// A new program, leaked.
pub fn program() -> &'static Program {
    let place = Box::leak(Box::<Program>::new_uninit()).as_mut_ptr();
    // SAFETY: the environment is created at the address it is given.
    unsafe {
        let host = Box::leak(Box::new(Hosted(place)));
        (&raw mut (*place).zeros).write(Zeros::new());
        (&raw mut (*place).asked).write(Asked::default());
        let env = &raw mut (*place).env;
        env.write(Env::new(
            env,
            State::config(),
            host,
            uncounted,
            &(*place).zeros,
        ));
        (*place).env.threads.mode.resolve();
        &*place
    }
}

/// A leaked queue of the home state of a new program.
pub fn queue(cpu: u32) -> &'static Queue {
    let env = &program().env;
    let state = std::ptr::from_ref(&env.state).cast();
    // SAFETY: the state lives forever.
    unsafe { Queue::leak(cpu, &env.common, state) }.expect("memory for a test")
}

impl Program {
    /// The reports since the last call.
    pub fn reports(&self) -> Vec<Report> {
        std::mem::take(&mut self.asked.reports.lock().expect("no test panics in it"))
    }

    /// A new domain of the program, with counts of sections.
    pub fn domain(&'static self) -> &'static Domain {
        Domain::found_counted(&self.env)
    }

    pub fn enter(&'static self, counted: &'static Counted) -> usize {
        let count = counted.joined();
        counted.enter_anew(count, &self.local(), &self.env.threads);
        count
    }

    pub fn leave(&'static self, counted: &'static Counted, count: usize) -> bool {
        counted.leave_anew(count, &self.local(), &self.env.threads)
    }

    pub fn enter_here(&'static self, counted: &'static Counted) -> Entered {
        counted.enter_here_anew(counted.joined(), &self.local(), &self.env.threads)
    }

    pub fn leave_here(&'static self, counted: &'static Counted, section: Entered) -> bool {
        match section.leave() {
            Some(count) => counted.is_flagged(count),
            None => counted.leave_here_slowly(section, &self.local()),
        }
    }

    pub fn lock(&'static self) -> &'static Reader {
        self.env.threads.lock(&self.local())
    }

    pub fn unlock(&'static self, reader: &'static Reader) {
        if word::end(reader) {
            self.env.unlock_slowly(&self.local(), reader);
        }
    }

    pub fn repin(&'static self, reader: &'static Reader) -> &'static Reader {
        match word::is_flagged(reader) {
            true => self.env.repin_slowly(&self.local(), reader),
            false => reader,
        }
    }

    pub fn in_section(&self) -> bool {
        self.env.threads.in_section(&self.local())
    }

    /// The local of this thread.
    pub fn local(&self) -> Here {
        LOCALS.with_borrow_mut(|locals| {
            let known = locals.iter().find(|(of, _)| std::ptr::eq(*of, self));
            let known = known.map(|(_, local)| *local);
            let local = known.unwrap_or_else(|| {
                // SAFETY: these are parts of a program, and programs live forever.
                let new = unsafe { Local::new(&self.env.threads, &self.env.common) };
                Box::leak(Box::new(new))
            });
            if known.is_none() {
                locals.push((self, local));
            }
            // SAFETY: the local belongs to this thread.
            unsafe { Here::new(local) }
        })
    }
}

/// A program for its environment, which is made before there can be references to the program.
#[derive(Debug)]
struct Hosted(*const Program);

// SAFETY: programs can be shared, and live forever.
unsafe impl Send for Hosted {}
// SAFETY: as above.
unsafe impl Sync for Hosted {}

impl Deref for Hosted {
    type Target = Program;
    fn deref(&self) -> &Program {
        // SAFETY: an environment asks nothing before its program is complete.
        unsafe { &*self.0 }
    }
}

// SAFETY: each thread has one local for each program.
unsafe impl Keeper for Hosted {
    fn local(&self) -> Here {
        (**self).local()
    }
}

impl Host for Hosted {
    fn start_worker(&self) -> bool {
        self.asked.worker.fetch_add(1, Relaxed);
        self.asked.has_no_worker.load(Relaxed) == 0
    }

    fn call_overflow(&self, _state: &'static State) {
        self.asked.overflow.fetch_add(1, Relaxed);
    }

    fn is_dismissed(&self) -> bool {
        let at = self.asked.dismissed_at.load(Relaxed);
        at != 0 && self.asked.begun.load(Relaxed) >= at
    }

    fn begin(&self, _name: Name) {
        self.asked.begun.fetch_add(1, Relaxed);
    }

    fn tell(&self, report: Report) {
        self.asked
            .reports
            .lock()
            .expect("no test panics in it")
            .push(report);
    }

    fn ready(&self) {
        self.asked.ready.fetch_add(1, Relaxed);
    }
}

/// An entry that frees memory.
pub fn memory() -> Entry {
    Entry {
        object: Box::into_raw(Box::new(0u64)).cast(),
        what: kind::plain::<u64>(Owned::NOTHING),
    }
}

/// An entry that calls a closure.
pub fn closure(run: impl FnOnce() + Send + 'static) -> Entry {
    let (object, what) = kind::called(run, Urgency::Lazy);
    Entry { object, what }
}

/// Code that counts its runs.
pub fn counting(runs: &'static AtomicU32) -> Entry {
    closure(move || {
        runs.fetch_add(1, Relaxed);
    })
}

/// A new counter.
pub fn counter() -> &'static AtomicU32 {
    Box::leak(Box::default())
}

impl State {
    /// Queues an entry for the calling thread.
    pub fn put(&'static self, lane: usize, entry: Entry, urgency: Urgency) {
        self.deliver_code(Parcel::Entry(lane, entry, 64), Terms::of(urgency));
    }

    /// Queues an intrusive callback that counts its runs.
    pub fn put_head(&'static self, runs: &'static AtomicU32, urgency: Urgency) {
        let counted = Box::leak(Box::new(CountedHead {
            head: Head::new(),
            runs,
        }));
        let parcel = Parcel::Head(crate::queue::parcel::Callback {
            head: NonNull::from(counted).cast(),
            run: run_head,
        });
        self.deliver_code(parcel, Terms::of(urgency));
    }
}

#[repr(C)]
struct CountedHead {
    head: Head,
    runs: &'static AtomicU32,
}

unsafe fn run_head(head: NonNull<Head>) {
    // SAFETY: the first field of one of these, which lives forever.
    unsafe { head.cast::<CountedHead>().as_ref() }
        .runs
        .fetch_add(1, Relaxed);
}
