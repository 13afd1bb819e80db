//! The list of one leaf: where entries go, and what the pointers cover.

use alloc::vec::Vec;

use super::*;

/// A list and its table.
struct Leaf {
    blkd: Blkd,
    tasks: Tasks,
    next: TaskId,
}

impl Leaf {
    fn new() -> Leaf {
        Leaf {
            blkd: Blkd::new(),
            tasks: Tasks::new(64).expect("64 links"),
            next: 0,
        }
    }

    fn preempt(&mut self, owes: bool, exp: bool) -> TaskId {
        let task = self.next;
        self.next += 1;
        self.blkd.insert(&mut self.tasks, task, 0, owes, exp);
        task
    }

    fn order(&self) -> Vec<TaskId> {
        self.tasks.from(self.blkd.head).collect()
    }

    fn gp(&self) -> Vec<TaskId> {
        self.tasks.from(self.blkd.gp_tasks).collect()
    }

    fn exp(&self) -> Vec<TaskId> {
        self.tasks.from(self.blkd.exp_tasks).collect()
    }
}

#[test]
fn placement_follows_the_table() {
    use QueuePlace::{AfterExp, AfterGp, Head, Tail};
    // gp_tasks, exp_tasks: (owes nothing, owes only normal, owes only expedited, owes both)
    let table = [
        ((false, false), [Head, Tail, Tail, Tail]),
        ((false, true), [Head, Head, AfterExp, AfterExp]),
        ((true, false), [Head, AfterGp, Tail, Tail]),
        ((true, true), [Head, AfterGp, AfterExp, Tail]),
    ];
    for ((gp, exp), places) in table {
        let owed = [(false, false), (true, false), (false, true), (true, true)];
        for ((owes, owes_exp), want) in owed.into_iter().zip(places) {
            let got = QueuePlace::choose(gp, exp, owes, owes_exp);
            assert_eq!(got, want, "{gp} {exp} {owes} {owes_exp}");
        }
    }
}

#[test]
fn new_entries_go_to_the_head_and_the_pointer_covers_what_is_behind_it() {
    let mut leaf = Leaf::new();
    for _ in 0..3 {
        leaf.preempt(false, false);
    }
    assert_eq!((leaf.order(), leaf.gp()), ([2, 1, 0].to_vec(), [].to_vec()));
    leaf.blkd.gp_begins();
    assert_eq!(leaf.gp(), [2, 1, 0]);
    assert_eq!(leaf.preempt(false, false), 3);
    assert_eq!(leaf.preempt(true, false), 4);
    assert_eq!(leaf.order(), [3, 2, 4, 1, 0]);
    assert_eq!(leaf.gp(), [2, 4, 1, 0], "3 is newer than the grace period");
}

#[test]
fn a_pointer_moves_on_when_its_entry_leaves() {
    let mut leaf = Leaf::new();
    for _ in 0..3 {
        leaf.preempt(false, false);
    }
    leaf.blkd.gp_begins();
    leaf.preempt(false, false);
    leaf.blkd.remove(&mut leaf.tasks, 2);
    assert_eq!(
        (leaf.order(), leaf.gp()),
        ([3, 1, 0].to_vec(), [1, 0].to_vec())
    );
    leaf.blkd.remove(&mut leaf.tasks, 0);
    leaf.blkd.remove(&mut leaf.tasks, 1);
    assert!(!leaf.blkd.holds_gp(), "3 is not in the way");
    assert_eq!(leaf.order(), [3]);
}

/// All sequences of six actions: every owing reader is covered, and lists stay whole.
#[test]
fn each_owing_reader_is_covered_in_any_order() {
    for choice in 0..6u32.pow(6) {
        let mut leaf = Leaf::new();
        let (mut norm, mut exp): (Vec<TaskId>, Vec<TaskId>) = (Vec::new(), Vec::new());
        let mut deeds = choice;
        for _ in 0..6 {
            match deeds % 6 {
                4 => {
                    leaf.blkd.gp_begins();
                    norm = leaf.order();
                }
                5 => {
                    if let Some(&task) = leaf.order().get(choice as usize % 3) {
                        leaf.blkd.remove(&mut leaf.tasks, task);
                        norm.retain(|&t| t != task);
                        exp.retain(|&t| t != task);
                    }
                }
                owed => {
                    let task = leaf.preempt(owed & 1 != 0, owed & 2 != 0);
                    norm.extend((owed & 1 != 0).then_some(task));
                    exp.extend((owed & 2 != 0).then_some(task));
                }
            }
            deeds /= 6;
            assert!(norm.iter().all(|t| leaf.gp().contains(t)), "{choice}");
            assert!(exp.iter().all(|t| leaf.exp().contains(t)), "{choice}");
            let mut back: Vec<TaskId> = Vec::new();
            let mut at = leaf.blkd.tail;
            while at != NONE {
                back.insert(0, at);
                at = leaf.tasks.links[at as usize].newer;
            }
            assert_eq!(back, leaf.order(), "{choice}: the two directions differ");
        }
    }
}

#[test]
fn a_table_has_room_or_none() {
    for tasks in [0, 1, 5] {
        let table = Tasks::new(tasks).expect("a few links");
        assert_eq!((table.len(), table.is_empty()), (tasks, tasks == 0));
    }
}
