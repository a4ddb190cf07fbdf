//! How many blocks a drive has and what each is for. Over-provisioning counts data blocks only.
//!
//! `total = data + reserve + open`. At the moment when garbage collection chooses a victim, exactly `reserve` blocks
//! are free, `open` blocks are partly written (one for each stream except the one that has just filled its block), and
//! `data` blocks are full: these are the T of T/U. Counting a block more or less matters: with 4386 blocks and 7 %, one
//! block moves write amplification by 0.3 %.

use crate::BLOCK_BYTES;
use crate::error::FlashError;
use crate::geometry::Geometry;
use crate::over_provisioning::OverProvisioning;
use crate::streams::Streams;

/// The blocks of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    geometry: Geometry,
    user_blocks: u32,
    data_blocks: u32,
    reserve_blocks: u32,
}

impl Capacity {
    /// The drive that shows `user_bytes` (a multiple of 4096) to its host: data blocks are rounded to the nearest.
    pub fn of_user(
        geometry: Geometry,
        user_bytes: u64,
        over_provisioning: OverProvisioning,
        reserve_blocks: u32,
    ) -> Result<Self, FlashError> {
        geometry.check()?;
        let block = u64::from(BLOCK_BYTES);
        if user_bytes == 0 || user_bytes % block != 0 || user_bytes / block >= u64::from(u32::MAX) {
            let reason = "must be a positive multiple of 4096 bytes below 16 TiB";
            return Err(FlashError::invalid("user capacity", user_bytes, reason));
        }
        let user_blocks = (user_bytes / block) as u32;
        let pages = f64::from(user_blocks) * over_provisioning.alpha();
        let data_blocks = (pages / f64::from(geometry.pages_per_block())).round() as u64;
        Self::checked(geometry, user_blocks, data_blocks, reserve_blocks)
    }

    /// The drive made of `total_blocks` superblocks that its reserve and `streams` share with the data; user capacity
    /// is rounded down to a page.
    pub fn of_physical(
        geometry: Geometry,
        total_blocks: u32,
        over_provisioning: OverProvisioning,
        reserve_blocks: u32,
        streams: Streams,
    ) -> Result<Self, FlashError> {
        geometry.check()?;
        let taken = u64::from(reserve_blocks) + u64::from(streams.open_blocks());
        if u64::from(total_blocks) <= taken {
            let reason = format!(
                "leaves no block for data after {reserve_blocks} of reserve and {} open",
                taken - u64::from(reserve_blocks)
            );
            return Err(FlashError::invalid("total blocks", total_blocks, reason));
        }
        let data_blocks = u64::from(total_blocks) - taken;
        let pages = data_blocks as f64 * f64::from(geometry.pages_per_block());
        let user_blocks = (pages / over_provisioning.alpha()).floor();
        if user_blocks < 1.0 || user_blocks >= f64::from(u32::MAX) {
            return Err(FlashError::invalid(
                "user capacity",
                user_blocks,
                "must be between 1 block of 4096 bytes and 16 TiB",
            ));
        }
        Self::checked(geometry, user_blocks as u32, data_blocks, reserve_blocks)
    }

    fn checked(
        geometry: Geometry,
        user_blocks: u32,
        data_blocks: u64,
        reserve_blocks: u32,
    ) -> Result<Self, FlashError> {
        if reserve_blocks == 0 {
            return Err(FlashError::invalid(
                "reserve blocks",
                0,
                "must be at least 1, or garbage collection has no block to write to",
            ));
        }
        let pages = u64::from(geometry.pages_per_block());
        if data_blocks * pages < u64::from(user_blocks) + pages {
            let reason = format!(
                "{user_blocks} user pages leave less than one block of {pages} pages spare; give more \
                 over-provisioning, more capacity or smaller blocks"
            );
            return Err(FlashError::invalid("data blocks", data_blocks, reason));
        }
        // 64 streams at most are open; their blocks and the reserve must be addressable too.
        if (data_blocks + u64::from(reserve_blocks) + 64) * pages >= u64::from(u32::MAX) {
            return Err(FlashError::invalid("physical capacity", data_blocks * pages * 4096, "must be below 16 TiB"));
        }
        Ok(Self { geometry, user_blocks, data_blocks: data_blocks as u32, reserve_blocks })
    }

    /// The flash's shape.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Logical blocks of 4096 bytes that the over-provisioning refers to (U).
    pub fn user_blocks(&self) -> u32 {
        self.user_blocks
    }

    /// Superblocks for data and garbage.
    pub fn data_blocks(&self) -> u32 {
        self.data_blocks
    }

    /// Superblocks kept free for garbage collection.
    pub fn reserve_blocks(&self) -> u32 {
        self.reserve_blocks
    }

    /// All superblocks of a drive with these streams.
    pub fn total_blocks(&self, streams: Streams) -> u32 {
        self.data_blocks + self.reserve_blocks + streams.open_blocks()
    }

    /// T/U after rounding to whole blocks: the α to put into a formula.
    pub fn alpha(&self) -> f64 {
        f64::from(self.data_blocks) * f64::from(self.geometry.pages_per_block()) / f64::from(self.user_blocks)
    }

    /// Bytes of the data blocks.
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.data_blocks) * self.geometry.superblock_bytes()
    }
}
