//! The Rust face of the loops in `shims/loops.h`: one macro, so that each C library is one line.

/// The subject of this name, from the functions of the C peer whose exported names begin so.
macro_rules! c_peer {
    ($prefix:literal, $name:literal) => {{
        use $crate::subjects::{Language, Loops, ReaderControl, Subject, Waiting};
        // SAFETY: these are the functions of `shims/loops.h`, with the same parameters. They expect a thread
        // that was attached; everybody in this crate attaches a thread before it uses a subject.
        unsafe extern "C" {
            #[link_name = concat!($prefix, "_attach")]
            safe fn attach();
            #[link_name = concat!($prefix, "_detach")]
            safe fn detach();
            #[link_name = concat!($prefix, "_online")]
            safe fn online();
            #[link_name = concat!($prefix, "_offline")]
            safe fn offline();
            #[link_name = concat!($prefix, "_sync")]
            safe fn sync();
            #[link_name = concat!($prefix, "_reader")]
            safe fn reader(control: &ReaderControl);
            #[link_name = concat!($prefix, "_empty")]
            safe fn empty(n: u64);
            #[link_name = concat!($prefix, "_nested")]
            safe fn nested(n: u64);
            #[link_name = concat!($prefix, "_load")]
            safe fn load(n: u64);
            #[link_name = concat!($prefix, "_repin")]
            safe fn repin(n: u64);
        }
        Subject {
            name: $name,
            language: Language::C,
            attach: || attach(),
            detach: || detach(),
            loops: Loops([
                Some(|n| empty(n)),
                Some(|n| nested(n)),
                Some(|n| load(n)),
                Some(|n| repin(n)),
                None,
            ]),
            waiting: Some(Waiting {
                online: || online(),
                offline: || offline(),
                sync: || sync(),
                reader: |control| reader(control),
                counters: None,
            }),
            handed: None,
        }
    }};
}
pub(crate) use c_peer;
