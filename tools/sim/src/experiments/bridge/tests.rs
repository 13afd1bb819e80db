use super::*;
use crate::Workload;

/// The workload's own point.
fn chosen() -> Point {
    let plan = Workload::named("bridge").unwrap().plan(&[]).unwrap();
    let said = |key: &str| match key {
        "hz" => plan.options.hz.to_string(),
        "rcu_nocbs" if plan.options.nocbs.is_empty() => "none".into(),
        "rcu_nocbs" => "all".into(),
        key => plan
            .parameters
            .iter()
            .find(|it| it.0 == key)
            .unwrap()
            .1
            .clone(),
    };
    let is_it = |point: &&Point| point.iter().all(|it| it.1 == said(it.0));
    grid()
        .iter()
        .find(is_it)
        .expect("it is a point of the grid")
        .clone()
}

#[test]
fn no_neighbour_of_the_chosen_point_comes_nearer_to_the_default_variant() {
    let (chosen, published) = (chosen(), Figures::published());
    let distance = |point: &Point| default_at(point).distance(&published);
    let own = distance(&chosen);
    let differs_in_one = |it: &&Point| it.iter().zip(&chosen).filter(|(a, b)| a != b).count() == 1;
    let grid = grid();
    let neighbours: Vec<&Point> = grid.iter().filter(differs_in_one).collect();
    assert!(neighbours.len() >= 8);
    for it in neighbours {
        let theirs = distance(it);
        assert!(own < theirs, "{own} at {chosen:?}, {theirs} at {it:?}");
    }
}

#[test]
fn each_variant_saves_and_the_longest_call_halves_where_the_grace_period_wakes() {
    let figures = VARIANTS.map(|it| variant(it, 1));
    let [default, early, both, woken] = figures;
    assert!(early.median_ms < default.median_ms && woken.median_ms < default.median_ms);
    assert!(both.median_ms <= early.median_ms && both.median_ms < woken.median_ms);
    assert!(both.total_s < early.total_s && woken.total_s < default.total_s);
    for it in [both, woken] {
        assert!(
            (0.4..0.6).contains(&(it.max_ms / default.max_ms)),
            "{figures:?}"
        );
    }
}

#[test]
fn the_early_report_costs_no_cpu_time() {
    let outcome = cpu_overhead(1);
    assert!(outcome.comparisons.is_empty(), "no ratio was published");
    let [rcu, system] = &outcome.shown[..] else {
        panic!("two figures");
    };
    assert_eq!(rcu.holds(), Some(true), "{rcu:?}");
    assert!(system.model <= 2.0, "{system:?}");
    // One-sided: a saving of any size is no increase.
    let claim = rcu.claim.as_ref().unwrap();
    assert!(claim.bound.holds(-50.0) && !claim.bound.holds(2.1));
}
