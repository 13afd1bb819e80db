//! `domain!` in functions, generic functions, macros, a trait's method, with attributes and visibilities: the
//! types are distinct.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
mod inner {
    quiescent::domain! {
        /** documented */
        #[derive(Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(C)]
        pub(in crate::inner) struct Deep;
    }
    quiescent::domain! { #[must_use] pub(super) struct Up; }
}
quiescent::domain! { struct DOMAIN; }
quiescent::domain! { struct r#fn; }
macro_rules! two {
    ($a:ident $b:ident) => {
        quiescent::domain! { struct $a; }
        quiescent::domain! { struct $b; }
    };
}
two!(A B);
trait Has {
    fn get() -> *const ();
}
impl<T> Has for Vec<T> {
    fn get() -> *const () {
        quiescent::domain! { struct A; }
        std::ptr::from_ref(A::domain()).cast()
    }
}
fn generic<T>() -> *const () {
    quiescent::domain! { struct A; }
    std::ptr::from_ref(A::domain()).cast()
}
fn other() -> *const () {
    quiescent::domain! { struct A; }
    std::ptr::from_ref(A::domain()).cast()
}
fn main() {
    assert_eq!(generic::<u8>(), generic::<u16>());
    assert_eq!(<Vec<u8> as Has>::get(), <Vec<u16> as Has>::get());
    let all = [
        generic::<u8>(),
        other(),
        <Vec<u8> as Has>::get(),
        std::ptr::from_ref(A::domain()).cast(),
        std::ptr::from_ref(B::domain()).cast(),
        std::ptr::from_ref(DOMAIN::domain()).cast(),
        std::ptr::from_ref(inner::Up::domain()).cast(),
        std::ptr::from_ref(r#fn::domain()).cast(),
    ];
    for (n, a) in all.iter().enumerate() {
        for b in &all[..n] {
            assert_ne!(a, b);
        }
    }
    let c = RcuCell::new_in(1, DOMAIN);
    c.load(&Guard::new_in(DOMAIN));
    c.load(&DOMAIN.read_lock());
    c.load(&(*DOMAIN).clone().read_owned());
}
