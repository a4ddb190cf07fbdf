//! Ageing by doing: fill, then overwrite at random until nothing changes any more.

use super::used_blocks;
use crate::counters::Counters;
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

/// How [`until_steady`] ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Windows written.
    pub windows: u32,
    /// Counts of the last window.
    pub last: Counters,
    /// Whether the last two windows agreed within the tolerance; false if the limit came first.
    pub reached: bool,
}

/// Calls `write_window`, which writes about one drive write of the load in question, until the write amplification of
/// two windows in a row differs by less than `tolerance` (relative), `limit` times at most.
///
/// As long as there is fresh flash, little or nothing has to be moved and two windows may agree without being steady,
/// on a compressing drive for several drive writes. So both windows must also have erased as many blocks.
pub fn until_steady<D: Drive>(
    drive: &mut D,
    tolerance: f64,
    limit: u32,
    mut write_window: impl FnMut(&mut D) -> Result<(), FlashError>,
) -> Result<Steady, FlashError> {
    let mut steady = Steady { windows: 0, last: Counters::default(), reached: false };
    let mut previous = Counters::default();
    while steady.windows < limit && !steady.reached {
        let before = drive.counters();
        write_window(drive)?;
        steady.last = drive.counters().since(&before);
        steady.windows += 1;
        let (before, now) = (previous.write_amplification(), steady.last.write_amplification());
        if let (Some(before), Some(now)) = (before, now) {
            steady.reached = erase_alike(&previous, &steady.last) && (now / before - 1.0).abs() < tolerance;
        }
        previous = steady.last;
    }
    Ok(steady)
}

/// Whether two windows erased as many blocks, but for a twentieth or for those that were half full at their edges.
fn erase_alike(one: &Counters, other: &Counters) -> bool {
    let (few, many) = (one.blocks_erased.min(other.blocks_erased), one.blocks_erased.max(other.blocks_erased));
    few > 0 && many - few <= (many / 20).max(2)
}
