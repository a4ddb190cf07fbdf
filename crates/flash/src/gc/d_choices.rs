//! d-choices: draw `d` sealed blocks at random (with replacement) and take the one with the least live data.
//!
//! It needs no index, and a few choices come close to greedy (Van Houdt, SIGMETRICS 2013).

use super::dense_set::DenseSet;
use crate::random::Random;

pub(crate) fn choose(sealed: &DenseSet, d: u32, live: &[u32], random: &mut Random) -> Option<u32> {
    let mut best = sealed.draw(random)?;
    for _ in 1..d {
        let other = sealed.draw(random)?;
        if live[other as usize] < live[best as usize] {
            best = other;
        }
    }
    Some(best)
}
