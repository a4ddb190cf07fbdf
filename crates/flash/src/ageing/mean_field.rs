//! One pass over the flash that leaves the drive as equilibrium would.
//!
//! A fresh drive takes the writes of a whole flash without collecting anything, and lays them down in order. So the
//! blocks to come are written in the order of their age: a share of each block's writes, given by theory, goes to
//! logical blocks that will not be written again (live), the rest to some that will (garbage).

use super::live_share::LiveShare;
use super::permutation::Permutation;
use super::used_blocks;
use crate::drive::Drive;
use crate::error::FlashError;
use crate::random::Random;

const BATCH: u32 = 4096;

/// A small drive is written in at least so many batches.
const LEAST_BATCHES: u32 = 64;

/// Ages a fresh drive whose first `used_share` of logical blocks are in use, each written in `size(lba)` bytes.
///
/// `live` is the equilibrium of the drive's policy at α = usable over live bytes, both as they lie on flash. The drive
/// must not have been written.
pub fn mean_field<D: Drive>(
    drive: &mut D,
    live: &LiveShare,
    used_share: f64,
    mut size: impl FnMut(u32) -> u16,
    seed: u64,
) -> Result<(), FlashError> {
    let written = drive.counters().host_bytes_written;
    if written > 0 {
        let reason = "the mean field describes a whole drive, so it must be fresh";
        return Err(FlashError::invalid("host bytes written", written, reason));
    }
    let used = used_blocks(drive.logical_blocks(), used_share)?;
    let order = Permutation::new(used, seed);
    let mut random = Random::new(seed ^ 0x6167_6569_6e67);
    let usable = drive.usable_bytes() as f64;
    let batch = (used / LEAST_BATCHES).clamp(1, BATCH) as usize;
    let (mut settled, mut asked, mut owed) = (0, 0.0, 0.0);
    let mut lbas = Vec::with_capacity(batch);
    let mut sizes = Vec::with_capacity(batch);
    while settled < used {
        lbas.clear();
        sizes.clear();
        // How far the flash is programmed, the drive knows: it may round sizes up, pad, or not compress at all.
        let mut programmed = drive.counters().nand_bytes_written as f64;
        let programmed_of_asked = if asked > 0.0 { programmed / asked } else { 1.0 };
        while lbas.len() < batch && settled < used {
            let rank = programmed / usable;
            // Live blocks are spread evenly: the block's share is owed, and paid whenever it exceeds a half. Past the
            // end of the flash, rounding may have left a few to be settled.
            owed += if rank < 1.0 { live.at(rank) } else { 1.0 };
            let index = if owed >= 0.5 {
                owed -= 1.0;
                settled += 1;
                settled - 1
            } else {
                settled + random.below(used - settled)
            };
            let lba = order.at(index);
            let bytes = size(lba);
            asked += f64::from(bytes);
            programmed += f64::from(bytes) * programmed_of_asked;
            lbas.push(lba);
            sizes.push(bytes);
        }
        drive.write_batch(&lbas, &sizes)?;
    }
    Ok(())
}
