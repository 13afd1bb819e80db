//! Of a value that is both.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn main() {
    is_send::<Retired<String>>();
    is_sync::<Retired<String>>();
    is_send::<Retired<String, Domain>>();
    is_sync::<Retired<String, Domain>>();
    is_send::<Retired<ListNode<String>>>();
    is_sync::<Held<'static, String, Sendable<Srcu>>>();
    is_send::<Held<'static, str, Sendable<Srcu>>>();
    is_send::<ListIter<'static, String>>();
    is_sync::<ListIter<'static, String>>();
    is_send::<Exchanged<Option<String>, Option<&'static String>>>();
    is_sync::<Exchanged<Option<String>, Option<&'static String>>>();
    is_send::<Refused<Retired<String>>>();
    is_sync::<Refused<Retired<String>>>();
}
