//! Domains and handles are equal, and guards are of a domain, if it is the same one.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
domain! {
    struct Mine;
}
domain! {
    struct Other;
}
fn check(guard: &Guard<&Domain>, mine: &Domain) -> bool {
    *guard.domain() == mine
}
fn same(a: &Domain, b: &Domain) -> bool {
    a == b
}
fn main() {
    let (one, two) = (Domain::new(), Domain::new());
    assert!(one != two && one == one, "unused");
    let guard = one.read_lock();
    assert!(one != two, "one is used");
    let again = two.clone();
    assert!(same(&two, &again) && !same(&one, &again));
    assert!(check(&guard, &one) && !check(&guard, &two));
    assert!(guard.is_of(&one) && guard.is_of(&&one) && !guard.is_of(&again));
    assert!(!guard.is_of(&Global) && read_lock().is_of(&Global) && !read_lock().is_of(&one));
    assert!(*Mine == *Mine);
    let mine = Guard::new_in(Mine);
    assert!(mine.is_of(&Mine) && mine.is_of(&*Mine) && !mine.is_of(&Other) && !mine.is_of(&one));
    let (srcu, unused) = (Srcu::new(), Srcu::new());
    let sent = srcu.read_owned_send();
    assert!(sent.is_of(&srcu) && sent.is_of(&Sendable(&srcu)) && !sent.is_of(&unused));
    assert!(Sendable(srcu.clone()) == *sent.domain());
    assert!(!sent.is_of(&guard.domain().clone()));
}
