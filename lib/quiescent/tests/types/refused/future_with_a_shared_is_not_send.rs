//! [future cannot be sent between threads safely] A found object across an await.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: Send>(_: T) {}
async fn f(p: &'static RcuPtr<u32>, g: &'static Guard<Srcu>) {}
fn main() {
    is(async {
        let p = RcuPtr::new(Box::new(1));
        let g = read_lock();
        let s = p.load_shared(&g);
        std::future::ready(()).await;
        drop(s);
    });
}
