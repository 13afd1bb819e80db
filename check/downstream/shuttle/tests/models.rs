//! Models of readers beside writers, under schedules that shuttle draws by chance.

use std::sync::Arc;

use downstream_shuttle::Board;
use quiescent::{Domain, RcuCell, Srcu, barrier, defer, statistics};
use shuttle::{check_pct, check_random, thread};

/// Two readers, and two writers that do `write` twice each.
fn meet(read: fn(&Board), write: fn(&Board, u32)) {
    let board = Arc::new(Board::new(vec![0]));
    let readers = [(); 2].map(|()| {
        let board = board.clone();
        thread::spawn(move || (0..3).for_each(|_| read(&board)))
    });
    let writers = [1, 2].map(|first| {
        let board = board.clone();
        thread::spawn(move || (0..2).for_each(|n| write(&board, first + n)))
    });
    for thread in readers.into_iter().chain(writers) {
        thread.join().expect("a panic ends the model");
    }
    assert_eq!(board.count(), 5);
    barrier();
    assert_eq!(statistics().queued, 0);
}

fn guarded(board: &Board) {
    assert!((1..=5).contains(&board.count()));
}

#[test]
fn a_guard_keeps_the_table() {
    check_random(|| meet(guarded, Board::add), 200);
    check_pct(|| meet(guarded, Board::add_later), 200, 3);
}

#[test]
#[should_panic(expected = "a freed table was read")]
fn a_table_kept_past_its_guard_is_found() {
    let frees = |board: &Board, name| {
        board.add_later(name);
        barrier();
    };
    // By chance at each step no thread would be left out for as long as a grace period takes: priorities.
    check_pct(
        move || meet(|board| _ = board.count_unguarded(), frees),
        1000,
        3,
    );
}

#[test]
fn domains_and_closures() {
    check_random(
        || {
            let (domain, srcu) = (Domain::new(), Srcu::new());
            let cell = Arc::new(RcuCell::new_in(0, domain.clone()));
            let other = Arc::new(RcuCell::new_in(0, srcu.clone()));
            let thread = {
                let (cell, other) = (cell.clone(), other.clone());
                thread::spawn(move || {
                    (1..5).for_each(|n| drop((cell.store(n), other.store(n))));
                    defer(|| ());
                })
            };
            assert!(domain.read(|guard| *cell.load(guard)) < 5);
            assert!(srcu.read(|guard| *other.load(guard)) < 5);
            domain.synchronize();
            srcu.synchronize();
            thread.join().expect("a panic ends the model");
            domain.barrier();
            srcu.barrier();
            barrier();
            let queued = [domain.statistics(), srcu.statistics()].map(|it| it.queued);
            assert_eq!((queued, statistics().queued), ([0, 0], 0));
        },
        200,
    );
}
