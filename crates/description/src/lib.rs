//! What a modelled or emulated drive is asked to be.
//!
//! `pgassay drive simulate`, the emulated drive's program and pgassay's Python all read descriptions of drives. Keys,
//! names, defaults, limits and the wording of refusals are here, once: a description means the same to all of them.
//!
//! | table | module | says |
//! |---|---|---|
//! | `[drive]` | [`flash_table`] | the flash: capacity, shape, garbage collection, compression |
//! | `[timing]` | [`timing`] | what requests take: a profile with single figures laid over it |
//! | `[emulation]` | [`emulation`] | what only a running drive has: codec, store, threads |
//!
//! [`Description`] is the three together, and the presets `ssd` and `csd`.

mod description;
pub mod emulation;
mod error;
pub mod flash_table;
pub mod memory;
mod table;
pub mod timing;
pub mod values;

pub use description::{Description, PRESETS};
pub use emulation::Emulation;
pub use error::Refused;
pub use flash_table::{Configuration, FlashTable, Kind};
pub use table::Table;
pub use timing::{Timing, TimingTable};
