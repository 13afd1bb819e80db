//! Cache lines that two threads write in turn while each works with entries of its own: what limits a map on
//! many CPUs, counted by valgrind (lackey), not timed.
//!
//! `cargo run --release -p quiescent-bench --example lines` prints, for each map and operation, how many
//! stores an operation makes to lines that both threads write. Needs valgrind. A minute.

use foldhash::fast::RandomState;
use quiescent_collections::RcuHashMap;
use std::collections::HashSet;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

const ENTRIES: u64 = 6_000;
/// Few, so that two threads hardly meet in a bucket by chance.
const TURNS: u64 = 24;
const OPERATIONS: [&str; 4] = ["get", "update", "remove", "insert"];
const MAPS: [&str; 4] = ["quiescent", "papaya", "dashmap", "scc"];

/// A store to it begins or ends a thread's turns.
static MARK: AtomicU64 = AtomicU64::new(0);

type Work = Arc<dyn Fn(&str, u64) + Send + Sync>;

fn work(map: &str) -> Work {
    match map {
        "quiescent" => {
            let map = RcuHashMap::<u64, u64, _>::with_hasher(RandomState::default());
            Arc::new(move |operation, key| match operation {
                "get" => drop(black_box(map.pin().get(&key).copied())),
                "update" => drop(map.pin().update(key, |it| it + 1).copied()),
                "remove" => drop(map.pin().remove(&key).copied()),
                _ => drop(map.pin().insert(key, 1).copied()),
            })
        }
        "papaya" => {
            let map = papaya::HashMap::<u64, u64, _>::with_hasher(RandomState::default());
            Arc::new(move |operation, key| match operation {
                "get" => drop(black_box(map.pin().get(&key).copied())),
                "update" => drop(map.pin().update(key, |it| it + 1).copied()),
                "remove" => drop(map.pin().remove(&key).copied()),
                _ => drop(map.pin().insert(key, 1).copied()),
            })
        }
        "dashmap" => {
            let map = dashmap::DashMap::<u64, u64, _>::with_hasher(RandomState::default());
            Arc::new(move |operation, key| match operation {
                "get" => drop(black_box(map.get(&key).map(|it| *it))),
                "update" => drop(map.get_mut(&key).map(|mut it| *it += 1)),
                "remove" => drop(map.remove(&key)),
                _ => drop(map.insert(key, 1)),
            })
        }
        _ => {
            let map = scc::HashMap::<u64, u64, _>::with_hasher(RandomState::default());
            Arc::new(move |operation, key| match operation {
                "get" => drop(black_box(map.read_sync(&key, |_, it| *it))),
                "update" => drop(map.update_sync(&key, |_, it| *it += 1)),
                "remove" => drop(map.remove_sync(&key)),
                _ => drop(map.upsert_sync(key, 1)),
            })
        }
    }
}

/// Each thread in its turn, a mark before and after; all of it once before anything is marked.
fn traced(map: &str) {
    // One call, since valgrind writes to the same file.
    let mark = format!("\nmark={}\n", (&raw const MARK).addr());
    std::io::stderr()
        .write_all(mark.as_bytes())
        .expect("a pipe");
    let (work, turn) = (work(map), Arc::new(Barrier::new(2)));
    (0..ENTRIES).for_each(|key| work("insert", key));
    let threads = [0, 1].map(|thread| {
        let (work, turn) = (work.clone(), turn.clone());
        std::thread::spawn(move || {
            let first = thread * ENTRIES / 2;
            for marked in [false, true] {
                for operation in OPERATIONS {
                    for of in 0..2 {
                        turn.wait();
                        if of != thread {
                            continue;
                        }
                        if marked {
                            MARK.store(1, SeqCst);
                        }
                        for key in first..first + TURNS {
                            work(operation, key);
                        }
                        if marked {
                            MARK.store(0, SeqCst);
                        }
                    }
                }
            }
        })
    });
    for it in threads {
        it.join().expect("no operation panics");
    }
}

/// The lines of each store of each thread, by operation; from valgrind's text, which has the address of the
/// mark in it.
fn counted(trace: impl BufRead) -> Vec<[Vec<u64>; 2]> {
    let mut stores = vec![[const { Vec::new() }; 2]; OPERATIONS.len()];
    let (mut mark, mut marks) = (None, 0);
    for line in trace.lines().map_while(Result::ok) {
        if let Some(address) = line.strip_prefix("mark=") {
            mark = address.parse().ok();
        }
        let Some(place) = line.strip_prefix(" S ").or(line.strip_prefix(" M ")) else {
            continue;
        };
        let address = place.split(',').next().unwrap_or_default();
        let address = u64::from_str_radix(address, 16).ok();
        match address {
            address if address == mark => marks += 1,
            Some(address) if marks % 2 == 1 => stores[marks / 4][marks / 2 % 2].push(address / 64),
            _ => (),
        }
    }
    stores
}

fn count(map: &str) -> std::io::Result<()> {
    let mut valgrind = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
        .arg(std::env::current_exe()?)
        .args(["traced", map])
        .stderr(Stdio::piped())
        .spawn()?;
    let trace = BufReader::new(valgrind.stderr.take().expect("a pipe"));
    let counted = counted(trace);
    valgrind.wait()?;
    for (operation, [one, other]) in OPERATIONS.iter().zip(counted) {
        let [ones, others] = [&one, &other].map(|it| it.iter().collect::<HashSet<_>>());
        let shared = |all: &[u64], other: &HashSet<&u64>| {
            all.iter().filter(|line| other.contains(line)).count() as f64
        };
        let stores = shared(&one, &others) + shared(&other, &ones);
        let each = stores / (2 * TURNS) as f64;
        println!(
            "{map:10} {operation:7} {each:6.2} stores to lines of both, {} stores",
            one.len()
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["traced", map] => traced(map),
        [] => {
            if let Err(why) = MAPS.iter().try_for_each(|map| count(map)) {
                eprintln!("cannot run valgrind: {why}; apt-get install valgrind");
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("usage: lines");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
