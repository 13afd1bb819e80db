//! What analyses take at most: a trace that meets every bound at once, and an allocator that counts.
//!
//! The trace is not kept: it is made while it is read, so that what is measured is the reader and the
//! analysis. It has more functions, tasks, system calls, threads, CPUs and idle states than any bound, names
//! as long as lines may be, callbacks that are never invoked, and delays of which hardly two are equal. All
//! analyses have to stay below 64 MB, findings included, and say in notes what they gave up.

use quiescent_trace::{Analysis, Filter, Findings, Kind, Reader};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, BufRead, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts what is allocated, and the most at one time.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's work; numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test measures at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Text made by a function of the number of a piece, up to so many pieces.
struct Made<F> {
    piece: F,
    next: u64,
    end: u64,
    text: String,
    at: usize,
}

impl<F: FnMut(u64, &mut String)> Made<F> {
    fn new(end: u64, piece: F) -> Self {
        Made {
            piece,
            next: 0,
            end,
            text: String::new(),
            at: 0,
        }
    }
}

impl<F: FnMut(u64, &mut String)> Read for Made<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

impl<F: FnMut(u64, &mut String)> BufRead for Made<F> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            while self.next < self.end && self.text.len() < 100_000 {
                (self.piece)(self.next, &mut self.text);
                self.next += 1;
            }
        }
        Ok(&self.text.as_bytes()[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

/// A number that looks like chance, by its place.
fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ n >> 32
}

/// What is found in so many pieces, and the most bytes that were held at one time beyond those before.
fn measured(
    kind: Kind,
    pieces: u64,
    piece: impl FnMut(u64, &mut String) + Send,
) -> (Findings, usize) {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let mut reader = Reader::new("made", Made::new(pieces, piece));
    let mut analysis = Analysis::new(kind, Filter::default());
    while let Some(record) = reader.next_record().expect("reads") {
        analysis.feed(&record);
    }
    let summary = reader.summary().clone();
    assert_eq!(summary.malformed.count(), 0, "{:?}", summary.malformed);
    let found = analysis.finish(&summary).expect("has findings");
    let most = MOST.load(Relaxed) - before;
    println!(
        "{}: {} records, {most} bytes at most",
        kind.name(),
        summary.records
    );
    (found, most)
}

/// Sixty-four million bytes for all, with the rest of a process in mind: 60.
const MOST_BYTES: usize = 60_000_000;

fn holds(found: &Findings, notes: &[&str]) {
    for note in notes {
        assert!(
            found.notes.iter().any(|n| n.contains(note)),
            "no note about `{note}`: {:?}",
            found.notes
        );
    }
}

/// `sec.usec` that never goes back.
fn time(n: u64) -> String {
    format!("{}.{:06}", n / 500_000 + 1, n % 500_000 * 2)
}

#[test]
fn callbacks_of_thousands_of_functions_with_thousands_of_delays() {
    let long = "f".repeat(3000);
    let (found, most) = measured(Kind::Callbacks, 500_000, |n, text| {
        let chance = mixed(n);
        let (function, task, cpu) = (chance % 6000, chance >> 16 & 8191, chance >> 40 & 1023);
        let name = if function < 100 { &long } else { "f" };
        let who = format!("t{task}-{} [{cpu:03}] d..1. ", task + 1);
        let now = time(n);
        if n % 2 == 0 {
            text.push_str(&format!(
                "  {who}{now}: sys_enter: NR {} (0)\n",
                chance >> 20 & 8191
            ));
        }
        text.push_str(&format!(
            "  {who}{now}: rcu_callback: rcu_preempt rhp={n:x} func={name}{function} 1\n"
        ));
        // One in four is never invoked; the others wait for anything up to 100000 further ones.
        let done = n.wrapping_sub(chance >> 8 & 0x1_ffff);
        if done < n && !mixed(done).is_multiple_of(4) {
            text.push_str(&format!(
                "  {who}{now}: rcu_invoke_callback: rcu_preempt rhp={done:x} func=f\n"
            ));
        }
    });
    assert!(most < MOST_BYTES, "{most}");
    holds(
        &found,
        &[
            "given up: more than",
            "percentiles",
            "had a name beyond",
            "had no room",
        ],
    );
}

#[test]
fn batches_of_thousands_of_invokers() {
    let (found, most) = measured(Kind::Batches, 300_000, |n, text| {
        let chance = mixed(n);
        // Half of them of a few.
        let invoker = chance % if n % 2 == 0 { 9000 } else { 20 };
        let who = format!("  rcuop/{invoker}-{} [000] b.... ", invoker + 9);
        let at = n << 16;
        let (start, end) = (time(at), time(at + (chance >> 20 & 0xffff)));
        text.push_str(&format!(
            "{who}{start}: rcu_batch_start: rcu_preempt CBs=9 bl=1\n"
        ));
        text.push_str(&format!(
            "{who}{end}: rcu_batch_end: rcu_preempt CBs-invoked=9 idle=....\n"
        ));
    });
    assert!(most < MOST_BYTES, "{most}");
    holds(&found, &["invokers beyond the first", "percentiles of"]);
}

#[test]
fn idle_cpus_without_number_in_states_without_number() {
    let (found, most) = measured(Kind::Idle, 250_000, |n, text| {
        let chance = mixed(n);
        let cpu = chance % 65_536;
        let cpu = if n % 2 == 0 { cpu } else { cpu % 4096 };
        let now = time(n);
        let who = format!("<idle>-0 [{cpu:03}] d..1. {now}:");
        text.push_str(&format!(
            "  {who} cpu_idle: state=4294967295 cpu_id={cpu}\n"
        ));
        text.push_str(&format!(
            "  {who} sched_wakeup: comm=rcub{} pid=7 prio=1 target_cpu={cpu:03}\n",
            n % 9999
        ));
        text.push_str(&format!(
            "  {who} timer_expire_entry: timer=1 function=f{} now={n}\n",
            chance % 5000
        ));
        text.push_str(&format!(
            "  {who} rcu_callback: rcu_preempt rhp={n:x} func=f{} 1\n",
            chance >> 20 & 8191
        ));
        text.push_str(&format!(
            "  {who} cpu_idle: state={} cpu_id={cpu}\n",
            chance >> 30 & 63
        ));
    });
    assert!(most < MOST_BYTES, "{most}");
    holds(
        &found,
        &[
            "CPUs with numbers above",
            "states beyond",
            "given up: more than",
        ],
    );
}

#[test]
fn threads_and_wakers_without_number() {
    let long = "w".repeat(4000);
    let (found, most) = measured(Kind::Wakeups, 120_000, |n, text| {
        let chance = mixed(n);
        let thread = chance % 40_000;
        let waker = chance >> 20 & 0xffff;
        let now = time(n);
        let name = if n % 64 == 0 { &long } else { "w" };
        let who = format!("  {name}{waker}-{} [000] d..1. {now}:", waker + 1);
        text.push_str(&format!(
            "{who} sched_waking: comm=rcuog/{thread} pid={thread} prio=1 target_cpu=000\n"
        ));
        text.push_str(&format!(
            "{who} sched_wakeup: comm=rcuog/{thread} pid={thread} prio=1 target_cpu=000\n"
        ));
        text.push_str(&format!(
            "{who} sched_wakeup: comm={name}{waker} pid={waker} prio=1 target_cpu=000\n"
        ));
        text.push_str(&format!(
            "{who} rcu_callback: rcu_preempt rhp={n:x} func=f{} 1\n",
            chance >> 20 & 8191
        ));
        text.push_str(&format!(
            "{who} rcu_grace_period: rcu_preempt {} newreq\n",
            n * 4
        ));
        text.push_str(&format!(
            "{who} rcu_grace_period: rcu_preempt {} start\n",
            n * 4 + 1
        ));
    });
    assert!(most < MOST_BYTES, "{most}");
    holds(
        &found,
        // Wakers beyond the bound have one name, so that their causes have room.
        &["threads beyond the first", "had a name beyond"],
    );
}

#[test]
fn grace_periods_for_everybody() {
    let (found, most) = measured(Kind::Gps, 80_000, |n, text| {
        let chance = mixed(n);
        let (task, cpu) = (chance & 0xffff, chance >> 20 & 8191);
        let now = time(n);
        let who = format!("  t{task}-{} [{cpu:03}] d..1. {now}:", task + 1);
        text.push_str(&format!(
            "{who} rcu_callback: rcu_preempt rhp={n:x} func=f{} 1\n",
            chance >> 30 & 8191
        ));
        text.push_str(&format!(
            "{who} rcu_grace_period: rcu_preempt {} newreq\n",
            n * 4
        ));
        text.push_str(&format!(
            "{who} rcu_grace_period: rcu_preempt {} start\n",
            n * 4 + 1
        ));
        text.push_str(&format!(
            "{who} rcu_quiescent_state_report: rcu_preempt 1 1>0 0 {cpu} {cpu} 0\n"
        ));
        text.push_str(&format!(
            "{who} rcu_grace_period: rcu_preempt {} end\n",
            n * 4 + 1
        ));
    });
    assert!(most < MOST_BYTES, "{most}");
    holds(&found, &["had no room", "had a name beyond"]);
}
