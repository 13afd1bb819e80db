//! A program that makes and drops domains, threads and maps, and ends as it is: sanitizers have nothing to
//! report about it, neither races nor leaks.

use std::sync::{Arc, mpsc};
use std::thread;

use quiescent::{Domain, RcuCell, RcuList, Srcu, defer, read};
use quiescent_collections::{RcuHashMap, RcuOwner};

const THREADS: u32 = 4;
const ROUNDS: u32 = 20;

/// What a thread does in a round: all kinds of structures, in domains of its own and in those of others.
fn round(shared: &RcuCell<Vec<u32>>, map: &RcuHashMap<u32, String>, number: u32) {
    let (domain, srcu) = (Domain::new(), Srcu::new());
    let cell = RcuCell::new_in(vec![number; 100], domain.clone());
    let other = RcuCell::new_in(vec![number; 100], srcu.clone());
    let list = RcuList::from_iter([number]);
    for n in 0..100 {
        shared.store(vec![n; 100]);
        cell.store(vec![n; 100]);
        other.store(vec![n; 100]);
        list.push_front(n);
        map.pin().insert(number * 100 + n, n.to_string());
        map.pin().remove(&(number * 100 + n / 2));
        assert_eq!(domain.read(|guard| cell.load(guard)[99]), n);
        assert_eq!(srcu.read(|guard| other.load(guard)[99]), n);
    }
    list.clear();
    let owner = RcuOwner::new(number.to_string());
    let reference = owner.try_get().expect("it lives");
    domain.defer(move || drop(reference));
    defer(|| ());
    if number % 2 == 0 {
        domain.synchronize();
        srcu.barrier();
    }
}

/// Several domains at a time, used by one thread and left to the end of the process.
fn abandoned() {
    let domains: Vec<Domain> = (0..5).map(|_| Domain::new()).collect();
    let srcus: Vec<Srcu> = (0..5).map(|_| Srcu::new()).collect();
    domains.iter().for_each(Domain::synchronize);
    srcus.iter().for_each(Srcu::synchronize);
}

fn main() {
    abandoned();
    let shared = Arc::new(RcuCell::new(Vec::new()));
    for _ in 0..ROUNDS {
        let map = Arc::new(RcuHashMap::new());
        let (sender, receiver) = mpsc::channel();
        for number in 0..THREADS {
            let (shared, map, sender) = (shared.clone(), map.clone(), sender.clone());
            thread::spawn(move || {
                round(&shared, &map, number);
                drop((shared, map));
                sender.send(()).expect("it waits");
            });
        }
        (0..THREADS).for_each(|_| receiver.recv().expect("a thread panicked"));
    }
    assert!(read(|guard| shared.load(guard).len()) == 100);
}
