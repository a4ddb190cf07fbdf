//! A block's stored form in, the block out.

use std::fmt;

use libdeflater::Decompressor as Libdeflate;
use zstd_safe::{DCtx, DParameter, FrameFormat};

use crate::codec::Codec;

/// A codec's tables for reading: one a thread.
pub struct Decompressor {
    codec: Codec,
    engine: Engine,
}

enum Engine {
    None,
    Lz4,
    Deflate(Libdeflate),
    Zstd(DCtx<'static>),
}

/// Stored bytes that are not one block of the asked length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedBlock {
    /// The codec that was to read it.
    pub codec: Codec,
    /// How many bytes were stored.
    pub stored_bytes: usize,
    /// How long the block should have been.
    pub block_bytes: usize,
}

impl fmt::Display for DamagedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DamagedBlock { codec, stored_bytes, block_bytes } = self;
        write!(f, "{stored_bytes} stored bytes are no block of {block_bytes} bytes that {codec} has written")
    }
}

impl std::error::Error for DamagedBlock {}

impl Decompressor {
    /// Panics if there is no memory for the codec's tables, as every allocation does.
    pub fn new(codec: Codec) -> Self {
        let engine = match codec {
            Codec::None => Engine::None,
            Codec::Lz4 => Engine::Lz4,
            Codec::Deflate(_) => Engine::Deflate(Libdeflate::new()),
            Codec::Zstd(_) => {
                let mut context = DCtx::create();
                let format = DParameter::Format(FrameFormat::Magicless);
                context.set_parameter(format).expect("zstd has had this parameter since 1.4");
                Engine::Zstd(context)
            }
        };
        Decompressor { codec, engine }
    }

    /// Fills all of `block` from what `Compressor::compress` gave, or says that it is damaged; then `block` holds junk.
    pub fn decompress(&mut self, stored: &[u8], block: &mut [u8]) -> Result<(), DamagedBlock> {
        let damaged = DamagedBlock { codec: self.codec, stored_bytes: stored.len(), block_bytes: block.len() };
        if stored.is_empty() {
            block.fill(0);
            return Ok(());
        }
        if stored.len() == block.len() {
            block.copy_from_slice(stored);
            return Ok(());
        }
        let bytes = match &mut self.engine {
            Engine::None => None,
            Engine::Lz4 => lz4_flex::block::decompress_into(stored, block).ok(),
            Engine::Deflate(deflate) => deflate.deflate_decompress(stored, block).ok(),
            Engine::Zstd(context) => context.decompress(block, stored).ok(),
        };
        if bytes == Some(block.len()) { Ok(()) } else { Err(damaged) }
    }
}
