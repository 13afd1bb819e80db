//! Switches the library's primitives (its layer `prim`) to those of virtual time.

fn main() {
    println!("cargo:rustc-cfg=quiescent_model");
    println!("cargo:rustc-cfg=quiescent_virtual");
    println!("cargo:rerun-if-changed=build.rs");
}
