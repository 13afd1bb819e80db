//! [lifetime may not live long enough] A part that is borrowed from something else.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn part<'a>(cell: &'static RcuCell<u32>, other: &'a u32) -> Held<'static, u32> {
    cell.hold(read_lock()).map(|_| other)
}
fn main() {}
