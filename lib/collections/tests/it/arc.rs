//! `RcuArc`: each destructor runs once, after the last reference; no reference is got after the kill.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use crate::alone::alone;
use quiescent::{Options, barrier, read_lock, synchronize, thread_index};
use quiescent_collections::{RcuArc, RcuOwner};

/// A value that counts its destructors.
#[derive(Debug)]
struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// An object, and how often it was dropped.
fn object() -> (RcuOwner<Counted>, Arc<AtomicU32>) {
    let drops = Arc::new(AtomicU32::new(0));
    (RcuOwner::new(Counted(drops.clone())), drops)
}

#[track_caller]
fn get<T: Send + Sync>(owner: &RcuOwner<T>) -> RcuArc<T> {
    owner.try_get().expect("it lives")
}

/// Everything that was killed has been counted in one place.
#[track_caller]
fn assert_dropped(drops: &AtomicU32, times: u32) {
    barrier();
    assert_eq!(drops.load(SeqCst), times);
}

/// Numbers by chance, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn the_last_reference_drops_it_after_the_kill() {
    let (owner, drops) = object();
    let (first, second) = (get(&owner), get(&owner));
    let third = first.clone();
    assert!(RcuArc::ptr_eq(&first, &third));
    assert!(!RcuArc::ptr_eq(&first, &get(&object().0)));
    assert!(owner.kill());
    assert!(!owner.kill() && !RcuArc::kill(&first), "only once");
    assert!(owner.is_killed() && RcuArc::is_killed(&third));
    assert!(owner.try_get().is_none() && RcuArc::try_get(&first).is_none());
    drop(second);
    let fourth = first.clone(); // before or after the switch
    assert_dropped(&drops, 0);
    let fifth = third.clone(); // after it
    drop((first, third, fourth));
    drop(owner);
    assert_dropped(&drops, 0);
    assert_eq!(format!("{fifth:?}"), "Counted(0)");
    drop(fifth);
    assert_eq!(drops.load(SeqCst), 1, "on this thread, at once");
}

#[test]
fn the_drop_of_the_owner_kills() {
    let (owner, drops) = object();
    let reference = get(&owner);
    assert_eq!(format!("{owner:?}"), "RcuOwner(Counted(0))");
    drop(owner);
    assert!(RcuArc::try_get(&reference).is_none());
    assert_dropped(&drops, 0);
    drop(reference);
    assert_eq!(drops.load(SeqCst), 1);
    let (owner, drops) = object();
    drop(get(&owner));
    drop(owner);
    assert_dropped(&drops, 1);
}

#[test]
fn an_object_that_lives_stays_without_references() {
    let (owner, drops) = object();
    for _ in 0..3 {
        drop(get(&owner));
        synchronize();
        assert_dropped(&drops, 0);
    }
    assert_eq!(owner.0.load(SeqCst), 0);
}

/// A kill inside a section, whose end the switch waits for.
#[test]
fn a_kill_inside_a_section() {
    let (owner, drops) = object();
    let reference = get(&owner);
    let guard = read_lock();
    drop(owner);
    drop(reference.clone());
    drop(reference);
    assert_eq!(drops.load(SeqCst), 0);
    drop(guard);
    assert_dropped(&drops, 1);
}

/// References made on one thread, dropped on another, by threads that end: only the sum counts.
#[test]
fn references_change_threads() {
    let (owner, drops) = object();
    let (send, receive) = mpsc::channel::<RcuArc<Counted>>();
    let (first, other) = (get(&owner), get(&owner));
    let makers = thread::spawn(move || {
        for _ in 0..100 {
            let (send, first) = (send.clone(), first.clone());
            let maker = thread::spawn(move || {
                (0..10).for_each(|_| send.send(first.clone()).expect("it receives"));
            });
            maker.join().expect("no panic");
        }
    });
    let count = receive.iter().count();
    makers.join().expect("no panic");
    assert_eq!(count, 1000);
    drop(owner);
    assert_dropped(&drops, 0);
    drop(other);
    assert_eq!(drops.load(SeqCst), 1);
}

/// Threads take, clone, pass on and drop references of objects that are killed and replaced meanwhile.
#[test]
fn random_schedules() {
    const OBJECTS: usize = 4;
    const THREADS: u64 = 3;
    let made: Mutex<Vec<Arc<AtomicU32>>> = Mutex::default();
    let new = || {
        let (owner, drops) = object();
        made.lock().unwrap().push(drops);
        RcuOwner::new(owner) // an owner in an object: its drop kills another one
    };
    let owners: [_; OBJECTS] = std::array::from_fn(|_| Mutex::new(Some(Arc::new(new()))));
    let passed: Mutex<Vec<RcuArc<Counted>>> = Mutex::default();
    thread::scope(|scope| {
        for thread in 1..=THREADS {
            let (owners, passed, new) = (&owners, &passed, &new);
            scope.spawn(move || {
                let mut chance = Chance(thread * 0x9e37_79b9);
                let mut own: Vec<RcuArc<Counted>> = Vec::new();
                for _ in 0..3000 {
                    let place = &owners[chance.below(OBJECTS)];
                    match chance.below(8) {
                        0 | 1 => {
                            let owner = place.lock().unwrap().clone().expect("there is one");
                            own.extend(owner.try_get().and_then(|inner| inner.try_get()));
                        }
                        2 | 3 if !own.is_empty() => own.push(own[chance.below(own.len())].clone()),
                        4 if !own.is_empty() => passed.lock().unwrap().push(own.swap_remove(0)),
                        5 => own.extend(passed.lock().unwrap().pop()),
                        6 if chance.below(20) == 0 => {
                            *place.lock().unwrap() = Some(Arc::new(new()))
                        }
                        _ => drop(own.pop()),
                    }
                    let alive = |it: &RcuArc<Counted>| it.0.load(SeqCst) == 0;
                    assert!(own.last().is_none_or(alive), "dropped under a reference");
                }
            });
        }
    });
    passed.lock().unwrap().clear();
    owners.iter().for_each(|it| *it.lock().unwrap() = None);
    barrier(); // outer objects
    barrier(); // inner ones, which those killed
    let made = made.lock().unwrap();
    assert!(made.len() > OBJECTS);
    assert!(
        made.iter().all(|drops| drops.load(SeqCst) == 1),
        "each once"
    );
}

/// Threads clone and drop without a pause while the object is killed.
#[test]
fn a_kill_meanwhile() {
    for _ in 0..200 {
        let (owner, drops) = object();
        let start = Barrier::new(3);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut own = get(&owner);
                    start.wait();
                    while RcuArc::try_get(&own).is_some() {
                        own = own.clone();
                    }
                    for _ in 0..50 {
                        own = own.clone();
                        assert!(owner.try_get().is_none());
                    }
                    assert_eq!(own.0.load(SeqCst), 0);
                });
            }
            start.wait();
            owner.kill();
        });
        drop(owner);
        assert_dropped(&drops, 1);
    }
}

/// More objects than one block serves, and columns that serve one object after another.
#[test]
fn many_objects_one_after_another() {
    for round in 0..3 {
        let objects: Vec<_> = (0..1100).map(|_| object()).collect();
        let kept: Vec<_> = objects.iter().map(|(owner, _)| get(owner)).collect();
        let more = thread::spawn({
            let kept = kept.clone();
            move || kept.to_vec()
        });
        drop(kept);
        let more = more.join().expect("no panic");
        let drops: Vec<_> = objects.into_iter().map(|(_, drops)| drops).collect();
        barrier();
        assert!(drops.iter().all(|it| it.load(SeqCst) == 0), "round {round}");
        drop(more);
        assert!(drops.iter().all(|it| it.load(SeqCst) == 1), "round {round}");
    }
}

/// All slots are taken: the calling thread counts in the shared place, in every state of an object.
#[test]
fn a_thread_without_an_index() {
    alone(|| {
        Options::new().max_threads(1).apply().expect("one leaf");
        let (taken, over) = (Barrier::new(63), Barrier::new(63));
        let (owner, drops) = object();
        thread::scope(|scope| {
            for _ in 0..62 {
                scope.spawn(|| {
                    let own = get(&owner);
                    taken.wait();
                    drop(own.clone());
                    over.wait();
                });
            }
            taken.wait();
            assert_eq!(thread_index(), None);
            let own = get(&owner);
            drop((own.clone(), own.clone()));
            over.wait();
            owner.kill();
            let last = own.clone();
            drop(own);
            assert_dropped(&drops, 0);
            drop(last);
        });
        assert_dropped(&drops, 0);
        drop(owner);
        assert_dropped(&drops, 1);
    });
}

/// The child has the references of the thread that forked, and counts them.
#[cfg(target_os = "linux")]
#[test]
fn a_fork() {
    /// In the child, without a panic's output.
    fn check(owner: RcuOwner<Counted>, own: RcuArc<Counted>, drops: &AtomicU32) -> bool {
        let more = own.clone();
        drop(own);
        let next = thread::spawn(move || drop(more.clone()));
        let ended = next.join().is_ok();
        let lives = owner.try_get().is_some();
        drop(owner);
        barrier();
        let (new, new_drops) = object();
        drop(new);
        barrier();
        ended && lives && drops.load(SeqCst) == 1 && new_drops.load(SeqCst) == 1
    }
    alone(|| {
        let (owner, drops) = object();
        let own = get(&owner);
        let mut kept = Some((owner, own));
        let (busy, stop) = (AtomicU64::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            // Another thread is anywhere in a clone or a drop; it keeps none of another object for long.
            let (noise, _) = object();
            let (busy, stop) = (&busy, &stop);
            scope.spawn(move || {
                while stop.load(SeqCst) == 0 {
                    drop(noise.try_get());
                    busy.fetch_add(1, SeqCst);
                }
            });
            while busy.load(SeqCst) < 10 {
                thread::yield_now();
            }
            // SAFETY: the child uses this library and the standard one's threads, and ends with `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let (owner, own) = kept.take().expect("kept above");
                let good = check(owner, own, &drops);
                // SAFETY: takes a number.
                unsafe { libc::_exit(i32::from(!good)) }
            }
            let mut status = 0;
            // SAFETY: `status` is writable.
            let waited = unsafe { libc::waitpid(child, &mut status, 0) };
            stop.store(1, SeqCst);
            assert_eq!((waited, status), (child, 0), "the child failed");
        });
        drop(kept);
        assert_dropped(&drops, 1);
    });
}
