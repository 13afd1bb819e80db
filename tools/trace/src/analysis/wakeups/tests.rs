//! What is counted, and the bound of the table.

use super::THREADS_MOST;
use crate::Kind;
use crate::analysis::tests::run;

fn wakeup(at: &str, name: &str, pid: usize) -> String {
    format!("a-1 [000] d..2. {at}: sched_wakeup: comm={name} pid={pid} prio=120 target_cpu=001\n")
}

#[test]
fn first_runs_are_said_and_not_counted() {
    let new = wakeup("1.0", "b", 7).replace("sched_wakeup", "sched_wakeup_new");
    let wakeups = wakeup("1.0", "b", 7) + &wakeup("1.1", "b", 7);
    let found = run(Kind::Wakeups, &(new.clone() + &new + &wakeups));
    assert_eq!(found.tables[0].figure("b", "wakeups"), Some(2.0));
    let note = "2 threads ran for the first time: no wake-ups";
    assert_eq!(found.notes, [note]);
    assert_eq!(run(Kind::Wakeups, &wakeup("1.1", "b", 7)).notes, [""; 0]);
}

#[test]
fn threads_beyond_the_bound_are_one_row() {
    let mut text: String = (0..THREADS_MOST)
        .map(|pid| wakeup("1.0", "b", pid))
        .collect();
    let whole = run(Kind::Wakeups, &text);
    assert_eq!(
        (whole.tables[0].rows.len(), whole.notes.len()),
        (THREADS_MOST + 1, 0)
    );
    text += &(wakeup("1.1", "c", THREADS_MOST) + &wakeup("1.2", "c", 5) + &wakeup("1.3", "b", 5));
    let found = run(Kind::Wakeups, &text);
    let table = &found.tables[0];
    assert_eq!(table.rows.len(), THREADS_MOST + 2);
    assert_eq!(table.figure("(others)", "wakeups"), Some(2.0));
    assert_eq!(table.figure("b-5", "wakeups"), Some(2.0));
    assert_eq!(
        table.figure("(all)", "wakeups"),
        Some(THREADS_MOST as f64 + 3.0)
    );
    let note = "2 wake-ups of threads beyond the first 16384: they are in the row `(others)`";
    assert_eq!(found.notes, [note]);
}
