//! How often blocks have been erased.

/// Erase counts over the blocks of a drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Wear {
    /// Fewest erases of any block.
    pub min: u32,
    /// Most erases of any block.
    pub max: u32,
    /// Mean over all blocks.
    pub avg: f64,
    /// Erases of each block, by its number.
    pub erase_counts: Vec<u32>,
}

impl Wear {
    /// Summarises erase counts; a drive has at least one block.
    pub fn of(erase_counts: Vec<u32>) -> Self {
        let sum: u64 = erase_counts.iter().map(|&count| u64::from(count)).sum();
        Self {
            min: erase_counts.iter().copied().min().unwrap_or(0),
            max: erase_counts.iter().copied().max().unwrap_or(0),
            avg: sum as f64 / erase_counts.len().max(1) as f64,
            erase_counts,
        }
    }

    /// Number of blocks by erase count, in `bins` equal bins from `min` to `max`: (first count of the bin, blocks).
    pub fn histogram(&self, bins: u32) -> Vec<(u32, u32)> {
        let width = (self.max - self.min) / bins.max(1) + 1;
        let mut histogram: Vec<(u32, u32)> =
            (0..=(self.max - self.min) / width).map(|bin| (self.min + bin * width, 0)).collect();
        for &count in &self.erase_counts {
            histogram[((count - self.min) / width) as usize].1 += 1;
        }
        histogram
    }
}
