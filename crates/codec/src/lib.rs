//! What a drive with transparent compression does to one block: each 4 KiB is compressed alone, and its size is what
//! counts. One `Compressor` a thread keeps the codec's tables, so that a block costs no allocation.
//!
//! A stored block has no header; its length says what it is: 0 bytes are a block of zeros, as many bytes as the block
//! has are the block itself (it did not shrink), anything between is compressed. So sizes are what the flash model
//! takes, and no container's bytes are counted: deflate is raw, lz4 a bare block, zstd a frame without its magic.

mod codec;
mod compressor;
mod decompressor;
mod zeros;

pub use codec::{Codec, UnknownCodec};
pub use compressor::Compressor;
pub use decompressor::{DamagedBlock, Decompressor};
pub use zeros::is_zeros;

/// The unit in which drives map and compress, in bytes.
pub const BLOCK_BYTES: usize = 4096;

#[cfg(test)]
mod tests;
