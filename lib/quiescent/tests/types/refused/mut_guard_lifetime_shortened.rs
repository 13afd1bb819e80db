//! [lifetime may not live long enough] `&mut Guard<&'a D>` is invariant.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn f<'a, 'b>(g: &'b mut Guard<&'static Domain>) -> &'b mut Guard<&'a Domain>
where
    'static: 'a,
{
    g
}
fn main() {}
