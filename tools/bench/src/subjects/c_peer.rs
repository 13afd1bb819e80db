//! The Rust face of the loops in `shims/loops.h`: one macro, so that each C library is one line.

/// Declares the functions of the C peer whose exported names begin with `$prefix`, and two functions,
/// `loops()` and `waiting()`, that put them into the tables of [`super`].
macro_rules! c_peer {
    ($attach:ident $detach:ident $online:ident $offline:ident $sync:ident $reader:ident
     $empty:ident $nested:ident $load:ident $repin:ident) => {
        // SAFETY: these are the functions of `shims/loops.h`, with the same parameters. They expect a thread
        // that was attached; everybody in this crate attaches a thread before it uses a subject.
        unsafe extern "C" {
            safe fn $attach();
            safe fn $detach();
            safe fn $online();
            safe fn $offline();
            safe fn $sync();
            safe fn $reader(control: &$crate::subjects::ReaderControl);
            safe fn $empty(n: u64);
            safe fn $nested(n: u64);
            safe fn $load(n: u64);
            safe fn $repin(n: u64);
        }

        pub(super) fn subject(name: &'static str) -> $crate::subjects::Subject {
            $crate::subjects::Subject {
                name,
                language: $crate::subjects::Language::C,
                attach: || $attach(),
                detach: || $detach(),
                loops: $crate::subjects::Loops {
                    empty: |n| $empty(n),
                    nested: |n| $nested(n),
                    load: |n| $load(n),
                    repin: |n| $repin(n),
                },
                waiting: Some($crate::subjects::Waiting {
                    online: || $online(),
                    offline: || $offline(),
                    sync: || $sync(),
                    reader: |control| $reader(control),
                    counters: None,
                }),
            }
        }
    };
}
pub(super) use c_peer;
