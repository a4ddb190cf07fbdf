//! Ageing from Python: a drive that holds data, and whether its write amplification is steady.

use flash::ageing::{LiveShare, fill, mean_field};
use flash::input::Input;
use flash::{BLOCK_BYTES, Drive, FlashError, Policy};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// Whether the mean of write amplification stopped moving; see `flash::ageing::is_steady`.
#[pyfunction]
pub fn flash_is_steady(
    windows: PyReadonlyArray1<'_, f64>,
    wave: f64,
    stretch: f64,
    tolerance: f64,
) -> PyResult<bool> {
    let windows = windows.as_slice()?;
    Ok(flash::ageing::is_steady(windows, wave, stretch, tolerance))
}

/// What a block takes on flash.
#[derive(Debug, Clone, Copy)]
pub enum Packing {
    /// A page, whatever it compresses to.
    Pages,
    /// An extent of whole granules.
    Extents {
        granularity: u32,
        /// Extents end inside a flash page of so many bytes.
        within: Option<u32>,
    },
}

impl Packing {
    /// Bytes of flash for a block that compresses to `size`. What is lost at the ends of flash pages is counted as if
    /// all extents of a page were of this size.
    fn stored_bytes(self, size: u16) -> f64 {
        match self {
            Self::Pages => f64::from(BLOCK_BYTES),
            Self::Extents {
                granularity,
                within,
            } => {
                let extent = u32::from(size).next_multiple_of(granularity);
                match within {
                    Some(flash_page) if extent > 0 => {
                        f64::from(flash_page) / f64::from(flash_page / extent)
                    }
                    _ => f64::from(extent),
                }
            }
        }
    }

    /// The size of each block as a load gives it, by address; where it has no effect, no table of them is made.
    fn sizes(self, input: &Input, logical_blocks: u32) -> impl Fn(u32) -> u16 {
        let table = match self {
            Self::Pages => Vec::new(),
            Self::Extents { .. } => input.initial_sizes(logical_blocks),
        };
        // A block that the load never writes is as full as any: what lies there counts.
        move |lba| {
            let drawn = table.get(lba as usize).copied().flatten();
            drawn.unwrap_or(BLOCK_BYTES as u16)
        }
    }
}

/// Writes the blocks of a share of the drive once, in order, each in the size that a load gives it.
pub fn fill_for<D: Drive>(
    drive: &mut D,
    input: &Input,
    used_share: f64,
    packing: Packing,
) -> Result<(), FlashError> {
    let size = packing.sizes(input, drive.logical_blocks());
    fill(drive, used_share, size)
}

/// Lays the data down as equilibrium under uniform writes would, in blocks of `block_bytes`.
pub fn equilibrium<D: Drive>(
    drive: &mut D,
    input: &Input,
    used_share: f64,
    (policy, packing, block_bytes): (Policy, Packing, u64),
    seed: u64,
) -> Result<(), FlashError> {
    if !(used_share > 0.0 && used_share <= 1.0) {
        let reason = "must be above 0 and at most 1";
        return Err(FlashError::invalid("used share", used_share, reason));
    }
    let size = packing.sizes(input, drive.logical_blocks());
    let used = ((f64::from(drive.logical_blocks()) * used_share).round() as u32).max(1);
    let live: f64 = (0..used).map(|lba| packing.stored_bytes(size(lba))).sum();
    let units = block_bytes as f64 / (live / f64::from(used)).max(1.0);
    let share = LiveShare::new(policy, drive.usable_bytes() as f64 / live, units as u32)?;
    mean_field(drive, &share, used_share, size, seed)
}
