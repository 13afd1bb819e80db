//! Cells, lists and pointers, with every handle.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { struct Routes; }
fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}
fn main() {
    is_send::<RcuCell<String, Global>>();
    is_sync::<RcuCell<String, Global>>();
    is_send::<RcuCell<String, Domain>>();
    is_sync::<RcuCell<String, Domain>>();
    is_send::<RcuCell<String, &'static Domain>>();
    is_sync::<RcuCell<String, &'static Domain>>();
    is_send::<RcuCell<String, Srcu>>();
    is_sync::<RcuCell<String, Srcu>>();
    is_send::<RcuCell<String, &'static Srcu>>();
    is_sync::<RcuCell<String, &'static Srcu>>();
    is_send::<RcuCell<String, Routes>>();
    is_sync::<RcuCell<String, Routes>>();
    is_send::<RcuCell<String, RcuDomain<Routes, Single>>>();
    is_sync::<RcuCell<String, RcuDomain<Routes, Single>>>();
    is_send::<RcuOption<String, Global>>();
    is_sync::<RcuOption<String, Global>>();
    is_send::<RcuOption<String, Domain>>();
    is_sync::<RcuOption<String, Domain>>();
    is_send::<RcuOption<String, &'static Domain>>();
    is_sync::<RcuOption<String, &'static Domain>>();
    is_send::<RcuOption<String, Srcu>>();
    is_sync::<RcuOption<String, Srcu>>();
    is_send::<RcuOption<String, &'static Srcu>>();
    is_sync::<RcuOption<String, &'static Srcu>>();
    is_send::<RcuOption<String, Routes>>();
    is_sync::<RcuOption<String, Routes>>();
    is_send::<RcuOption<String, RcuDomain<Routes, Single>>>();
    is_sync::<RcuOption<String, RcuDomain<Routes, Single>>>();
    is_send::<RcuList<String, Global>>();
    is_sync::<RcuList<String, Global>>();
    is_send::<RcuList<String, Domain>>();
    is_sync::<RcuList<String, Domain>>();
    is_send::<RcuList<String, &'static Domain>>();
    is_sync::<RcuList<String, &'static Domain>>();
    is_send::<RcuList<String, Srcu>>();
    is_sync::<RcuList<String, Srcu>>();
    is_send::<RcuList<String, &'static Srcu>>();
    is_sync::<RcuList<String, &'static Srcu>>();
    is_send::<RcuList<String, Routes>>();
    is_sync::<RcuList<String, Routes>>();
    is_send::<RcuList<String, RcuDomain<Routes, Single>>>();
    is_sync::<RcuList<String, RcuDomain<Routes, Single>>>();
    is_send::<RcuPtr<String, Global>>();
    is_sync::<RcuPtr<String, Global>>();
    is_send::<RcuPtr<String, Domain>>();
    is_sync::<RcuPtr<String, Domain>>();
    is_send::<RcuPtr<String, &'static Domain>>();
    is_sync::<RcuPtr<String, &'static Domain>>();
    is_send::<RcuPtr<String, Srcu>>();
    is_sync::<RcuPtr<String, Srcu>>();
    is_send::<RcuPtr<String, &'static Srcu>>();
    is_sync::<RcuPtr<String, &'static Srcu>>();
    is_send::<RcuPtr<String, Routes>>();
    is_sync::<RcuPtr<String, Routes>>();
    is_send::<RcuPtr<String, RcuDomain<Routes, Single>>>();
    is_sync::<RcuPtr<String, RcuDomain<Routes, Single>>>();
}
