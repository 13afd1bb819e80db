//! [E0505] An Srcu guard sent away while a reference is used.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let s: &'static Srcu = Box::leak(Box::new(Srcu::new()));
    let c = RcuCell::new_in(String::new(), s);
    let g = s.read_lock_send();
    let x = c.load(&g);
    std::thread::spawn(move || drop(g));
    println!("{x}");
}
