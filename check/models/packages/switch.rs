//! The build script of each package here. It switches the library's primitives (its layer `prim`) to the set
//! that the package's name ends with: `quiescent-core-on-loom` is built with `cfg(quiescent_model,
//! quiescent_loom)`.

fn main() {
    let package = std::env::var("CARGO_PKG_NAME").expect("set by cargo");
    let set = package
        .rsplit_once("-on-")
        .map(|(_, set)| set)
        .expect("a name that ends with the set of primitives");
    println!("cargo:rustc-cfg=quiescent_model");
    println!("cargo:rustc-cfg=quiescent_{set}");
    println!("cargo:rerun-if-changed=../switch.rs");
}
