//! Arrays behind one word: the length lies before the elements.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr;

use crate::pointer::Pointable;

/// What the address of an array is that of.
#[repr(C)]
struct Array<T> {
    length: usize,
    elements: [MaybeUninit<T>; 0],
}

impl<T> Array<T> {
    /// # Panics
    /// If the size does not fit into the address space.
    fn layout(length: usize) -> Layout {
        Layout::array::<MaybeUninit<T>>(length)
            .and_then(|elements| Layout::new::<Self>().extend(elements))
            .expect("the size of an array fits into the address space")
            .0
            .pad_to_align()
    }

    /// The array's elements: where they are, and how many.
    ///
    /// # Safety
    /// The address is of an array that is alive.
    unsafe fn elements(address: usize) -> (*mut MaybeUninit<T>, usize) {
        let array = ptr::with_exposed_provenance_mut::<Self>(address);
        // SAFETY: the caller's promise; the elements' place is inside, or at the end, of the memory.
        unsafe { ((&raw mut (*array).elements).cast(), (*array).length) }
    }
}

/// `init` takes the number of elements, and leaves them uninitialised. Elements are not dropped.
impl<T> Pointable for [MaybeUninit<T>] {
    const ALIGN: usize = align_of::<Array<T>>();

    type Init = usize;

    unsafe fn init(length: usize) -> usize {
        let layout = Array::<T>::layout(length);
        // SAFETY: its size is not 0, it has a length.
        let array = unsafe { alloc(layout) }.cast::<Array<T>>();
        if array.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: memory of this layout.
        unsafe { (&raw mut (*array).length).write(length) };
        array.expose_provenance()
    }

    unsafe fn deref<'a>(ptr: usize) -> &'a Self {
        // SAFETY: the caller's promise.
        let (first, length) = unsafe { Array::elements(ptr) };
        // SAFETY: so many elements, which need no initialisation.
        unsafe { std::slice::from_raw_parts(first, length) }
    }

    unsafe fn deref_mut<'a>(ptr: usize) -> &'a mut Self {
        // SAFETY: the caller's promise.
        let (first, length) = unsafe { Array::elements(ptr) };
        // SAFETY: as in `deref`, and the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(first, length) }
    }

    unsafe fn drop(ptr: usize) {
        // SAFETY: the caller's promise.
        let (_, length) = unsafe { Array::<T>::elements(ptr) };
        // SAFETY: allocated by `init` with this layout.
        unsafe {
            dealloc(
                ptr::with_exposed_provenance_mut(ptr),
                Array::<T>::layout(length),
            )
        };
    }
}
