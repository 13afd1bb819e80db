//! A guard may be used where one that borrows its domain for a shorter time is expected.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
struct Iter<'g> {
    guard: &'g Guard<&'g Domain>,
}
fn iter<'g>(guard: &'g Guard<&'_ Domain>) -> Iter<'g> {
    Iter { guard }
}
fn short<'a>(guard: Guard<&'static Domain>) -> Guard<&'a Domain> {
    guard
}
fn srcu<'a>(guard: Guard<&'static Srcu>) -> Guard<&'a Srcu> {
    guard
}
fn sent<'a>(guard: Guard<Sendable<&'static Srcu>>) -> Guard<Sendable<&'a Srcu>> {
    guard
}
fn main() {
    static DOMAIN: Domain = Domain::new();
    static SRCU: Srcu = Srcu::new();
    let guard = DOMAIN.read_lock();
    assert!(iter(&guard).guard.is_of(&DOMAIN));
    drop(short(guard));
    assert!(!DOMAIN.in_section());
    drop((srcu(SRCU.read_lock()), sent(SRCU.read_lock_send())));
    SRCU.synchronize();
}
