//! Buckets of the hash map, and the end of a resize, under C11.

use std::sync::Arc;

use crate::common::{check, join, start};
use quiescent_collections::check::{Bucket, Table, Tags, tag_of};
use quiescent_models::loom::AtomicU32;
use quiescent_models::loom::Ordering::{Acquire, Relaxed, Release};

/// An old bucket, the one that its entry moves to, and the content of that entry.
#[derive(Default)]
struct Buckets {
    old: Bucket,
    new: Bucket,
    content: AtomicU32,
}

const HASH: u64 = 5;
const INDEX: u32 = 7;

impl Buckets {
    fn fill(&self) {
        self.content.store(1, Relaxed);
    }

    /// The index of the entry in a bucket, complete if it is there.
    fn find(&self, bucket: &Bucket) -> Option<u32> {
        let slot = bucket.tags().matching(tag_of(HASH)).next()?;
        let index = bucket.slot(slot);
        assert_eq!(index, INDEX, "a tag without its index");
        self.check_content();
        Some(index)
    }

    fn check_content(&self) {
        let content = self.content.load(Relaxed);
        assert_eq!(content, 1, "an entry that is not complete");
    }
}

/// The tag of the entry is at the first slot.
fn has_it(tags: Tags) -> bool {
    tags.matching(tag_of(HASH)).any(|slot| slot == 0)
}

fn add(bucket: &Bucket, slot: usize, index: u32, hash: u64) {
    let tags = bucket.lock().expect("not moved");
    bucket.set_slot(slot, index);
    bucket.unlock(bucket.set_mark(slot, tag_of(hash), tags));
}

/// MAP-4, where the tag is stored by itself, and where it is stored with the unlock.
fn addition_against_a_read(slot: usize) {
    let buckets = Arc::new(Buckets::default());
    let writer = start(&buckets, move |it| {
        it.fill();
        add(&it.old, slot, INDEX, HASH);
    });
    let reader = start(&buckets, |it| _ = it.find(&it.old));
    join(writer);
    join(reader);
    assert!(buckets.find(&buckets.old).is_some());
}

#[test]
fn additions_against_reads() {
    check("bucket: low tag", 3, || addition_against_a_read(0));
    check("bucket: high tag", 3, || addition_against_a_read(8));
}

/// MAP-5: the reader finds the entry in one of both; so does a writer, which takes the lock.
#[test]
fn a_move_against_reads_and_writes() {
    fn moved(look: fn(&Buckets)) {
        let buckets = Arc::new(Buckets::default());
        buckets.fill();
        buckets.old.begin((INDEX, tag_of(HASH)), (0, 0));
        let mover = start(&buckets, |Buckets { old, new, .. }| {
            let tags = old.lock().expect("moved once");
            // No thread can reach it before the mark: it is filled without its lock.
            new.set_slot(0, INDEX);
            new.unlock(new.set_mark(0, tag_of(HASH), new.tags()));
            old.unlock_moved(tags);
        });
        let other = start(&buckets, look);
        join(mover);
        join(other);
    }
    check("bucket: move and read", 3, || {
        moved(|buckets| {
            let is_moved = buckets.old.tags().is_moved();
            let bucket = if is_moved { &buckets.new } else { &buckets.old };
            assert!(buckets.find(bucket).is_some(), "moved: {is_moved}");
        });
    });
    check("bucket: move and write", 3, || {
        moved(|buckets| match buckets.old.lock() {
            Some(tags) => buckets.old.unlock(tags),
            None => {
                let tags = buckets.new.lock().expect("not moved");
                assert!(has_it(tags), "moved without its entry");
                buckets.new.unlock(tags);
            }
        });
    });
}

/// MAP-6: the second holder finds what the first one has added.
#[test]
fn two_additions() {
    fn add_one(bucket: &Bucket) {
        let tags = bucket.lock().expect("not moved");
        let slot = tags.unused().expect("room");
        assert_eq!(bucket.slot(slot), 0, "this slot is used");
        bucket.set_slot(slot, INDEX);
        bucket.unlock(bucket.set_mark(slot, tag_of(HASH), tags));
    }
    check("bucket: two additions", 3, || {
        let buckets = Arc::new(Buckets::default());
        let other = start(&buckets, |it| add_one(&it.old));
        add_one(&buckets.old);
        join(other);
        assert_eq!(buckets.old.tags().used().count(), 2);
    });
}

/// MAP-4, where the tag stays: an index is replaced by that of an entry which is complete.
#[test]
fn a_replacement_against_a_read() {
    check("bucket: replacement", 3, || {
        let buckets = Arc::new(Buckets::default());
        buckets.old.begin((INDEX + 1, tag_of(HASH)), (0, 0));
        let writer = start(&buckets, |it| {
            it.fill();
            let tags = it.old.lock().expect("not moved");
            it.old.set_slot(0, INDEX);
            it.old.unlock(tags);
        });
        let reader = start(&buckets, |it| {
            assert!(has_it(it.old.tags()));
            if it.old.slot(0) == INDEX {
                it.check_content();
            }
        });
        join(writer);
        join(reader);
    });
}

/// MAP-8: who finds the new table finds what all threads have moved there.
#[test]
fn the_last_unit_against_a_read() {
    check("table: last unit", 3, || {
        let tables = Arc::new((Table::new(1), Table::new(1), AtomicU32::new(0)));
        let movers = [0, 1].map(|unit| {
            start(&tables, move |(old, new, root)| {
                add(&new.buckets()[unit], 0, INDEX, HASH);
                if old.count_moved(2) {
                    root.store(1, Release);
                }
            })
        });
        let (_, new, root) = &*tables;
        if root.load(Acquire) == 1 {
            let has = |bucket: &Bucket| bucket.tags().used().next().is_some();
            assert!(new.buckets().iter().all(has), "moved without its entry");
        }
        movers.into_iter().for_each(join);
    });
}
