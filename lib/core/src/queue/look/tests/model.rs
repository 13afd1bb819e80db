//! Sequences of looks against a model after the module's text, whose state has no special numbers.

use super::*;

#[derive(Default)]
struct Model {
    base: Option<u64>,
    /// What a value takes, while that is trusted.
    weight: Option<u64>,
    /// When the last estimate is or was no longer trusted.
    until: Option<u64>,
    trust: u64,
    apart: u64,
}

impl Model {
    fn look(&mut self, held: u64, resident: Option<u64>, now: u64) -> (bool, u64) {
        let many = held > FEW;
        let Some(resident) = resident else {
            self.apart = BLIND_NS;
            return (many, BLIND_NS);
        };
        if self.weight.is_some() && self.until <= Some(now) {
            (self.weight, self.base) = (None, None); // what stays is of something else
        }
        let base = *self.base.get_or_insert(resident);
        let may_be_theirs = many || self.weight.is_some();
        if resident < base || !may_be_theirs {
            self.base = Some(resident);
        } else if many && resident - base >= GROWTH {
            let is_new = self.weight.is_none();
            let again = self.until.is_some_and(|until| now < until + self.trust);
            self.trust = match (is_new, again) {
                (true, true) => (2 * self.trust).min(LONGEST_TRUST_NS),
                (true, false) => TRUST_NS,
                (false, _) => self.trust,
            };
            let one = ((resident - base) / (held - FEW)).max(1);
            self.weight = self.weight.max(Some(one));
            self.until = Some(now + self.trust);
            self.base = Some(resident);
        }
        self.apart = match self.weight {
            Some(_) => APART_NS,
            None => (2 * self.apart).min(FARTHEST_NS),
        };
        let held_bytes = self.weight.map(|weight| weight * held);
        (many && held_bytes >= Some(HELD_MOST), self.apart)
    }
}

/// One look: values held, resident MiB (0: not known), nanoseconds since the one before.
type Step = (u64, u64, u64);

#[track_caller]
fn same(steps: &[Step]) {
    let (look, mut now) = (Look::new(), 1);
    let mut model = Model {
        apart: APART_NS,
        ..Model::default()
    };
    for (n, &(held, mib, passed)) in steps.iter().enumerate() {
        now += passed;
        let resident = Some(mib * MIB).filter(|bytes| *bytes != 0);
        let (grown, apart) = look.look(held, resident, now);
        look.apart.store(apart, Relaxed);
        assert_eq!(
            (grown, apart),
            model.look(held, resident, now),
            "step {n} of {steps:?}"
        );
    }
}

#[test]
fn sequences_of_looks_are_those_of_the_model() {
    let mut all = Vec::new();
    for held in [1, FEW, FEW + 1, 50] {
        for mib in [0, 10, 11, 13, 40, 90] {
            all.extend([0, TRUST_NS - 1, TRUST_NS, 2 * TRUST_NS].map(|passed| (held, mib, passed)));
        }
    }
    for first in &all {
        for second in &all {
            all.iter()
                .for_each(|third| same(&[*first, *second, *third]));
        }
    }
    // Longer ones, by a fixed sequence of numbers.
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let steps: [Step; 12] = std::array::from_fn(|_| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            all[(seed >> 33) as usize % all.len()]
        });
        same(&steps);
    }
}
