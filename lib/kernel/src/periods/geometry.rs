//! Shape of the combining tree: the number of levels, and the CPUs below each node.
//!
//! ```text
//!                    ┌── 0 ──┐              level 0: the root, node 0
//!             ┌──────┘   │   └──────┐
//!           ┌ 1 ┐      ┌ 2 ┐      ┌ 3 ┐     level 1: the leaves
//!           0..14      15..29     30..42    43 CPUs, at most 16 a leaf
//! ```
//!
//! A leaf covers up to 16 CPUs (2 to 64), an inner node up to 64 children (2 to 64), and there are one to
//! four levels: the smallest number that holds all CPUs.
//!
//! # Spread
//! Children are spread evenly: 43 CPUs make leaves of 15, 15 and 13 rather than 16, 16 and 11, so that no
//! node's lock has more contention than necessary. With [`exact`](GeometryParams::exact) every node is filled
//! before the next one begins; then CPU `c` is bit `c % fan-out` of leaf `c / fan-out` whatever the number of
//! CPUs, and a tree can grow without moving a CPU.
//!
//! # Invariants
//! * All nodes are in one dense order, breadth first: root first, leaves last. Walks from the first to the
//!   last node rely on it.
//! * The leaves' ranges partition the CPUs, and a parent's range is the union of its children's.
//! * No node is empty. With `n = ceil(c / f)` nodes for `c` children and a spread of `s = ceil(c / n)`,
//!   `s <= f` gives `ceil(c / s) >= n`, and `n * s >= c` gives `ceil(c / s) <= n`.
//!
//! Nothing is stored for a node: a few numbers for each level give every answer in constant time.

use core::error::Error;
use core::fmt;

/// The largest number of levels of a tree.
pub const MAX_LEVELS: usize = 4;

const FANOUT_MIN: u32 = 2;
/// A mask has a bit for each child, and masks are 64 bits wide on every machine.
const FANOUT_MAX: u32 = 64;

/// The requested shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GeometryParams {
    /// CPUs a leaf, at most: 2 to 64, by default 16.
    pub leaf_fanout: u32,
    /// Children an inner node, at most: 2 to 64, by default 64.
    pub inner_fanout: u32,
    /// Fill every node before the next one begins, instead of spreading evenly.
    pub exact: bool,
}

impl Default for GeometryParams {
    fn default() -> GeometryParams {
        GeometryParams {
            leaf_fanout: 16,
            inner_fanout: 64,
            exact: false,
        }
    }
}

impl GeometryParams {
    /// CPUs that a tree of `levels` levels holds at most: `leaf * inner^(levels - 1)`.
    ///
    /// # Panics
    /// If `levels` is not 1 to 4.
    pub const fn capacity(self, levels: u8) -> u32 {
        assert!(
            levels >= 1 && levels as usize <= MAX_LEVELS,
            "a tree has 1 to 4 levels"
        );
        // At most 64^4 = 2^24 for valid fan-outs.
        self.leaf_fanout
            .saturating_mul(self.inner_fanout.saturating_pow(levels as u32 - 1))
    }

    /// Refuses fan-outs that a mask cannot hold.
    fn check(self) -> Result<(), GeometryError> {
        let fits = |fanout| (FANOUT_MIN..=FANOUT_MAX).contains(&fanout);
        if !fits(self.leaf_fanout) {
            return Err(GeometryError::LeafFanout(self.leaf_fanout));
        }
        if !fits(self.inner_fanout) {
            return Err(GeometryError::InnerFanout(self.inner_fanout));
        }
        Ok(())
    }
}

/// The reason why a tree of that shape is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GeometryError {
    /// No CPU at all.
    NoCpus,
    /// This leaf fan-out is not 2 to 64.
    LeafFanout(u32),
    /// This inner fan-out is not 2 to 64.
    InnerFanout(u32),
    /// Four levels do not suffice.
    TooManyCpus {
        /// Requested CPUs.
        nr_cpus: u32,
        /// CPUs that four levels of these fan-outs hold.
        capacity: u32,
        /// The fan-outs.
        params: GeometryParams,
    },
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            GeometryError::NoCpus => {
                f.write_str("a tree for 0 CPUs was requested: give it at least 1")
            }
            GeometryError::LeafFanout(got) => write!(
                f,
                "leaf_fanout is {got}, but a leaf has one mask bit a CPU: choose {FANOUT_MIN} to \
                 {FANOUT_MAX} (default 16)"
            ),
            GeometryError::InnerFanout(got) => write!(
                f,
                "inner_fanout is {got}, but a node has one mask bit a child: choose {FANOUT_MIN} to \
                 {FANOUT_MAX} (default 64)"
            ),
            GeometryError::TooManyCpus {
                nr_cpus,
                capacity,
                params,
            } => write!(
                f,
                "{nr_cpus} CPUs, but {MAX_LEVELS} levels with leaf_fanout {} and inner_fanout {} hold \
                 {capacity}: raise the fan-outs (up to {FANOUT_MAX}) or use fewer CPUs",
                params.leaf_fanout, params.inner_fanout
            ),
        }
    }
}

impl Error for GeometryError {}

/// One node's place in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeSpan {
    /// First CPU below this node.
    pub lo: u32,
    /// Last CPU below this node (inclusive, as traces print it).
    pub hi: u32,
    /// 0 for the root.
    pub level: u8,
    /// The parent's index; none for the root.
    pub parent: Option<usize>,
    /// Which child of its parent this is; 0 for the root.
    pub index_in_parent: u32,
    /// This node's bit in its parent's masks; 0 for the root, which has none.
    pub mask: u64,
}

/// The numbers of one level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LevelShape {
    /// The index of its first node.
    start: usize,
    /// The number of its nodes.
    count: usize,
    /// Children of each node (CPUs, for a leaf), except the last node, which may have fewer.
    spread: u32,
    /// CPUs below each node, with the same exception.
    width: u32,
}

/// The shape of a tree for a number of CPUs.
///
/// # Example
/// ```
/// use quiescent_kernel::geometry::{Geometry, GeometryParams};
///
/// let tree = Geometry::new(43, GeometryParams::default())?;
/// assert_eq!((tree.levels(), tree.nodes(), tree.leaves()), (2, 4, 3));
/// assert_eq!((tree.node(2).lo, tree.node(2).hi), (15, 29));
/// assert_eq!(tree.leaf_of(42), (2, 12));
/// # Ok::<(), quiescent_kernel::geometry::GeometryError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Geometry {
    params: GeometryParams,
    nr_cpus: u32,
    levels: u8,
    /// Root first; levels that the tree does not have are all zero.
    level: [LevelShape; MAX_LEVELS],
}

impl Geometry {
    /// The smallest tree for CPUs `0..nr_cpus`. Allocates nothing.
    ///
    /// # Errors
    /// No CPU, a fan-out out of range, or more CPUs than four levels hold.
    pub fn new(nr_cpus: u32, params: GeometryParams) -> Result<Geometry, GeometryError> {
        params.check()?;
        if nr_cpus == 0 {
            return Err(GeometryError::NoCpus);
        }
        let capacity = params.capacity(MAX_LEVELS as u8);
        let levels = (1..=MAX_LEVELS as u8)
            .find(|&levels| params.capacity(levels) >= nr_cpus)
            .ok_or(GeometryError::TooManyCpus {
                nr_cpus,
                capacity,
                params,
            })?;

        let unused = LevelShape {
            start: 0,
            count: 0,
            spread: 0,
            width: 0,
        };
        let mut level = [unused; MAX_LEVELS];
        // From the leaves up: a node at one level is a child at the next.
        let (mut children, mut width) = (nr_cpus, 1);
        for i in (0..levels as usize).rev() {
            let is_leaf = i + 1 == levels as usize;
            let fanout = if is_leaf {
                params.leaf_fanout
            } else {
                params.inner_fanout
            };
            let count = children.div_ceil(fanout);
            let spread = if params.exact {
                fanout
            } else {
                children.div_ceil(count)
            };
            width *= spread;
            level[i] = LevelShape {
                start: 0,
                count: count as usize,
                spread,
                width,
            };
            children = count;
        }
        for i in 1..levels as usize {
            level[i].start = level[i - 1].start + level[i - 1].count;
        }
        Ok(Geometry {
            params,
            nr_cpus,
            levels,
            level,
        })
    }

    /// The number of CPUs it was made for.
    pub const fn nr_cpus(&self) -> u32 {
        self.nr_cpus
    }

    /// The fan-outs it was made with.
    pub const fn params(&self) -> GeometryParams {
        self.params
    }

    /// The number of levels, 1 to 4. With one level the root is the only leaf.
    pub const fn levels(&self) -> u8 {
        self.levels
    }

    /// The number of nodes.
    pub const fn nodes(&self) -> usize {
        self.first_leaf() + self.leaves()
    }

    /// The number of leaves.
    pub const fn leaves(&self) -> usize {
        self.level[self.levels as usize - 1].count
    }

    /// Index of the first leaf; all nodes from there on are leaves.
    pub const fn first_leaf(&self) -> usize {
        self.level[self.levels as usize - 1].start
    }

    /// The largest number of CPUs of a tree with these fan-outs and this number of levels.
    pub const fn capacity(&self) -> u32 {
        self.params.capacity(self.levels)
    }

    /// The place of node `i`. Constant time.
    ///
    /// # Panics
    /// If there is no such node.
    pub const fn node(&self, i: usize) -> NodeSpan {
        assert!(i < self.nodes(), "no such node in this tree");
        let mut depth = 0;
        while i >= self.level[depth].start + self.level[depth].count {
            depth += 1;
        }
        let own = self.level[depth];
        let nth = (i - own.start) as u32;
        let lo = nth * own.width;
        let left = self.nr_cpus - lo;
        let cpus = if left < own.width { left } else { own.width };
        let mut span = NodeSpan {
            lo,
            hi: lo + cpus - 1,
            level: depth as u8,
            parent: None,
            index_in_parent: 0,
            mask: 0,
        };
        if depth > 0 {
            let above = self.level[depth - 1];
            span.parent = Some(above.start + (nth / above.spread) as usize);
            span.index_in_parent = nth % above.spread;
            span.mask = 1 << span.index_in_parent;
        }
        span
    }

    /// Index of the child that stands for bit `index` of node `i`. Constant time.
    ///
    /// # Panics
    /// If node `i` is a leaf or there is no such node.
    pub const fn child(&self, i: usize, index: u32) -> usize {
        assert!(i < self.first_leaf(), "a node without children");
        let mut depth = 0;
        while i >= self.level[depth].start + self.level[depth].count {
            depth += 1;
        }
        let nth = i - self.level[depth].start;
        self.level[depth + 1].start + nth * self.level[depth].spread as usize + index as usize
    }

    /// Which leaf (counted from the first one) and which bit of its masks stand for `cpu`. Constant time.
    ///
    /// # Panics
    /// If the tree was not made for that CPU.
    pub const fn leaf_of(&self, cpu: u32) -> (usize, u32) {
        assert!(cpu < self.nr_cpus, "a CPU outside this tree: grow it first");
        let spread = self.level[self.levels as usize - 1].spread;
        ((cpu / spread) as usize, cpu % spread)
    }
}

#[cfg(test)]
mod tests;
