//! The lowest layer: errors, random numbers, the queue of events, many runs at once.

pub mod batch;
pub mod chance;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod mean;

/// A struct whose fields stand with their defaults, and with what each is in words, which a list of settings
/// prints.
macro_rules! described {
    ($(#[$of:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident: $type:ty = $default:expr,)+
    }) => {
        $(#[$of])*
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl $name {
            /// Fields, and what they are.
            pub(crate) const FIELDS: &[(&str, &str)] = &[$((stringify!($field), concat!($($doc),+))),+];

            pub(crate) const fn defaults() -> $name {
                $name {
                    $($field: $default,)+
                }
            }
        }
    };
}
pub(crate) use described;
