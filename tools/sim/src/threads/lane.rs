//! A lane of a queue: the words with which its owner pushes and pops without asking.
//!
//! The twin of the library's `lane.rs`, and of what `queue/room.rs` says of blocks: memory for blocks is always there, so a block is no
//! more than a range of positions. What the words mean is told there; what is modelled here is *when their
//! owner comes for the lock*, which decides when the engine hears of anything.

use std::collections::VecDeque;

use quiescent_engine::owner::BLOCK;
use quiescent_engine::{Pos, Seq};

/// Something queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub func: usize,
    /// When.
    pub at: u64,
    /// Its number, and the first section that it need not outlive: the oracle's.
    pub number: u64,
    pub since: u64,
}

/// What the owner has popped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Popped {
    pub at: Pos,
    pub count: u64,
}

/// A push came to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pushed {
    /// The owner needs help.
    pub help: bool,
    pub popped: Popped,
}

/// A lane.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    pub end: Pos,
    pub left: u64,
    pub head: Pos,
    pub until: Pos,
    pub limit: Pos,
    pub reach: Pos,
    pub done: Pos,
    pub step: u64,
    pub prompt: bool,
    pub ahead: u32,
    /// The published number of grace periods, when the engine was asked last.
    pub published: Option<Seq>,
    /// The bytes of the last credit.
    pub given: u64,
    /// Others than the owner consume …
    pub taken: bool,
    /// … what is at or past this.
    pub seen: Pos,
    items: VecDeque<Option<Item>>,
    /// The position of the first of them.
    base: Pos,
}

const BLOCKS: u64 = BLOCK as u64;

/// Where the block of `at` ends.
pub(super) fn end_of_block(at: Pos) -> Pos {
    (at / BLOCKS + 1) * BLOCKS
}

impl Lane {
    /// The owner pushes, and pops what it may. `large`: the bytes alone may use up the credit.
    pub fn push(&mut self, item: Item, bytes: u64, large: bool) -> Pushed {
        let mut popped = Popped::default();
        self.left = self.left.wrapping_sub(bytes);
        if self.head < self.until {
            let next = (self.head + self.step).min(self.until);
            popped = Popped {
                at: self.head,
                count: next - self.head,
            };
            self.head = next;
        }
        Pushed {
            help: self.publish(item, large),
            popped,
        }
    }

    /// Pushes, and pops nothing. True: the owner needs help.
    pub fn push_only(&mut self, item: Item, bytes: u64) -> bool {
        self.left = self.left.wrapping_sub(bytes);
        self.publish(item, true)
    }

    fn publish(&mut self, item: Item, large: bool) -> bool {
        self.put(item);
        self.end >= self.limit || (large && self.left.cast_signed() < 0)
    }

    /// At the end, under the lock.
    pub fn put(&mut self, item: Item) {
        self.items.push_back(Some(item));
        self.end += 1;
    }

    /// The end of a block with another one behind it: does the owner go on there by itself?
    pub fn cross(&mut self, published: Seq) -> bool {
        if self.limit != self.end {
            return false;
        }
        if Some(published) != self.published {
            self.ahead /= 2;
            return false;
        }
        if self.end >= self.reach || self.left.cast_signed() < 0 {
            return false;
        }
        self.limit = self.reach.min(self.end + BLOCKS);
        true
    }

    /// What was popped is given back to memory; then on to the next block.
    pub fn free(&mut self, popped: Popped) -> Vec<Item> {
        let next = popped.at + popped.count;
        if popped.count > 0 && next == self.until {
            self.next_block(next);
        }
        (popped.at..next).map(|at| self.remove(at)).collect()
    }

    /// Pops up to so many, under the lock.
    pub fn pop_many(&mut self, most: u64) -> Vec<Item> {
        let popped = Popped {
            at: self.head,
            count: most.min(self.until.saturating_sub(self.head)),
        };
        self.head += popped.count;
        self.free(popped)
    }

    fn next_block(&mut self, head: Pos) {
        if head < self.done && head.is_multiple_of(BLOCKS) {
            self.until = self.done.min(head + BLOCKS);
        }
    }

    /// Bytes queued since the last look.
    pub fn spent(&mut self) -> u64 {
        std::mem::replace(&mut self.given, self.left).wrapping_sub(self.left)
    }

    /// Takes one out, once.
    pub fn remove(&mut self, at: Pos) -> Item {
        let index = at.wrapping_sub(self.base) as usize;
        let item = self.items.get_mut(index).and_then(Option::take);
        while let Some(None) = self.items.front() {
            self.items.pop_front();
            self.base += 1;
        }
        item.expect("what is queued is taken out once")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Item = Item {
        func: 0,
        at: 0,
        number: 0,
        since: 0,
    };

    /// A lane with credit up to `reach`, and bytes enough.
    fn lane(reach: Pos) -> Lane {
        Lane {
            limit: reach.min(BLOCKS),
            reach,
            step: 1,
            left: 1 << 40,
            given: 1 << 40,
            published: Some(Seq::INITIAL),
            ..Lane::default()
        }
    }

    #[test]
    fn the_owner_goes_on_into_the_next_block_by_itself() {
        let mut lane = lane(600);
        let mut asked = Vec::new();
        for _ in 0..600 {
            if lane.push(ITEM, 1, false).help && !lane.cross(Seq::INITIAL) {
                asked.push(lane.end);
            }
        }
        assert_eq!(asked, [600]);
    }

    #[test]
    fn a_grace_period_of_others_is_worth_a_look_and_halves_the_way_to_the_next() {
        let mut lane = lane(2048);
        lane.ahead = 8;
        let seen = Seq::INITIAL.start();
        for at in 1..=BLOCKS {
            let help = lane.push(ITEM, 1, false).help;
            assert_eq!(help, at == BLOCKS);
        }
        assert!(!lane.cross(seen));
        assert_eq!(lane.ahead, 4);
    }

    #[test]
    fn bytes_end_the_credit_of_large_ones_only() {
        let mut lane = lane(2048);
        lane.left = 100;
        assert!(!lane.push(ITEM, 200, false).help);
        assert!(lane.push(ITEM, 200, true).help);
        assert!(!lane.cross(Seq::INITIAL));
        assert_eq!(lane.spent(), (1u64 << 40).wrapping_sub(lane.left));
    }

    #[test]
    fn pops_stop_at_the_end_of_a_block_and_go_on_behind_it() {
        let mut lane = lane(2048);
        for _ in 0..400 {
            lane.push(ITEM, 1, false);
        }
        (lane.done, lane.until, lane.step) = (300, BLOCKS, 3);
        let mut freed = 0;
        for _ in 0..200 {
            let pushed = lane.push(ITEM, 1, false);
            freed += lane.free(pushed.popped).len();
        }
        assert_eq!((freed, lane.head), (300, 300));
    }
}
