//! A real control group with little memory: the library frees what is queued because the kernel reports
//! pressure.
//!
//! The group gets a `memory.high`, and the event of that limit counts. If it cannot be made (not root,
//! nothing mounted, the memory controller in version 1 of control groups) the test says so and passes.
//!
//! In a program of its own: while it runs, PSI reports low memory for the whole machine.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::statistics;
use quiescent::tuning::{FlushTimes, set_flush_times};

use crate::common::deferral::{Ledger, queue_somehow};
use crate::common::{Isolated, PATIENCE, test_name};

/// What the group may have.
const LIMIT: u64 = 40 << 20;
/// What its tasks read, again and again.
const FILE: u64 = 4 * LIMIT;
/// Threads that do.
const READERS: usize = 4;
const HELD: usize = 1000;

/// The variable that names the child's group, and hence the file of its result.
const GROUP: &str = "QUIESCENT_TEST_GROUP";

/// A directory that is removed when it is dropped.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The path of this process's group.
fn own_group() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("0::").map(str::to_owned))
}

fn make(parent: &Path) -> Result<PathBuf, String> {
    let group = parent.join(format!("quiescent-test-{}", std::process::id()));
    let made = fs::create_dir(&group);
    made.map_err(|why| format!("{}: {why}", group.display()))?;
    Ok(group)
}

/// A group with a limit, or why there is none.
fn make_group() -> Result<Group, String> {
    let own = own_group().ok_or("/proc/self/cgroup names no group")?;
    let parent = Path::new("/sys/fs/cgroup").join(own.trim_start_matches('/'));
    let group = Group(make(&parent)?);
    let _ = set(&parent.join("cgroup.subtree_control"), "+memory");
    let limit = group.0.join("memory.high");
    set(&limit, &LIMIT.to_string()).map_err(|why| format!("{}: {why}", limit.display()))?;
    Ok(group)
}

/// Writes to a file that exists: with version 1 of control groups this is an ordinary folder.
fn set(file: &Path, value: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(file)?;
    file.write_all(value.as_bytes())
}

#[test]
fn pressure_in_a_real_control_group_frees_what_is_lazy() {
    needs!(pressure);
    if let Ok(group) = std::env::var(GROUP) {
        let child = Isolated::new().hears_the_kernel();
        return child.run(|| hold_and_use_memory(&group));
    }
    let group = match make_group() {
        Ok(group) => group,
        Err(why) => {
            eprintln!("SKIPPED: {}: {why}", test_name());
            return;
        }
    };
    let place: &str = Box::leak(group.0.to_str().expect("plain").to_owned().into_boxed_str());
    let said = said_in(place);
    Isolated::new().env(GROUP, place).run(|| ());
    eprint!("{}", fs::read_to_string(&said).unwrap_or_default());
    let _ = fs::remove_file(said);
}

/// The file into which the child writes its result: libtest shows only the output of failures.
fn said_in(group: &str) -> PathBuf {
    let name = group.rsplit('/').next().expect("a name");
    std::env::temp_dir().join(format!("{name}.said"))
}

fn hold_and_use_memory(group: &str) {
    let procs = Path::new(group).join("cgroup.procs");
    fs::write(&procs, std::process::id().to_string()).expect("a group takes its process");
    set_flush_times(FlushTimes {
        lazy: Duration::from_secs(3600),
        prompt: Duration::from_secs(3600),
    });
    let ledger = Ledger::new(HELD);
    (0..HELD).for_each(|index| queue_somehow(ledger.thing(index), 8));
    assert_eq!(ledger.count(), 0, "it is lazy");
    let begin = Instant::now();
    let gone = || ledger.count() == HELD;
    use_memory(&|| gone() || begin.elapsed() > PATIENCE / 2);
    let (now, took) = (statistics(), begin.elapsed());
    let short = fs::read_to_string("/proc/pressure/memory").unwrap_or_default();
    let said = match gone() {
        true => format!(
            "pressure: {} of {HELD} gone {took:?} after the group began to use memory; {:?}\n",
            ledger.count(),
            now.pressure_sources
        ),
        // The kernel was not asked for its opinion, or it has none: see that it is so.
        false if now.pressure_events == 0 && !is_short(&short) => {
            format!("SKIPPED: no task had to wait for memory in {took:?}: {short}\n")
        }
        false => panic!("memory is short, and nothing goes: {now:?}\n{short}"),
    };
    fs::write(said_in(group), said).expect("a file");
    if gone() {
        ledger.assert_all_once();
        assert!(
            now.pressure_events > 0 && now.flushes.pressure > 0,
            "{now:?}"
        );
        assert!(now.worker_wakeups.pressure > 0, "{now:?}");
        assert_eq!(
            (now.flushes.lazy, now.flushes.batch, now.pressure_calls),
            (0, 0, 0)
        );
    }
}

/// Has the machine waited for memory for so long lately that a trigger must have fired?
fn is_short(pressure: &str) -> bool {
    let average = pressure
        .split_whitespace()
        .find_map(|word| word.strip_prefix("avg10="));
    average
        .and_then(|text| text.parse::<f64>().ok())
        .is_some_and(|percent| percent > 15.0)
}

/// Reads more than fits into the group, until it is `enough`: pages of the file come and go.
fn use_memory(enough: &(dyn Fn() -> bool + Sync)) {
    let path = std::env::temp_dir().join(format!("quiescent-test-{}.bytes", std::process::id()));
    let mut file = fs::File::create(&path).expect("a file");
    let chunk = vec![1u8; 1 << 20];
    for _ in 0..FILE >> 20 {
        if !enough() {
            file.write_all(&chunk).expect("room for a file");
        }
    }
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in 0..READERS {
            let (path, failed) = (&path, &failed);
            scope.spawn(move || {
                let mut file = fs::File::open(path).expect("the file");
                let mut into = vec![0u8; 1 << 16];
                let start = SeekFrom::Start(FILE / READERS as u64 * reader as u64);
                failed.fetch_or(file.seek(start).is_err(), Ordering::Relaxed);
                while !enough() {
                    if file.read(&mut into).unwrap_or(0) == 0 {
                        failed.fetch_or(file.rewind().is_err(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let _ = fs::remove_file(path);
    assert!(!failed.load(Ordering::Relaxed));
}
