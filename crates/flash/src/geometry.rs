//! How flash chips are put together, and the superblock that spans all of them.
//!
//! A drive has channels; on each, dies that work independently; in each, planes that program and erase together. A
//! *superblock* takes one block of every plane of every die: it is written in stripes and erased as one. Everything
//! else in this crate calls it just *block*.

use crate::BLOCK_BYTES;
use crate::error::FlashError;

/// The shape of a drive's flash, without the number of blocks (which [`crate::capacity`] derives).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the controller.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes in each die.
    pub planes_per_die: u32,
    /// Flash pages in one block of one plane.
    pub flash_pages_per_block: u32,
    /// Bytes of a flash page, a multiple of 4096.
    pub flash_page_bytes: u32,
}

/// Where in the drive a byte of a superblock lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Channel.
    pub channel: u32,
    /// Die on the channel.
    pub die: u32,
    /// Plane of the die.
    pub plane: u32,
    /// Flash page inside the plane's block.
    pub flash_page: u32,
}

impl Geometry {
    /// One die with one plane whose blocks hold `pages_per_block` pages of 4096 bytes: all that write amplification
    /// depends on.
    pub fn plain(pages_per_block: u32) -> Self {
        Self {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            flash_pages_per_block: pages_per_block,
            flash_page_bytes: BLOCK_BYTES,
        }
    }

    /// Refuses shapes that no drive has.
    pub fn check(&self) -> Result<(), FlashError> {
        let counts = [
            ("channels", self.channels),
            ("dies per channel", self.dies_per_channel),
            ("planes per die", self.planes_per_die),
            ("flash pages per block", self.flash_pages_per_block),
            ("flash page bytes", self.flash_page_bytes),
        ];
        for (field, value) in counts {
            if value == 0 {
                return Err(FlashError::invalid(field, value, "must be at least 1"));
            }
        }
        if self.flash_page_bytes % BLOCK_BYTES != 0 {
            return Err(FlashError::invalid("flash page bytes", self.flash_page_bytes, "must be a multiple of 4096"));
        }
        let stripes = u64::from(self.channels).checked_mul(u64::from(self.dies_per_channel));
        let superblock_bytes = stripes
            .and_then(|planes| planes.checked_mul(u64::from(self.planes_per_die)))
            .and_then(|planes| planes.checked_mul(u64::from(self.flash_pages_per_block)))
            .and_then(|pages| pages.checked_mul(u64::from(self.flash_page_bytes)));
        match superblock_bytes {
            Some(bytes) if bytes >= 2 * u64::from(BLOCK_BYTES) && bytes < 1 << 32 => Ok(()),
            Some(bytes) => {
                Err(FlashError::invalid("superblock bytes", bytes, "must be at least 8192 and less than 4 GiB"))
            }
            None => Err(FlashError::invalid("superblock bytes", "overflow", "must be less than 4 GiB")),
        }
    }

    /// Bytes of a superblock.
    pub fn superblock_bytes(&self) -> u64 {
        u64::from(self.stripe_planes()) * u64::from(self.flash_pages_per_block) * u64::from(self.flash_page_bytes)
    }

    /// Pages of 4096 bytes in a superblock: the Np of the formulas.
    pub fn pages_per_block(&self) -> u32 {
        (self.superblock_bytes() / u64::from(BLOCK_BYTES)) as u32
    }

    /// Planes in the drive, and so flash pages in a stripe.
    pub fn stripe_planes(&self) -> u32 {
        self.channels * self.dies_per_channel * self.planes_per_die
    }

    /// Where the byte at `offset` of a superblock lies. Consecutive flash pages go to consecutive channels, then dies,
    /// then planes.
    pub fn place(&self, offset: u64) -> Place {
        let index = (offset / u64::from(self.flash_page_bytes)) as u32;
        let channel = index % self.channels;
        let die = index / self.channels % self.dies_per_channel;
        let plane = index / (self.channels * self.dies_per_channel) % self.planes_per_die;
        Place { channel, die, plane, flash_page: index / self.stripe_planes() }
    }
}
