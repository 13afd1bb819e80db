//! [lifetime may not live long enough] The part of a held value is not borrowed from what does not live as long.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn part<'a>(cell: &'static RcuCell<u32>, other: &'a u32) -> Held<'static, u32> {
    cell.hold(read_lock()).map(|_| other)
}
fn main() {}
