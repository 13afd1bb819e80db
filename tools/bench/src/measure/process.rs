//! What the kernel knows about this process: its memory, its threads, their switches, its timers. It is read
//! from `/proc`: where there is none, nothing is known, and figures are absent.

use std::fs;

#[cfg(target_os = "linux")]
#[path = "process/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "process/other.rs"]
mod system;

use system::has_time_limit;
pub use system::{allocated_bytes, fence_ns, interruptions, this_thread};

/// The largest resident set since the program was started (`VmHWM`), in bytes; `None` without `/proc`.
/// (`ru_maxrss` would not do: it survives `exec`, so it may be the parent's.)
pub fn peak_rss_bytes() -> Option<u64> {
    own_bytes("status", "VmHWM:")
}

/// The resident set now (`VmRSS`), in bytes; `None` without `/proc`.
pub fn rss_bytes() -> Option<u64> {
    own_bytes("status", "VmRSS:")
}

fn own_bytes(file: &str, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/self/{file}")).ok()?;
    kilobytes(&status, field).map(|kb| kb * 1024)
}

/// Anonymous memory that is resident: heap, stacks, mappings of no file. Counted by the kernel page by page;
/// `None` where it does not (`/proc/self/smaps_rollup`).
pub fn anonymous_bytes() -> Option<u64> {
    own_bytes("smaps_rollup", "Anonymous:")
}

fn kilobytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Kernel numbers of all threads of this process.
pub fn threads() -> Vec<u32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let number = |task: fs::DirEntry| task.file_name().to_str()?.parse().ok();
    tasks.filter_map(Result::ok).filter_map(number).collect()
}

/// How often these threads went to sleep by themselves since they were started: each is one wake-up. A thread
/// that has ended counts 0.
pub fn voluntary_switches(threads: &[u32]) -> u64 {
    let of = |thread: &u32| {
        let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
        kilobytes(&status, "voluntary_ctxt_switches:")
    };
    threads.iter().filter_map(of).sum()
}

/// What the kernel knows of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// How often it went to sleep by itself.
    pub switches: u64,
    /// Its time on a CPU, in ns.
    pub cpu_ns: u64,
}

/// A thread of this process; `None` when it has ended.
pub fn thread(number: u32) -> Option<Thread> {
    let of = |file| fs::read_to_string(format!("/proc/self/task/{number}/{file}")).ok();
    Some(Thread {
        name: of("comm")?.trim_end().to_string(),
        switches: voluntary_switches(&[number]),
        // Kernels without scheduler statistics have no such file.
        cpu_ns: of("schedstat")
            .and_then(|text| text.split_whitespace().next()?.parse().ok())
            .unwrap_or(0),
    })
}

/// Timers of this process that are running: armed timer descriptors and POSIX timers.
pub fn armed_timers() -> u64 {
    let descriptors = fs::read_dir("/proc/self/fdinfo").map_or(0, |all| {
        let texts = all.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
        texts.filter(|text| is_armed(text)).count()
    });
    let posix = fs::read_to_string("/proc/self/timers").unwrap_or_default();
    let posix = posix.lines().filter(|line| line.starts_with("ID:")).count();
    (descriptors + posix) as u64
}

/// How many of these threads sleep in a system call with a time limit: a timer as well.
pub fn sleep_with_limit(threads: &[u32]) -> u64 {
    let sleeping = threads.iter().filter(|thread| {
        let call = fs::read_to_string(format!("/proc/self/task/{thread}/syscall"));
        call.is_ok_and(|call| has_time_limit(&call))
    });
    sleeping.count() as u64
}

/// Whether the `fdinfo` of a descriptor is that of an armed timer: `it_value: (seconds, nanoseconds)`, zero
/// when not.
fn is_armed(fdinfo: &str) -> bool {
    let value = fdinfo
        .lines()
        .find_map(|line| line.strip_prefix("it_value:"));
    value.is_some_and(|value| value.trim() != "(0, 0)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn this_process_has_memory_and_threads() {
        // Others allocate and free megabytes.
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        assert!(peak_rss_bytes().is_some_and(|bytes| bytes > 100 << 10));
        if let Some(before) = anonymous_bytes() {
            // So much that the allocator has no freed block of that size.
            let more = std::hint::black_box(vec![1u8; 64 << 20]);
            let after = anonymous_bytes().unwrap();
            assert!(after - before > 63 << 20, "{before} {after}");
            drop(more);
        }
        assert!(rss_bytes().is_some_and(|bytes| bytes > 100 << 10));
        assert!(threads().contains(&this_thread()));
        let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        let this = thread(this_thread()).unwrap();
        assert_eq!(this.name, name.trim_end());
        assert_eq!(thread(u32::MAX), None);
        assert_eq!(kilobytes("VmHWM:\t  3708 kB\n", "VmHWM:"), Some(3708));
        assert_eq!(kilobytes("", "VmHWM:"), None);
    }

    /// A thread that does `work` and says so; its number.
    fn beside(work: impl FnOnce() + Send + 'static) -> u32 {
        let (send, receive) = channel();
        std::thread::spawn(move || {
            send.send(this_thread()).unwrap();
            work();
        });
        receive.recv().unwrap()
    }

    #[test]
    fn a_sleep_is_a_switch_and_a_timer() {
        let (go, orders) = channel::<()>();
        let sleeper = beside(move || {
            let _ = orders.recv();
            std::thread::sleep(Duration::from_secs(60));
        });
        while voluntary_switches(&[sleeper]) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(
            sleep_with_limit(&[sleeper]),
            0,
            "it waits for its order for ever"
        );
        go.send(()).unwrap();
        while voluntary_switches(&[sleeper]) < 2 || sleep_with_limit(&[sleeper]) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(voluntary_switches(&[u32::MAX]), 0, "no such thread");
    }

    #[test]
    fn an_armed_descriptor_is_seen() {
        let text = |value| format!("pos:\t0\nclockid: 1\nticks: 0\nit_value: {value}\n");
        assert!(is_armed(&text("(9, 12345)")) && !is_armed(&text("(0, 0)")));
        assert!(!is_armed("pos:\t0\nflags:\t02\n"));
    }
}
