//! Wrong: a reference is used after its section. In plain runs this may pass; Miri and AddressSanitizer say
//! `use-after-free`.

use std::sync::Arc;
use std::thread;

use downstream_miri::Table;

#[test]
fn a_reference_is_kept_past_its_guard() {
    let table = Arc::new(Table::new(&["one"]));
    let kept = table.find_unguarded(0);
    let updater = table.clone();
    // The updater waits for readers; this thread is none, whatever it holds.
    thread::spawn(move || drop(updater.replace(&["two"])))
        .join()
        .expect("no panic");
    assert_eq!(kept, "one");
}
