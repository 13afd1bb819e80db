//! The child of a fork reads and changes the map.

use quiescent_collections::RcuHashMap;

#[test]
fn the_child_uses_the_map() {
    let map = RcuHashMap::new();
    std::thread::scope(|scope| {
        // A thread that the child does not have, with lists of its own.
        scope.spawn(|| {
            (0..5000).for_each(|n| {
                map.pin().insert(n, n.to_string());
            })
        });
    });
    (0..1000).for_each(|n| assert!(map.pin().remove(&n).is_some()));
    // SAFETY: the child calls this library, and ends.
    match unsafe { libc::fork() } {
        0 => {
            let found = (1000..5000).all(|n| map.pin().get(&n) == Some(&n.to_string()));
            (0..3000)
                .for_each(|n| assert_eq!(map.pin().insert(n, String::new()).is_some(), n >= 1000));
            (2000..5000).for_each(|n| assert!(map.pin().remove(&n).is_some()));
            let ok = found && map.len() == 2000 && map.pin().iter().count() == 2000;
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!ok)) };
        }
        child => {
            let mut status = -1;
            // SAFETY: waits for the child made above; `status` is writable.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
        }
    }
    assert_eq!(map.len(), 4000);
}
