//! A slice made from a pointer has that pointer's provenance. A slice made from the address of its first
//! element must not be read beyond that element, whatever compilers make of it today.

use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust source of the library and what it is made of.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut left = vec![own.join("src"), own.join("../core/src")];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the library") {
            let path = entry.expect("a readable folder").path();
            match path.is_dir() {
                true => left.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

/// Is this the address of one element, and not of a range of them?
fn is_of_one_element(pointer: &str) -> bool {
    let call = [".as_ptr()", ".as_mut_ptr()"].map(|call| pointer.find(call));
    let Some(call) = call.into_iter().flatten().min() else {
        return false;
    };
    let before = pointer[..call].trim_end();
    let index = before.strip_suffix(']').and_then(|it| it.rsplit_once('['));
    index.is_some_and(|(_, index)| !index.contains(".."))
}

#[test]
fn are_made_from_the_address_of_all_their_elements() {
    assert!(is_of_one_element("self.second[first].as_ptr(), length"));
    assert!(!is_of_one_element("words[1..2].as_ptr(), length"));
    assert!(!is_of_one_element("words.as_ptr().cast(), words[0].len()"));
    let mut slices = 0;
    for path in sources() {
        let text = fs::read_to_string(&path).expect("a text");
        for made in text.split("slice::from_raw_parts").skip(1) {
            let pointer = made.split(';').next().unwrap_or(made);
            let name = path.display();
            assert!(!is_of_one_element(pointer), "{name}: {pointer}");
            slices += 1;
        }
    }
    assert!(slices > 0, "no slice is made from a pointer any more");
}
