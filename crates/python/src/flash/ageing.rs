//! Ageing from Python: a drive brought to steady state under a load.

use flash::ageing::{LiveShare, Steady, fill, mean_field, until_steady};
use flash::input::Input;
use flash::{Drive, FlashError, Policy};

/// Writes the blocks that a load will write once, in order, each in the size that the load gives it.
pub fn fill_for<D: Drive>(drive: &mut D, input: &Input, used_share: f64) -> Result<(), FlashError> {
    let sizes = input.initial_sizes(drive.logical_blocks());
    // A block that the load never writes is as full as any: what lies there counts.
    fill(drive, used_share, |lba| sizes[lba as usize].unwrap_or(4096))
}

/// Fills, then writes the load until write amplification settles.
pub fn overwrite<D: Drive>(
    drive: &mut D,
    input: &mut Input,
    used_share: f64,
    tolerance: f64,
    limit: u32,
) -> Result<Steady, FlashError> {
    fill_for(drive, input, used_share)?;
    let writes = u64::from(drive.logical_blocks());
    until_steady(drive, tolerance, limit, |drive| input.apply(drive, writes))
}

/// Lays the data down as equilibrium under uniform writes would.
pub fn equilibrium<D: Drive>(
    drive: &mut D,
    input: &Input,
    used_share: f64,
    policy: Policy,
    block_bytes: u64,
    seed: u64,
) -> Result<(), FlashError> {
    let sizes = input.initial_sizes(drive.logical_blocks());
    let size = |lba: u32| sizes[lba as usize].unwrap_or(4096);
    let used = f64::from(drive.logical_blocks()) * used_share;
    let live: f64 = (0..used as u32).map(|lba| f64::from(size(lba))).sum();
    let units = block_bytes as f64 / (live / used.max(1.0)).max(1.0);
    let share = LiveShare::new(policy, drive.usable_bytes() as f64 / live, units as u32)?;
    mean_field(drive, &share, used_share, size, seed)
}
