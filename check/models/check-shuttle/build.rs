//! Switches the primitives to those of a model: see `lib/quiescent/src/inner/prim/mod.rs`. The cfg is the double's, whose
//! name the primitives of shuttle have in this crate's manifest.

fn main() {
    println!("cargo:rustc-cfg=quiescent_model");
    println!("cargo:rustc-cfg=quiescent_double");
    println!("cargo:rerun-if-changed=build.rs");
}
