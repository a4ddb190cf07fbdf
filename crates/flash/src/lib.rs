//! What a drive does with the blocks that a host writes: a model of the flash translation layer.
//!
//! A host overwrites 4 KiB logical blocks in place; flash cannot. The drive appends each write to an open *block*
//! (the superblock, the unit that is erased), remembers where the newest copy lies, and later moves what is still live
//! out of old blocks so that they can be erased. The bytes programmed over the bytes the host sent are the drive's
//! *write amplification*. This crate models two such drives, and holds the formulas that say what they must yield:
//!
//! | concept | file |
//! |---|---|
//! | channels, dies, planes and the superblock over them | [`geometry`] |
//! | spare flash in both conventions; data, reserve and open blocks | [`over_provisioning`], [`capacity`] |
//! | what a host can ask: write, TRIM, where does it lie | [`drive`] |
//! | a normal SSD: 4 KiB pages, a map from page to page | [`page_mapped`] |
//! | a drive that compresses: extents of variable length; running out of flash | [`compressing`] |
//! | one pool of flash per class of data | [`pools`] |
//! | which block is erased next | [`gc`] |
//! | who writes into which open block | [`streams`] |
//! | erase counts, moving cold data, how long a drive lasts | [`wear`], [`wear_levelling`], [`life`] |
//! | a used drive in seconds | [`ageing`] |
//! | what the drive reports about itself | [`counters`], [`health`] |
//! | what mathematics says about all this | [`theory`] |
//! | loads made by formula, recorded loads | [`input`], [`trace`] |
//! | watching every operation on the flash | [`observer`] |
//! | service times over channels and dies, latencies | [`timing`] |
//! | what is refused, and in which words | [`error`] |
//! | random numbers that are the same everywhere | [`random`] |
//!
//! Below these lies what both drives share: the life of a block (`block_table`), what is done with any request
//! (`requests`), and what makes them fast: `huge_pages`, `prefetch`, `division`.
//!
//! # The contract
//!
//! * Logical blocks have [`BLOCK_BYTES`] = 4096 bytes and are named by a `u32` address, so a drive has at most 16 TiB
//!   of logical space. *Page* means a 4 KiB page of a page-mapped drive; *flash page* is what the NAND
//!   programs at once.
//! * A [`Drive`] takes [`write`](Drive::write)s (address, bytes after compression), [`trim`](Drive::trim)s and batches
//!   ([`write_batch`](Drive::write_batch), the fast path: it prefetches ahead). A page-mapped drive checks and then
//!   ignores the compressed size. Size 0 means a block of zeros that a compressing drive keeps in its map alone.
//! * Each drive is generic over an [`Observer`]: `PageMapped<NoObserver>` (the default) costs nothing, any other gets
//!   every program, read and erase with its block, byte offset, stream and [`Cause`], in order. The bytes of all
//!   `program` calls sum to `nand_bytes_written`. [`Drive::locate`] says where a host read goes.
//! * [`Counters`] only grow; a window is a difference of two snapshots ([`Counters::since`]), and
//!   `nand = compressed + gc + wear levelling + padding` holds at every moment.
//! * A call that returns an [`FlashError`] has changed no live data; the error says which value and why.
//! * Nothing here does I/O or looks at a clock. Randomness comes from [`random::Random`], seeded by the caller, so that
//!   a run can be repeated exactly.

pub mod ageing;
mod block_table;
pub mod capacity;
pub mod compressing;
pub mod counters;
pub mod drive;
pub mod error;
pub mod gc;
pub mod geometry;
pub mod health;
pub mod input;
pub mod life;
pub mod observer;
pub mod over_provisioning;
pub mod page_mapped;
pub mod pools;
pub mod random;
pub mod streams;
pub mod theory;
pub mod timing;
pub mod trace;
pub mod wear;
pub mod wear_levelling;

mod division;
mod huge_pages;
mod prefetch;
mod requests;

pub use capacity::Capacity;
pub use compressing::{Compressing, CompressingConfig, SpaceState, Throttling};
pub use counters::Counters;
pub use drive::{Drive, Location};
pub use error::FlashError;
pub use gc::Policy;
pub use geometry::Geometry;
pub use health::HealthLog;
pub use observer::{Cause, NoObserver, Observer};
pub use over_provisioning::OverProvisioning;
pub use page_mapped::{PageMapped, PageMappedConfig};
pub use pools::Pools;
pub use streams::Streams;
pub use wear::Wear;
pub use wear_levelling::StaticWearLevelling;

/// Bytes in a logical block, and in a page of a page-mapped drive.
pub const BLOCK_BYTES: u32 = 4096;
