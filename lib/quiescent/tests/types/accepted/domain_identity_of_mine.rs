//! Further traits on a `domain!` type do not change which domain it is.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
quiescent::domain! { #[derive(Default, PartialEq)] struct Routes; }
static OTHER: Domain = Domain::new();
impl std::borrow::Borrow<Domain> for Routes {
    fn borrow(&self) -> &Domain {
        &OTHER
    }
}
impl AsRef<Domain> for Routes {
    fn as_ref(&self) -> &Domain {
        &OTHER
    }
}
impl std::ops::DerefMut for Routes {
    fn deref_mut(&mut self) -> &mut RcuDomain<Routes, Single> {
        unreachable!("nothing calls it")
    }
}
impl From<Routes> for Global {
    fn from(_: Routes) -> Global {
        Global
    }
}
impl Routes {
    fn domain() -> &'static Domain {
        &OTHER
    }
    fn clone(&self) -> u8 {
        1
    }
    fn open_section(&self) -> u8 {
        2
    }
    fn domain_backend(&self) -> u8 {
        2
    }
}
trait Evil {
    fn domain() -> u8;
    fn place(&self) -> u8;
}
impl<T> Evil for T {
    fn domain() -> u8 {
        1
    }
    fn place(&self) -> u8 {
        1
    }
}
fn main() {
    let cell = RcuCell::new_in(1, Routes);
    let g = Guard::new_in(Routes);
    let seen = cell.load(&g);
    let old = cell.store(2);
    assert!(matches!(
        Singleton_domain().synchronize_timeout(std::time::Duration::from_millis(1)),
        Err(SyncError::InsideSection)
    ));
    assert_eq!(*seen, 1);
    drop(g);
    assert_eq!(*old.wait(), 1);
}
fn Singleton_domain() -> &'static RcuDomain<Routes, Single> {
    <Routes as Singleton>::domain()
}
