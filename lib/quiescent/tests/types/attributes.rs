//! Attribute macros for the programs beside: each turns the type of a `domain!` into something else.

use proc_macro::TokenStream;

/// The item, with the first of these words in place of the second.
fn with(item: TokenStream, new: &str, old: &str) -> TokenStream {
    item.to_string()
        .replacen(old, new, 1)
        .parse()
        .expect("Rust")
}

/// The item, and more behind it.
fn and(item: TokenStream, more: &str) -> TokenStream {
    format!("{item} {more}").parse().expect("Rust")
}

#[proc_macro_attribute]
pub fn same(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

#[proc_macro_attribute]
pub fn twice(_: TokenStream, item: TokenStream) -> TokenStream {
    let again = item.to_string();
    and(item, &again)
}

#[proc_macro_attribute]
pub fn renamed(_: TokenStream, item: TokenStream) -> TokenStream {
    with(item, "Renamed", "Routes")
}

#[proc_macro_attribute]
pub fn alias_of_names(_: TokenStream, _: TokenStream) -> TokenStream {
    "type Routes = Names;".parse().expect("Rust")
}

#[proc_macro_attribute]
pub fn alias_of_global(_: TokenStream, _: TokenStream) -> TokenStream {
    "type Routes = quiescent::Global;".parse().expect("Rust")
}

#[proc_macro_attribute]
pub fn with_rc(_: TokenStream, item: TokenStream) -> TokenStream {
    with(item, "(std::rc::Rc<()>);", ";")
}

#[proc_macro_attribute]
pub fn with_drop(_: TokenStream, item: TokenStream) -> TokenStream {
    and(item, "impl Drop for Routes { fn drop(&mut self) {} }")
}

#[proc_macro_attribute]
pub fn with_parameter(_: TokenStream, item: TokenStream) -> TokenStream {
    with(item, "<T>(std::marker::PhantomData<T>);", ";")
}
