//! Constants and statics.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
static A: RcuOption<String> = RcuOption::empty();
static B: RcuList<String> = RcuList::new();
static C: RcuPtr<String> = RcuPtr::null();
static D: Domain = Domain::new();
static E: Srcu<u8> = Srcu::tagged();
static F: RcuOption<u8, &Domain> = RcuOption::empty_in(&D).with_weight(|_| 1);
static G: RcuList<u8, Domain> = RcuList::new_in(Domain::new());
const H: RcuList<u8> = RcuList::new();
const I: RcuOption<String> = RcuOption::empty();
fn main() {
    H.push_front(1);
    assert!(H.is_empty());
    I.store(Some(String::new()));
    read(|g| assert!(I.load(g).is_none()));
    B.push_front(String::new());
    F.store(Some(1));
    G.push_front(1);
}
