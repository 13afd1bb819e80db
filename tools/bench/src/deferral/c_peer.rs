//! The Rust face of the loops in `shims/retire.h`: one macro, so that each C library is one line.

/// Declares the functions of the C peer whose exported names begin with the same prefix, and `subject()`,
/// which puts them into the table of [`super`].
macro_rules! c_peer {
    ($attach:ident $detach:ident $finish:ident $settle:ident $make:ident $retire:ident $stamped:ident
     $all_in:ident $owning:ident $read:ident $update:ident $one:ident $many:ident $hold:ident) => {
        // SAFETY: these are the functions of `shims/retire.h`, with the same parameters. They expect a thread
        // that was attached; everybody in this crate attaches a thread before it uses a subject.
        unsafe extern "C" {
            safe fn $attach();
            safe fn $detach();
            safe fn $finish();
            safe fn $settle();
            fn $make(slots: *mut *mut (), n: usize);
            fn $retire(blocks: *const *mut (), n: usize);
            fn $stamped(blocks: *const *mut (), took: *mut u64, n: usize);
            safe fn $all_in(n: u64);
            safe fn $owning(n: u64);
            safe fn $read(control: &$crate::subjects::ReaderControl) -> u64;
            safe fn $update(
                pace: &mut $crate::deferral::pace::Pace<'_>,
                due: extern "C" fn(&mut $crate::deferral::pace::Pace<'_>) -> u64,
            );
            safe fn $one(value: u64, note: extern "C" fn(u64)) -> u64;
            safe fn $many(n: u64, note: extern "C" fn(u64));
            safe fn $hold(control: &$crate::subjects::ReaderControl);
        }

        pub(super) fn subject(name: &'static str) -> $crate::deferral::Deferring {
            fn make(slots: &mut [*mut ()]) {
                // SAFETY: so many places to write to.
                unsafe { $make(slots.as_mut_ptr(), slots.len()) };
            }
            unsafe fn retire(blocks: &[*mut ()]) {
                // SAFETY: so many places to read from; the caller's promise about what is there.
                unsafe { $retire(blocks.as_ptr(), blocks.len()) };
            }
            unsafe fn stamped(blocks: &[*mut ()], took: &mut [u64]) {
                let n = blocks.len().min(took.len());
                // SAFETY: as in `retire`, and so many places to write to.
                unsafe { $stamped(blocks.as_ptr(), took.as_mut_ptr(), n) };
            }
            $crate::deferral::Deferring {
                name,
                language: $crate::subjects::Language::C,
                attach: || $attach(),
                detach: || $detach(),
                finish: || $finish(),
                settle: || $settle(),
                make,
                retire,
                stamped,
                all_in: |n| $all_in(n),
                owning: Some(|n| $owning(n)),
                swaps: $crate::deferral::swap::Swaps::of_block($crate::deferral::Beside {
                    read: |control| $read(control),
                    update: |pace| $update(pace, $crate::deferral::pace::due),
                    retire: None,
                }),
                call: None,
                verbs: &[$crate::deferral::Verb {
                    name: $crate::deferral::RETIRE,
                    one: |value| $one(value, $crate::measure::freed::note),
                    many: |n| $many(n, $crate::measure::freed::note),
                    silent: None,
                    massed: true,
                    bytes: $crate::deferral::BLOCK,
                    trickled: true,
                }],
                hold: Some(|control| $hold(control)),
                names: None,
                barrier: None,
            }
        }
    };
}
pub(super) use c_peer;
