//! Shapes of trees.

use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;

fn params(leaf_fanout: u32, inner_fanout: u32, exact: bool) -> GeometryParams {
    GeometryParams {
        leaf_fanout,
        inner_fanout,
        exact,
    }
}

fn tree(nr: u32, p: GeometryParams) -> Geometry {
    Geometry::new(nr, p).expect("within capacity")
}

fn leaf_sizes(g: &Geometry) -> Vec<u32> {
    (g.first_leaf()..g.nodes())
        .map(|i| g.node(i))
        .map(|n| n.hi - n.lo + 1)
        .collect()
}

#[test]
fn forty_three_cpus_are_spread_or_packed() {
    let even = tree(43, GeometryParams::default());
    assert_eq!(leaf_sizes(&even), [15, 15, 13]);
    let packed = tree(43, params(16, 64, true));
    assert_eq!(leaf_sizes(&packed), [16, 16, 11]);
}

#[test]
fn documented_capacities() {
    let p = GeometryParams::default();
    let all = [16, 1024, 65_536, 4_194_304];
    for (i, cap) in all.into_iter().enumerate() {
        let levels = i as u8 + 1;
        assert_eq!(p.capacity(levels), cap);
        assert_eq!(
            (tree(cap, p).levels(), tree(cap, p).capacity()),
            (levels, cap)
        );
        if levels < 4 {
            assert_eq!(tree(cap + 1, p).levels(), levels + 1);
        }
    }
}

/// Everything the module promises, by walking all nodes.
fn check(g: &Geometry) {
    let nodes: Vec<NodeSpan> = (0..g.nodes()).map(|i| g.node(i)).collect();
    assert_eq!((nodes[0].lo, nodes[0].hi), (0, g.nr_cpus() - 1));
    assert_eq!((nodes[0].parent, nodes[0].mask), (None, 0));
    assert_eq!(g.first_leaf() + g.leaves(), g.nodes());
    // What each parent has collected: children, next CPU expected.
    let mut seen: Vec<(u32, u32)> = nodes.iter().map(|n| (0, n.lo)).collect();
    for (i, n) in nodes.iter().enumerate().skip(1) {
        let parent = n.parent.expect("only the root has none");
        let up = nodes[parent];
        assert!(parent < i && up.level + 1 == n.level && n.lo <= n.hi);
        assert!(nodes[i - 1].level <= n.level, "breadth first");
        let (children, next) = &mut seen[parent];
        assert_eq!(
            (n.index_in_parent, n.lo),
            (*children, *next),
            "gapless, in order"
        );
        assert_eq!(n.mask, 1 << *children, "one bit of its own");
        assert!(*children < g.params().inner_fanout);
        *children += 1;
        *next = n.hi + 1;
    }
    for (i, n) in nodes.iter().enumerate() {
        let leaf = i >= g.first_leaf();
        assert_eq!(leaf, n.level + 1 == g.levels());
        if leaf {
            assert!(n.hi - n.lo < g.params().leaf_fanout);
            for cpu in n.lo..=n.hi {
                assert_eq!(g.leaf_of(cpu), (i - g.first_leaf(), cpu - n.lo));
            }
        } else {
            assert_eq!(seen[i].1, n.hi + 1, "node {i} is the union of its children");
        }
    }
}

#[test]
fn every_tree_partitions_its_cpus() {
    let fanouts = [(16, 64), (64, 64), (2, 2), (2, 64), (3, 5), (7, 4), (64, 2)];
    for (leaf, inner) in fanouts {
        for exact in [false, true] {
            let p = params(leaf, inner, exact);
            for nr in 1..5000.min(p.capacity(4) + 1) {
                let g = tree(nr, p);
                assert!(g.capacity() >= nr);
                check(&g);
            }
        }
    }
}

#[test]
fn the_largest_tree_holds_together() {
    for exact in [false, true] {
        let p = params(64, 64, exact);
        let g = tree(p.capacity(4) - 1, p);
        assert_eq!((g.levels(), g.leaves()), (4, 1 << 18));
        let last = g.node(g.nodes() - 1);
        assert_eq!((last.hi, last.mask), (g.nr_cpus() - 1, 1 << 63));
    }
}

#[test]
fn spreading_is_even() {
    for nr in 1..5000 {
        let sizes = leaf_sizes(&tree(nr, GeometryParams::default()));
        let spread = nr.div_ceil(nr.div_ceil(16));
        let (last, rest) = sizes.split_last().expect("no tree is empty");
        assert!(rest.iter().all(|&s| s == spread) && *last <= spread);
    }
}

#[test]
fn an_exact_tree_grows_without_moving_a_cpu() {
    for (leaf, inner) in [(64, 64), (4, 3)] {
        let p = params(leaf, inner, true);
        let big = tree(p.capacity(4).min(5000), p);
        for nr in 1..big.nr_cpus() {
            let small = tree(nr, p);
            assert_eq!(small.leaf_of(nr - 1), big.leaf_of(nr - 1));
            assert_eq!(
                small.leaf_of(nr - 1),
                (((nr - 1) / leaf) as usize, (nr - 1) % leaf)
            );
        }
    }
}

#[test]
fn errors_name_the_value_and_the_remedy() {
    let text = |nr, p| Geometry::new(nr, p).expect_err("refused").to_string();
    let p = GeometryParams::default();
    assert!(text(0, p).contains("at least 1"));
    assert!(text(8, params(1, 64, false)).contains("leaf_fanout is 1"));
    assert!(text(8, params(65, 64, false)).contains("choose 2 to 64"));
    assert!(text(8, params(16, u32::MAX, false)).contains("inner_fanout is 4294967295"));
    let many = text(17, params(2, 2, false));
    assert!(many.contains("17 CPUs") && many.contains("hold 16") && many.contains("raise"));
    assert!(Geometry::new(16, params(2, 2, false)).is_ok());
    assert!(Geometry::new(u32::MAX, params(64, 64, true)).is_err());
}

#[test]
#[should_panic(expected = "grow it first")]
fn a_cpu_outside_is_refused() {
    let _ = tree(43, GeometryParams::default()).leaf_of(43);
}
