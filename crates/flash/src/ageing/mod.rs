//! A used drive in seconds. A fresh drive is a lie: nothing is collected until all flash has been written once.
//!
//! * [`fill`] writes each block of a share of the drive once; [`overwrite`] then writes at random over it, and
//!   [`until_steady`] writes a load until write amplification is steady. Right for any load and any policy, and as fast
//!   as the drive.
//! * [`mean_field`] writes the drive full once, in such an order that each block ends with the live data that it would
//!   have in equilibrium: about one drive write, and garbage collection does not run at all.
//!
//! All go through [`Drive`](crate::Drive), so that an aged drive has been written as a host could have written it.

mod live_share;
mod mean_field;
mod overwriting;
mod permutation;
mod steady;

pub use live_share::LiveShare;
pub use mean_field::mean_field;
pub use overwriting::{fill, overwrite};
pub use permutation::Permutation;
pub use steady::{Settling, Steady, is_steady, until_steady};

use crate::error::FlashError;

/// The part of a drive that is in use: logical blocks 0 to a share of all.
fn used_blocks(logical_blocks: u32, used_share: f64) -> Result<u32, FlashError> {
    if !(used_share > 0.0 && used_share <= 1.0) {
        return Err(FlashError::invalid("used share", used_share, "must be above 0 and at most 1"));
    }
    Ok(((f64::from(logical_blocks) * used_share).round() as u32).max(1))
}
