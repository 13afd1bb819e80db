//! A real control group with little memory: the library frees what is queued because the kernel reports
//! pressure.
//!
//! With the memory controller in version 2 of control groups, the group gets a `memory.high`, and the event
//! of that limit counts. With it in version 1, the group gets a limit there and a directory of version 2
//! beside it, and PSI counts: its tasks wait for memory. If neither can be made (not root, nothing mounted)
//! the test says so and passes.
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

/// The variable that names the child's groups, and hence the file of its result.
const GROUPS: &str = "QUIESCENT_TEST_GROUPS";

/// Directories that are removed when they are dropped.
struct Groups(Vec<PathBuf>);

impl Drop for Groups {
    fn drop(&mut self) {
        for group in &self.0 {
            for _ in 0..100 {
                if fs::remove_dir(group).is_ok() {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// The path of this process's group in the hierarchy of `name` (`""`: the second version).
fn own_group(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        (parts.next()? == name).then(|| parts.next().map(str::to_owned))?
    })
}

fn make(parent: &Path) -> Result<PathBuf, String> {
    let group = parent.join(format!("quiescent-test-{}", std::process::id()));
    let made = fs::create_dir(&group);
    made.map_err(|why| format!("{}: {why}", group.display()))?;
    Ok(group)
}

/// Groups with a limit, or why there are none.
fn make_groups() -> Result<Groups, String> {
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let is_second = |mount: &&&str| Path::new(mount).join("cgroup.controllers").exists();
    let mount = mounts.iter().find(is_second);
    let mount = mount.ok_or("no control groups of the second version are mounted")?;
    let own = own_group("").ok_or("/proc/self/cgroup names no group")?;
    let parent = Path::new(mount).join(own.trim_start_matches('/'));
    let mut groups = Groups(vec![make(&parent)?]);
    let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
    if fs::write(groups.0[0].join("memory.high"), LIMIT.to_string()).is_ok() {
        return Ok(groups);
    }
    let own = own_group("memory").ok_or("no memory controller for groups within this one")?;
    let parent = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
    groups.0.push(make(&parent)?);
    let limit = groups.0[1].join("memory.limit_in_bytes");
    fs::write(&limit, LIMIT.to_string()).map_err(|why| format!("{}: {why}", limit.display()))?;
    Ok(groups)
}

#[test]
fn pressure_in_a_real_control_group_frees_what_is_lazy() {
    needs!(pressure);
    if let Ok(groups) = std::env::var(GROUPS) {
        let child = Isolated::new().hears_the_kernel();
        return child.run(|| hold_and_use_memory(&groups));
    }
    let groups = match make_groups() {
        Ok(groups) => groups,
        Err(why) => {
            eprintln!("SKIPPED: {}: {why}", test_name());
            return;
        }
    };
    let places = groups.0.iter().map(|place| place.to_str().expect("plain"));
    let places: &str = Box::leak(places.collect::<Vec<_>>().join(":").into_boxed_str());
    let said = said_in(places);
    Isolated::new().env(GROUPS, places).run(|| ());
    eprint!("{}", fs::read_to_string(&said).unwrap_or_default());
    let _ = fs::remove_file(said);
}

/// The file into which the child writes its result: libtest shows only the output of failures.
fn said_in(groups: &str) -> PathBuf {
    let name = groups.rsplit('/').next().expect("a name");
    std::env::temp_dir().join(format!("{name}.said"))
}

fn hold_and_use_memory(groups: &str) {
    for group in groups.split(':') {
        let procs = Path::new(group).join("cgroup.procs");
        fs::write(&procs, std::process::id().to_string()).expect("a group takes its process");
    }
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
    fs::write(said_in(groups), said).expect("a file");
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
