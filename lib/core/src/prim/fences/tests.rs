//! Sharing of fences; the test decides when each system call ends.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::*;

/// Longer than any test.
const FOR_EVER: u64 = u64::MAX;

/// The fences in progress: the channels for their results.
type UnderWay = Arc<Mutex<Vec<Sender<Result<(), i32>>>>>;

/// A thread that needs a fence.
struct Caller {
    thread: JoinHandle<Result<Whose, i32>>,
    /// The kernel's files about the thread.
    files: PathBuf,
    /// The address on which it sleeps when another fence is in progress.
    bell: String,
}

impl Caller {
    fn start(fences: &Arc<Fences>, under_way: &UnderWay, patience: u64) -> Caller {
        let (fences, under_way) = (fences.clone(), under_way.clone());
        let bell = format!(" {:#x} ", (&raw const fences.bell).addr());
        let issue = move || {
            let (ends, end): (_, Receiver<_>) = channel();
            under_way.lock().expect("no panic").push(ends);
            end.recv().expect("the test ends it")
        };
        let (send_files, receive_files) = channel();
        let thread = thread::spawn(move || {
            let files = std::fs::canonicalize("/proc/thread-self");
            send_files.send(files).expect("the test listens");
            let over = fences.over();
            match fences.begin(over) {
                true => fences.end(over + 1, issue()),
                false => fences.pass_with_others(patience, issue),
            }
        });
        let files = receive_files.recv().expect("it says so first");
        let files = files.expect("/proc");
        Caller {
            thread,
            files,
            bell,
        }
    }

    /// True if the thread sleeps there; where the kernel does not say where: anywhere.
    fn sleeps(&self) -> bool {
        let read = |name| std::fs::read_to_string(self.files.join(name));
        let sleeps = read("stat").is_ok_and(|stat| {
            let state = stat.rsplit(") ").next();
            state.is_some_and(|state| state.starts_with('S'))
        });
        // The portable back-end sleeps on a word of its own.
        let there = |call: String| cfg!(quiescent_portable) || call.contains(&self.bell);
        sleeps && read("syscall").map_or(true, there)
    }

    fn result(self) -> Result<Whose, i32> {
        self.thread.join().expect("no panic")
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn count_of(under_way: &UnderWay) -> usize {
    under_way.lock().expect("no panic").len()
}

fn end_first(under_way: &UnderWay, how: Result<(), i32>) {
    let ends = under_way.lock().expect("no panic").remove(0);
    ends.send(how).expect("a caller issues it");
}

/// One fence in progress, and `late` callers that came too late for it and sleep.
fn one_and_late(late: usize) -> (Arc<Fences>, UnderWay, Caller, Vec<Caller>) {
    let (fences, under_way) = (Arc::new(Fences::new()), UnderWay::default());
    let first = Caller::start(&fences, &under_way, FOR_EVER);
    until("the first is under way", || count_of(&under_way) == 1);
    let mut callers = Vec::new();
    for _ in 0..late {
        let caller = Caller::start(&fences, &under_way, FOR_EVER);
        until("one more sleeps", || caller.sleeps());
        callers.push(caller);
    }
    (fences, under_way, first, callers)
}

#[test]
fn a_lone_caller_issues_its_own_fence() {
    let fences = Fences::new();
    for issued in 1..4 {
        assert_eq!(fences.pass(|| Ok(())), Ok(Whose::Own));
        assert_eq!(fences.issued(), issued);
    }
    assert_eq!(fences.pass(|| Err(7)), Err(7));
    assert_eq!(fences.pass(|| Ok(())), Ok(Whose::Own));
    assert_eq!((fences.issued(), fences.over()), (5, 5));
}

#[test]
fn callers_during_a_fence_share_the_next() {
    crate::needs!(linux);
    let (fences, under_way, first, late) = one_and_late(5);
    end_first(&under_way, Ok(()));
    assert_eq!(first.result(), Ok(Whose::Own));
    until("one of them issues the next", || count_of(&under_way) == 1);
    assert!(
        !late.iter().any(|caller| caller.thread.is_finished()),
        "the first one began before they came"
    );
    end_first(&under_way, Ok(()));
    let got: Vec<_> = late
        .into_iter()
        .map(|it| it.result().expect("it"))
        .collect();
    let own = got.iter().filter(|&&whose| whose == Whose::Own).count();
    assert_eq!((own, got.len(), fences.issued()), (1, 5, 2));
}

#[test]
fn a_refusal_is_returned_to_its_issuer() {
    crate::needs!(linux);
    let (fences, under_way, first, late) = one_and_late(2);
    end_first(&under_way, Err(1));
    assert_eq!(first.result(), Err(1));
    until("one of them tries", || count_of(&under_way) == 1);
    end_first(&under_way, Err(2));
    until("the other one tries", || count_of(&under_way) == 1);
    end_first(&under_way, Ok(()));
    let mut got: Vec<_> = late.into_iter().map(Caller::result).collect();
    got.sort_by_key(Result::is_ok);
    assert_eq!(got, [Err(2), Ok(Whose::Own)]);
    assert_eq!((fences.issued(), fences.over()), (3, 3));
}

#[test]
fn a_preempted_issuer_is_waited_for_at_most_its_patience() {
    crate::needs!(linux);
    let (fences, under_way, stopped, _) = one_and_late(0);
    let late = Caller::start(&fences, &under_way, 1_000_000);
    until("it issues its own", || count_of(&under_way) == 2);
    let ends = under_way.lock().expect("no panic").remove(1);
    ends.send(Ok(())).expect("it issues it");
    assert_eq!(late.result(), Ok(Whose::Own));
    assert_eq!(
        fences.pass(|| Ok(())),
        Ok(Whose::Own),
        "no fence is waited for"
    );
    end_first(&under_way, Ok(()));
    assert_eq!(stopped.result(), Ok(Whose::Own));
    assert_eq!(
        (fences.issued(), fences.over()),
        (3, 3),
        "its number is an old one"
    );
}

#[test]
fn in_the_child_of_a_fork_no_fence_is_in_progress() {
    crate::needs!(linux);
    let (fences, under_way, first, _) = one_and_late(0);
    fences.forked();
    assert_eq!(fences.issued(), 0);
    assert_eq!(fences.pass(|| Ok(())), Ok(Whose::Own));
    assert_eq!(fences.issued(), 1);
    end_first(&under_way, Ok(())); // of a thread that the child does not have
    assert_eq!(first.result(), Ok(Whose::Own));
    assert_eq!(fences.over(), 2);
}
