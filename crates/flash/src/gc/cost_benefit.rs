//! Cost-benefit: space gained times its age over the cost of reading and writing what is live (Kawaguchi, Nishioka and
//! Motoda, USENIX 1995): (1 − u) · age / 2u, with u the live share and age the blocks filled since this one.
//!
//! Young blocks are left alone for a while, since much of them may die for nothing. The score of every block changes
//! with every block filled, so a choice looks at all of them: exact, but linear in the number of blocks.

use super::dense_set::DenseSet;

/// What a choice needs to know about the blocks.
pub(crate) struct Ages<'a> {
    /// Number of blocks filled so far.
    pub(crate) now: u64,
    /// The value of `now` when each block was filled.
    pub(crate) sealed_at: &'a [u64],
}

pub(crate) fn choose(sealed: &DenseSet, live: &[u32], capacity: u32, ages: &Ages<'_>) -> Option<u32> {
    let score = |block: u32| {
        let live = live[block as usize];
        let age = ages.now - ages.sealed_at[block as usize] + 1;
        // A dead block costs nothing: its score is infinite. Equal scores go to the first found.
        f64::from(capacity - live) * age as f64 / (2.0 * f64::from(live))
    };
    let mut best: Option<(u32, f64)> = None;
    for &block in sealed.members() {
        let score = score(block);
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((block, score));
        }
    }
    best.map(|(block, _)| block)
}
