//! The scan of a grace period with hundreds of real threads, by counters. One test, because it counts what
//! the whole process does.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::isolated;
use quiescent::stats::Statistics;
use quiescent::{read_lock, statistics, synchronize, synchronize_timeout};

/// Threads that are registered beside this one.
const MANY: usize = 300;
/// Those of them that stay.
const FEW: usize = 5;
/// Slots in a group; two of the first group's are not given to threads.
const GROUP: usize = 64;

/// A command for a thread.
enum Tell {
    Enter,
    Exit,
}

/// A registered thread, asleep outside any section.
struct Other {
    tell: Sender<Tell>,
    did: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Other {
    /// Returns when it has read, so threads get their slots in the order of these calls.
    fn start() -> Other {
        let (tell, commands) = channel();
        let (say, did) = channel();
        let thread = std::thread::Builder::new()
            .stack_size(128 << 10)
            .spawn(move || {
                let mut guard = Some(read_lock());
                guard.take();
                say.send(()).unwrap();
                while let Ok(what) = commands.recv() {
                    guard = match what {
                        Tell::Enter => Some(read_lock()),
                        Tell::Exit => None,
                    };
                    say.send(()).unwrap();
                }
                drop(guard);
            });
        let thread = thread.expect("a thread for a test");
        did.recv().unwrap();
        Other { tell, did, thread }
    }

    fn tell(&self, what: Tell) {
        self.tell.send(what).unwrap();
        self.did.recv().unwrap();
    }

    /// Returns when its exit hook has run.
    fn end(self) {
        drop(self.tell);
        self.thread.join().unwrap();
    }
}

/// The work since `before`: scans, groups that were scanned, steps.
fn since(before: &Statistics) -> (u64, u64, u64) {
    let now = statistics();
    (
        now.scans - before.scans,
        now.leaves_scanned - before.leaves_scanned,
        now.steps - before.steps,
    )
}

#[test]
fn a_grace_period_scans_only_groups_with_holdouts() {
    isolated(|| {
        drop(read_lock());
        let mut others: Vec<Other> = (0..MANY).map(|_| Other::start()).collect();
        assert_eq!(statistics().registered as usize, 1 + MANY);
        synchronize();

        let groups = (2 + 1 + MANY).div_ceil(GROUP) as u64;
        let before = statistics();
        synchronize();
        let (scans, leaves, all_steps) = since(&before);
        assert_eq!((scans, leaves), (1, groups), "no thread is inside");

        // One reader blocks the grace period: after the first scan only its group is scanned.
        let last = others.last().expect("there are many");
        last.tell(Tell::Enter);
        let before = statistics();
        assert!(synchronize_timeout(Duration::from_millis(20)).is_err());
        let (scans, leaves, _) = since(&before);
        assert!(scans > 3, "{scans} scans for a holdout");
        assert_eq!(leaves, groups + scans - 1);
        last.tell(Tell::Exit);
        synchronize();

        // Most are gone. One grace period finds it out, and the next ones pass their groups over.
        let few = others.split_off(MANY - FEW);
        others.into_iter().for_each(Other::end);
        assert_eq!(statistics().registered as usize, 1 + FEW);
        synchronize();
        let before = statistics();
        synchronize();
        let (scans, leaves, steps) = since(&before);
        assert_eq!(
            (scans, leaves),
            (1, 2),
            "this thread's group and that of the few"
        );
        // One piece of work for each group.
        assert_eq!(all_steps - steps, groups - 2);

        // Newcomers fill the gaps: no group is added, and grace periods see them again.
        let newcomers: Vec<Other> = (0..GROUP).map(|_| Other::start()).collect();
        synchronize();
        let before = statistics();
        synchronize();
        assert_eq!(since(&before).1, 3);
        newcomers.into_iter().chain(few).for_each(Other::end);
    });
}
