//! Tasks that hold a section across an `await`, on a runtime with several threads, while a configuration is
//! replaced ten thousand times a second.
//!
//! Half of the tasks end their sections where they began them, as far as the runtime lets them; the other
//! half pass the guard to another task. Every reader checks, after it has waited, that its configuration is
//! still the one that it began with.
//!
//!     cargo run --release --example srcu_async

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{Guard, RcuCell, Sendable, Srcu};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

static SRCU: Srcu = Srcu::new();
static CONFIG: LazyLock<RcuCell<Config, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(Config::new(0), &SRCU));
static DROPPED: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

/// Replaced so often.
const SWAPS: u64 = 10_000;
/// In all that time: ten thousand a second.
const EVERY: Duration = Duration::from_micros(100);
/// Threads of the runtime.
const WORKERS: usize = 3;
/// Tasks of each kind.
const TASKS: usize = 8;

struct Config {
    version: u64,
    /// The version again, until it is dropped: what a reader must not see change.
    seal: AtomicU64,
}

impl Config {
    fn new(version: u64) -> Config {
        Config {
            version,
            seal: AtomicU64::new(version),
        }
    }

    fn is(&self, version: u64) -> bool {
        self.version == version && self.seal.load(Ordering::Relaxed) == version
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        self.seal.store(u64::MAX, Ordering::Relaxed);
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a task has seen.
#[derive(Default)]
struct Seen {
    reads: u64,
    /// Of those: of a configuration that was dropped meanwhile.
    dropped: u64,
    /// Of those: that ended on another thread than they had begun on.
    moved: u64,
}

impl Seen {
    fn note(&mut self, held: bool, began_on: thread::ThreadId) {
        self.reads += 1;
        self.dropped += u64::from(!held);
        self.moved += u64::from(thread::current().id() != began_on);
    }

    fn add(&mut self, other: &Seen) {
        self.reads += other.reads;
        self.dropped += other.dropped;
        self.moved += other.moved;
    }
}

/// What a request waits for: now and then for a while, mostly for its turn only.
async fn something(turn: u64) {
    match turn % 16 {
        0 => tokio::time::sleep(Duration::from_millis(1)).await,
        _ => yield_now().await,
    }
}

/// Reads across an `await`.
async fn reader() -> Seen {
    let mut seen = Seen::default();
    while !STOP.load(Ordering::Relaxed) {
        let guard = SRCU.read_lock_send();
        let began_on = thread::current().id();
        let config = CONFIG.load(&guard);
        let version = config.version;
        something(seen.reads).await;
        seen.note(config.is(version), began_on);
        drop(guard);
    }
    seen
}

/// Opens sections, and has another task read in them and end them.
async fn opener() -> Seen {
    let mut seen = Seen::default();
    while !STOP.load(Ordering::Relaxed) {
        let guard = SRCU.read_lock_send();
        let began_on = thread::current().id();
        let version = CONFIG.load(&guard).version;
        let turn = seen.reads;
        let other = tokio::spawn(async move { finish(guard, version, turn, began_on).await });
        seen.add(&other.await.expect("a reader does not panic"));
    }
    seen
}

async fn finish(
    guard: Guard<Sendable<&'static Srcu>>,
    version: u64,
    turn: u64,
    began_on: thread::ThreadId,
) -> Seen {
    something(turn).await;
    // It may have been replaced since: the guard keeps what its section can have seen, and this is what it
    // sees now.
    let held = CONFIG.load(&guard);
    let mut seen = Seen::default();
    let now = held.version;
    yield_now().await;
    seen.note(held.is(now) && now >= version, began_on);
    seen
}

/// Replaces the configuration every [`EVERY`]; what was late is made up for.
fn swap() -> Duration {
    let begin = Instant::now();
    for version in 1..=SWAPS {
        // The old one is dropped once the sections have ended in which it may be read; no thread waits for
        // that here.
        drop(CONFIG.store(Config::new(version)));
        let next = begin + EVERY * u32::try_from(version).expect("not so many");
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    begin.elapsed()
}

fn start(runtime: &Runtime) -> Vec<JoinHandle<Seen>> {
    let readers = (0..TASKS).map(|_| runtime.spawn(reader()));
    let openers = (0..TASKS).map(|_| runtime.spawn(opener()));
    readers.chain(openers).collect()
}

fn main() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_time()
        .build()
        .expect("a runtime");
    let tasks = start(&runtime);
    let took = swap();
    let meanwhile = DROPPED.load(Ordering::Relaxed);
    STOP.store(true, Ordering::Relaxed);
    let mut seen = Seen::default();
    for task in tasks {
        seen.add(&runtime.block_on(task).expect("a reader does not panic"));
    }
    println!("replaced {SWAPS} configurations in {} ms", took.as_millis());
    println!(
        "{} reads across an await, {} of them ended on another thread; {} saw a configuration that was \
         dropped",
        seen.reads, seen.moved, seen.dropped
    );

    // The workers have read, and are parked now: they are in no section, so nothing waits for them.
    SRCU.synchronize();
    println!(
        "{} idle workers: a grace period ended",
        runtime.metrics().num_workers()
    );
    SRCU.barrier();
    let dropped = DROPPED.load(Ordering::Relaxed);
    let left = SRCU.statistics().queued;
    println!(
        "{dropped} old configurations dropped, {meanwhile} of them while they were replaced; {left} left"
    );
    drop(runtime);
    assert_eq!((dropped, left, seen.dropped), (SWAPS, 0, 0));
}
