//! The Rust face of the loops in `shims/retire.h`: one macro, so that each C library is one line.

/// The subject of this name, from the functions of the C peer whose exported names begin so.
macro_rules! c_peer {
    ($prefix:literal, $name:literal) => {{
        use $crate::deferral::pace::{self, Pace};
        use $crate::deferral::swap::Swaps;
        use $crate::deferral::{BLOCK, Beside, Deferring, RETIRE, Verb};
        use $crate::measure::freed;
        use $crate::subjects::{Language, ReaderControl};
        // SAFETY: these are the functions of `shims/retire.h`, with the same parameters. They expect a thread
        // that was attached; everybody in this crate attaches a thread before it uses a subject.
        unsafe extern "C" {
            #[link_name = concat!($prefix, "_attach")]
            safe fn attach();
            #[link_name = concat!($prefix, "_detach")]
            safe fn detach();
            #[link_name = concat!($prefix, "_finish")]
            safe fn finish();
            #[link_name = concat!($prefix, "_settle")]
            safe fn settle();
            #[link_name = concat!($prefix, "_make")]
            fn make_many(slots: *mut *mut (), n: usize);
            #[link_name = concat!($prefix, "_retire")]
            fn retire_many(blocks: *const *mut (), n: usize);
            #[link_name = concat!($prefix, "_stamped")]
            fn stamped_many(blocks: *const *mut (), took: *mut u64, n: usize);
            #[link_name = concat!($prefix, "_all_in")]
            safe fn all_in(n: u64);
            #[link_name = concat!($prefix, "_owning")]
            safe fn owning(n: u64);
            #[link_name = concat!($prefix, "_read")]
            safe fn read(control: &ReaderControl) -> u64;
            #[link_name = concat!($prefix, "_update")]
            safe fn update(pace: &mut Pace<'_>, due: extern "C" fn(&mut Pace<'_>) -> u64);
            #[link_name = concat!($prefix, "_one")]
            safe fn one(value: u64, note: extern "C" fn(u64)) -> u64;
            #[link_name = concat!($prefix, "_many")]
            safe fn many(n: u64, note: extern "C" fn(u64));
            #[link_name = concat!($prefix, "_hold")]
            safe fn hold(control: &ReaderControl);
        }
        fn make(slots: &mut [*mut ()]) {
            // SAFETY: so many places to write to.
            unsafe { make_many(slots.as_mut_ptr(), slots.len()) };
        }
        unsafe fn retire(blocks: &[*mut ()]) {
            // SAFETY: so many places to read from; the caller's promise about what is there.
            unsafe { retire_many(blocks.as_ptr(), blocks.len()) };
        }
        unsafe fn stamped(blocks: &[*mut ()], took: &mut [u64]) {
            let n = blocks.len().min(took.len());
            // SAFETY: as in `retire`, and so many places to write to.
            unsafe { stamped_many(blocks.as_ptr(), took.as_mut_ptr(), n) };
        }
        Deferring {
            name: $name,
            language: Language::C,
            attach: || attach(),
            detach: || detach(),
            finish: || finish(),
            settle: || settle(),
            make,
            retire,
            stamped,
            all_in: |n| all_in(n),
            owning: Some(|n| owning(n)),
            swaps: Swaps::of_block(Beside {
                read: |control| read(control),
                update: |pace| update(pace, pace::due),
                retire: None,
            }),
            call: None,
            verbs: &[Verb {
                name: RETIRE,
                one: |value| one(value, freed::note),
                many: |n| many(n, freed::note),
                silent: None,
                massed: true,
                bytes: BLOCK,
                trickled: true,
            }],
            hold: Some(|control| hold(control)),
            names: None,
            barrier: None,
        }
    }};
}
pub(crate) use c_peer;
