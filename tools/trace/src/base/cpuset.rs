//! A set of CPUs that is cheap when it is empty, as nearly all sets of holdouts are.

use serde::{Serialize, Serializer};

/// CPUs by number, below 65536 + 64.
///
/// ```
/// use quiescent_trace::CpuSet;
///
/// let set: CpuSet = [3, 70].into_iter().collect();
/// assert!(set.contains(70) && !set.contains(4));
/// assert_eq!(set.iter().collect::<Vec<_>>(), [3, 70]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    /// Without zeros at the end, so that equal sets are equal.
    words: Vec<u64>,
}

impl CpuSet {
    /// Adds a CPU.
    // For each event of an idle CPU.
    #[inline(always)]
    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Takes a CPU out.
    pub fn remove(&mut self, cpu: u32) {
        if let Some(word) = self.words.get_mut(cpu as usize / 64) {
            *word &= !(1 << (cpu % 64));
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Adds the CPUs of a node's mask, whose first bit is `first`.
    pub fn insert_mask(&mut self, first: u32, mask: u64) {
        (0..64)
            .filter(|bit| mask >> bit & 1 == 1)
            .for_each(|bit| self.insert(first + bit));
    }

    /// Whether it has this CPU.
    pub fn contains(&self, cpu: u32) -> bool {
        let word = self.words.get(cpu as usize / 64).copied().unwrap_or(0);
        word >> (cpu % 64) & 1 == 1
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many it has.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Its CPUs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.words).flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = CpuSet::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_placed_by_the_first_cpu_of_their_node() {
        let mut set = CpuSet::default();
        set.insert_mask(16, 0b101);
        set.insert_mask(60, 1 << 63);
        assert_eq!(set.iter().collect::<Vec<_>>(), [16, 18, 123]);
        assert_eq!(set.len(), 3);
        assert!(CpuSet::default().is_empty() && !set.is_empty());
        [16, 18, 123, 5000]
            .into_iter()
            .for_each(|cpu| set.remove(cpu));
        assert_eq!(set, CpuSet::default());
    }
}
