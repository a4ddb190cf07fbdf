//! Random: any sealed block. The policy to beat, with the write amplification α / (α − 1).

use super::dense_set::DenseSet;
use crate::random::Random;

pub(crate) fn choose(sealed: &DenseSet, random: &mut Random) -> Option<u32> {
    sealed.draw(random)
}
