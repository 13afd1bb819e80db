//! [E0502] The owner swapped.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let mut c0;
    {
        let c = RcuCell::new(String::new());
        c0 = c;
    }
    let mut c = c0;
    let mut other = RcuCell::new(String::new());
    let g = read_lock();
    let x = c.load(&g);
    std::mem::swap(&mut c, &mut other);
    println!("{x}");
}
