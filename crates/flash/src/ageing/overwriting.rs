//! Ageing by doing: fill, then overwrite at random.

use super::used_blocks;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::random::Random;

const BATCH: u32 = 4096;

/// Writes the first `used_share` of the logical blocks once, in order, each in `size(lba)` bytes.
pub fn fill<D: Drive>(drive: &mut D, used_share: f64, mut size: impl FnMut(u32) -> u16) -> Result<(), FlashError> {
    let used = used_blocks(drive.logical_blocks(), used_share)?;
    for start in (0..used).step_by(BATCH as usize) {
        let lbas: Vec<u32> = (start..used.min(start.saturating_add(BATCH))).collect();
        let sizes: Vec<u16> = lbas.iter().map(|&lba| size(lba)).collect();
        drive.write_batch(&lbas, &sizes)?;
    }
    Ok(())
}

/// Writes uniformly at random over the used blocks, `drive_writes` times their number.
pub fn overwrite<D: Drive>(
    drive: &mut D,
    used_share: f64,
    drive_writes: f64,
    mut size: impl FnMut(u32) -> u16,
    random: &mut Random,
) -> Result<(), FlashError> {
    let used = used_blocks(drive.logical_blocks(), used_share)?;
    let mut left = (f64::from(used) * drive_writes) as u64;
    let mut lbas = Vec::with_capacity(BATCH as usize);
    let mut sizes = Vec::with_capacity(BATCH as usize);
    while left > 0 {
        lbas.clear();
        sizes.clear();
        for _ in 0..left.min(u64::from(BATCH)) {
            let lba = random.below(used);
            lbas.push(lba);
            sizes.push(size(lba));
        }
        left -= lbas.len() as u64;
        drive.write_batch(&lbas, &sizes)?;
    }
    Ok(())
}
