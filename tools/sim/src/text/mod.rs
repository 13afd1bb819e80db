//! How text is read: values of settings, and files in TOML with the place of everything in them.

pub(crate) mod fields;
pub(crate) mod file;
pub(crate) mod values;
