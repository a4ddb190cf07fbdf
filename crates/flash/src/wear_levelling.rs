//! Static wear levelling: cold data sit on young blocks and keep them young, so the drive moves them now and then.
//!
//! After each erase a cursor looks at a few blocks in turn. A block that holds data and has been erased at least
//! `threshold` times less than the most worn one is emptied as if garbage collection had chosen it. Dynamic wear
//! levelling needs no code: free blocks are used in the order in which they were erased.

use crate::error::FlashError;

/// Blocks that the cursor visits per erase. Eight visits find a block that fell behind before the drive has erased an
/// eighth of its blocks once more.
pub(crate) const VISITS_PER_ERASE: u32 = 8;

/// When cold data are moved for the sake of wear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticWearLevelling {
    /// Erases by which a block may trail the most worn block.
    pub threshold: u32,
}

impl StaticWearLevelling {
    /// At least 2: with 1 every erase would at once make another block trail.
    pub fn new(threshold: u32) -> Result<Self, FlashError> {
        if threshold < 2 {
            return Err(FlashError::invalid("wear-levelling threshold", threshold, "must be at least 2 erases"));
        }
        Ok(Self { threshold })
    }
}
