//! Switches the primitives: see `lib/quiescent/src/inner/prim/mod.rs`.

fn main() {
    println!("cargo:rustc-cfg=quiescent_model");
    println!("cargo:rustc-cfg=quiescent_double");
    println!("cargo:rerun-if-changed=build.rs");
}
