//! [E0133] A closure that borrows what ends before it runs.
#![forbid(unsafe_code)]
#![allow(unused)]
fn main() {
    let x = 1;
    quiescent::defer_unchecked(|| drop(&x));
}
