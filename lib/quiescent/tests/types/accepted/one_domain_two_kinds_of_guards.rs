//! One domain with guards of a thread and guards that may be sent: an `Srcu`.
#![forbid(unsafe_code)]
use quiescent::*;
fn send<T: Send>(_: T) {}
fn main() {
    let domain = Srcu::new();
    let cell = RcuCell::new_in(1, &domain);
    let local = domain.read_lock();
    let sent = domain.read_owned_send();
    assert_eq!(cell.load(&local), cell.load(&sent));
    send(sent);
    drop(local);
}
