//! `whatif`: what says nothing about RCU changes nothing of what is inferred.

use std::io::Read;

use lzma_rust2::XzReader;
use quiescent_sim::whatif;
use quiescent_trace::Options as Known;

/// The trace again, with more lines: at each moment at which one that RCU's thread waits for is expected,
/// other timers expire, and other threads are woken.
fn noisy(text: &str, jiffies: impl Fn(f64) -> u64) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out += line;
        out.push('\n');
        // Of a record: the task, the CPU, the flags, the time, the event.
        let Some((head, _)) = line.split_once(": ") else {
            continue;
        };
        let is_wait = line.contains(" fqswait");
        let is_timer = line.contains(" function=process_timeout ");
        let Some(time) = head
            .split_whitespace()
            .last()
            .and_then(|it| it.parse().ok())
        else {
            continue;
        };
        let timer = |function: &str| {
            let now = jiffies(time);
            format!(
                "{head}: timer_expire_entry: timer=ff01 function={function} now={now} baseclk={now}\n"
            )
        };
        let wakeup = |comm: &str, pid: u32| {
            format!("{head}: sched_wakeup: comm={comm} pid={pid} prio=120 target_cpu=000\n")
        };
        if is_wait {
            // A time-out of another thread, which it wakes: not this thread's, whose wait goes on.
            out +=
                &(timer("process_timeout") + &wakeup("noise", 90_001) + &timer("noise_timer_fn"));
        }
        if is_timer {
            out += &(timer("noise_timer_fn")
                + &wakeup("noise", 90_001)
                + &wakeup("kworker/0:9", 90_002));
        }
    }
    out
}

#[test]
fn timers_and_wake_ups_of_others_leave_what_is_inferred() {
    for name in [
        "classic-d-nocb-j32-file100",
        "classic-a-softirq-file100-early",
        "classic-idle",
    ] {
        let path = format!(
            "{}/../../data/traces/{name}.txt.xz",
            env!("CARGO_MANIFEST_DIR")
        );
        let mut text = String::new();
        let file = std::fs::File::open(path).unwrap();
        XzReader::new(std::io::BufReader::new(file), true)
            .read_to_string(&mut text)
            .unwrap();
        let read = |text: &str| whatif::read(name, text.as_bytes(), Known::default()).unwrap();
        let quiet = read(&text);
        let (hz, zero) = (quiet.recorded.hz, quiet.recorded.jiffies_at_zero);
        let zero = zero.expect("it has timers");
        let noisy = noisy(&text, |time| zero + (time * f64::from(hz)) as u64);
        assert!(noisy.lines().count() > text.lines().count() + 30, "{name}");
        assert_eq!(read(&noisy).inferred, quiet.inferred, "{name}");
    }
}
