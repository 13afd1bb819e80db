//! Futures and cookies, with every handle.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn main() {
    is_send::<GracePeriod<Global>>();
    is_sync::<GracePeriod<Global>>();
    is_send::<GracePeriod<Domain>>();
    is_sync::<GracePeriod<Domain>>();
    is_send::<GracePeriod<&'static Domain>>();
    is_sync::<GracePeriod<&'static Domain>>();
    is_send::<GracePeriod<Srcu>>();
    is_sync::<GracePeriod<Srcu>>();
    is_send::<GracePeriod<Routes>>();
    is_sync::<GracePeriod<Routes>>();
    is_send::<BarrierFuture<Global>>();
    is_sync::<BarrierFuture<Global>>();
    is_send::<BarrierFuture<Domain>>();
    is_sync::<BarrierFuture<Domain>>();
    is_send::<BarrierFuture<&'static Domain>>();
    is_sync::<BarrierFuture<&'static Domain>>();
    is_send::<BarrierFuture<Srcu>>();
    is_sync::<BarrierFuture<Srcu>>();
    is_send::<BarrierFuture<Routes>>();
    is_sync::<BarrierFuture<Routes>>();
    is_send::<Cookie<Global>>();
    is_sync::<Cookie<Global>>();
    is_send::<Cookie<Domain>>();
    is_sync::<Cookie<Domain>>();
    is_send::<Cookie<&'static Domain>>();
    is_sync::<Cookie<&'static Domain>>();
    is_send::<Cookie<Srcu>>();
    is_sync::<Cookie<Srcu>>();
    is_send::<Cookie<Routes>>();
    is_sync::<Cookie<Routes>>();
}
