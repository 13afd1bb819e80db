//! Words: addresses, tags, arrays, and every name of the three pointers.

use crossbeam_epoch::{
    Atomic, Collector, Guard, LocalHandle, Owned, Pointable, Pointer, Shared, pin, unprotected,
};
use std::borrow::{Borrow, BorrowMut};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

static GLOBAL: Atomic<[u64; 2]> = Atomic::null();

#[test]
fn a_tag_is_what_alignment_leaves_free() {
    fn bits<T>() -> usize {
        Shared::<T>::null().with_tag(usize::MAX).tag()
    }
    assert_eq!(
        (bits::<u8>(), bits::<u16>(), bits::<u32>(), bits::<u64>()),
        (0, 1, 3, 7)
    );
    assert_eq!(
        Shared::<[MaybeUninit<u8>]>::null()
            .with_tag(usize::MAX)
            .tag(),
        align_of::<usize>() - 1
    );
    assert!(Shared::<u64>::null().with_tag(5).is_null());

    let guard = &pin();
    let one = Owned::new(1u64).with_tag(9); // 9 does not fit
    assert_eq!(one.tag(), 1);
    let one = one.into_shared(guard);
    assert_eq!((one.tag(), unsafe { *one.deref() }), (1, 1));
    assert_eq!(one.with_tag(2).with_tag(1), one);
    assert_ne!(one.with_tag(2), one);
    assert!(one.with_tag(0) < one && one.with_tag(0).as_raw() == one.as_raw());
    assert_eq!(unsafe { one.with_tag(7).into_owned() }.clone().tag(), 7);
}

#[test]
fn operations_on_tags_leave_the_address_alone() {
    let guard = &pin();
    let link = Atomic::new(5u64);
    let plain = link.load(Acquire, guard);
    assert_eq!(link.fetch_or(usize::MAX, AcqRel, guard), plain);
    assert_eq!(
        link.fetch_xor(usize::MAX - 1, AcqRel, guard),
        plain.with_tag(7)
    );
    assert_eq!(link.fetch_and(0, AcqRel, guard), plain.with_tag(1));
    assert_eq!(link.load_consume(guard), plain);
    assert_eq!(unsafe { *link.into_owned() }, 5);
}

#[test]
fn exchanges_compare_tags_and_give_back_what_they_do_not_store() {
    let guard = &pin();
    let link = Atomic::from(Owned::new(1u64));
    let one = link.load(Acquire, guard);
    let error = link
        .compare_exchange(one.with_tag(1), Owned::new(2), AcqRel, Acquire, guard)
        .unwrap_err();
    assert_eq!((error.current, *error.new), (one, 2));
    assert!(format!("{error:?}").starts_with("CompareExchangeError"));
    let mut new = error.new;
    let two = loop {
        match link.compare_exchange_weak(one, new, AcqRel, Acquire, guard) {
            Ok(two) => break two,
            Err(error) => new = error.new,
        }
    };
    assert_eq!(unsafe { two.as_ref() }, Some(&2));
    assert_eq!(link.swap(Shared::null(), AcqRel, guard), two);
    link.store(two.with_tag(3), Release);
    assert_eq!(
        link.fetch_update(SeqCst, SeqCst, guard, |_| None),
        Err(two.with_tag(3))
    );
    assert_eq!(
        link.fetch_update(SeqCst, SeqCst, guard, |old| Some(old.with_tag(0))),
        Ok(two.with_tag(3))
    );
    drop(unsafe { (one.into_owned(), link.try_into_owned().unwrap()) });
    assert!(unsafe { Atomic::<u64>::null().try_into_owned() }.is_none());
    assert!(unsafe { Shared::<u64>::null().try_into_owned() }.is_none());
}

#[test]
fn an_array_knows_its_length_and_takes_a_tag() {
    for length in [0, 1, 1000] {
        let mut array = Owned::<[MaybeUninit<u32>]>::init(length).with_tag(3);
        for (at, place) in array.iter_mut().enumerate() {
            place.write(at as u32);
        }
        let link = Atomic::<[MaybeUninit<u32>]>::from(array);
        let guard = &pin();
        let shared = link.load(Acquire, guard);
        let array = unsafe { shared.deref() };
        assert_eq!((shared.tag(), array.len()), (3, length));
        assert!(
            array
                .iter()
                .enumerate()
                .all(|(at, place)| unsafe { place.assume_init() } == at as u32)
        );
        drop(unsafe { link.into_owned() });
    }
}

#[test]
fn an_array_of_aligned_elements_is_aligned() {
    #[repr(align(64))]
    struct Line(#[allow(dead_code)] u8);
    let array = Owned::<[MaybeUninit<Line>]>::init(3);
    assert_eq!(array.as_ptr().addr() % 64, 0);
    assert_eq!(<[MaybeUninit<Line>]>::ALIGN, 64);
}

#[test]
#[should_panic(expected = "fits into the address space")]
fn an_array_that_fits_nowhere_is_refused() {
    drop(Owned::<[MaybeUninit<u64>]>::init(usize::MAX / 8));
}

#[test]
#[should_panic(expected = "unaligned pointer")]
fn an_unaligned_pointer_is_refused() {
    let _ = Shared::from(std::ptr::without_provenance::<u64>(12));
}

#[test]
fn conversions() {
    let guard = unsafe { unprotected() };
    let raw = Box::into_raw(Box::new(1u64));
    let owned = unsafe { Owned::from_raw(raw) };
    assert_eq!(*owned.into_box(), 1);
    let mut owned = Owned::from(Box::new(2u64));
    *<Owned<u64> as BorrowMut<u64>>::borrow_mut(&mut owned) += 1;
    *owned.as_mut() += 1;
    assert_eq!(
        (
            *owned.as_ref(),
            *<Owned<u64> as Borrow<u64>>::borrow(&owned)
        ),
        (4, 4)
    );
    assert!(format!("{owned:?}").starts_with("Owned"));
    let word = owned.with_tag(2).into_usize();
    let owned = unsafe { Owned::<u64>::from_usize(word) };
    let shared = owned.into_shared(guard);
    assert_eq!(
        unsafe { Shared::<u64>::from_usize(shared.into_usize()) },
        shared
    );
    assert_eq!(Shared::from(shared.as_raw()), shared.with_tag(0));
    let links = [
        Atomic::from(shared),
        Atomic::from(shared.as_raw()),
        Atomic::from(shared).clone(),
    ];
    assert!(
        links
            .iter()
            .all(|link| link.load(Relaxed, guard).as_raw() == shared.as_raw())
    );
    assert_eq!(format!("{:p}", links[0]), format!("{:p}", shared.as_raw()));
    assert_eq!(format!("{shared:p}"), format!("{:p}", shared.as_raw()));
    assert!(format!("{:?} {shared:?}", links[0]).starts_with("Atomic(Shared"));
    assert_eq!(unsafe { *{ shared }.deref_mut() }, 4);
    drop(unsafe { shared.into_owned() });
    drop(unsafe { [Atomic::from(5u64), Atomic::from(Box::new(6))].map(|link| link.into_owned()) });
    assert!(Atomic::<u64>::default().load(Relaxed, guard) == Shared::default());
    assert!(GLOBAL.load(Relaxed, guard).is_null());
}

/// Implemented for `Send` types, and for others with another parameter: ambiguous for those that are `Send`.
trait Ambiguous<A> {
    fn check() {}
}
impl<T: ?Sized> Ambiguous<()> for T {}
impl<T: ?Sized + Send> Ambiguous<u8> for T {}

#[test]
fn threads_share_what_crossbeam_lets_them_share() {
    fn both<T: Send + Sync>() {}
    both::<Collector>();
    both::<Atomic<u64>>();
    both::<Owned<u64>>();
    both::<Arc<Atomic<[MaybeUninit<u64>]>>>();
    // Would not compile if they were `Send`.
    <Guard as Ambiguous<_>>::check();
    <LocalHandle as Ambiguous<_>>::check();
    <Shared<'static, u64> as Ambiguous<_>>::check();
    <Atomic<std::cell::Cell<u64>> as Ambiguous<_>>::check();
}

/// An array of 12 bytes, at a multiple of 12.
struct Twelve([u8]);

impl Pointable for Twelve {
    const ALIGN: usize = 12;
    type Init = u8;

    unsafe fn init(first: u8) -> usize {
        let memory = Box::leak(Box::new([first; 72]))
            .as_mut_ptr()
            .expose_provenance();
        // One that has bits set which an alignment of 16 would clear.
        (memory..).find(|it| it % 12 == 0 && it & 12 == 12).unwrap()
    }

    unsafe fn deref<'a>(ptr: usize) -> &'a Twelve {
        let array = ptr::slice_from_raw_parts(ptr::with_exposed_provenance::<u8>(ptr), 12);
        unsafe { &*(array as *const Twelve) }
    }

    unsafe fn deref_mut<'a>(ptr: usize) -> &'a mut Twelve {
        let array = ptr::slice_from_raw_parts_mut(ptr::with_exposed_provenance_mut::<u8>(ptr), 12);
        unsafe { &mut *(array as *mut Twelve) }
    }

    unsafe fn drop(_: usize) {}
}

#[test]
fn an_alignment_that_is_no_power_of_two_leaves_the_address_alone() {
    let value = Owned::<Twelve>::init(7);
    let before = value.0.as_ptr();
    let value = value.with_tag(15);
    assert_eq!((value.tag(), value.0.as_ptr(), value.0[11]), (3, before, 7));
}
