//! One block in, its stored form out.

use libdeflater::{CompressionLvl, Compressor as Libdeflate};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use zstd_safe::{CCtx, CParameter, FrameFormat, compress_bound};

use crate::codec::Codec;
use crate::zeros::is_zeros;

/// A codec with its tables and its room for one compressed block: one a thread.
pub struct Compressor {
    codec: Codec,
    engine: Engine,
    room: Vec<u8>,
}

enum Engine {
    None,
    Lz4(Box<CompressTable>),
    Deflate(Libdeflate),
    Zstd(CCtx<'static>),
}

impl Compressor {
    /// Panics if there is no memory for the codec's tables, as every allocation does.
    pub fn new(codec: Codec) -> Self {
        let engine = match codec {
            Codec::None => Engine::None,
            Codec::Lz4 => Engine::Lz4(Box::new(CompressTable::small())),
            Codec::Deflate(level) => {
                let level = CompressionLvl::new(level.into()).expect("a codec's level is one of libdeflate's");
                Engine::Deflate(Libdeflate::new(level))
            }
            Codec::Zstd(level) => Engine::Zstd(zstd_context(level)),
        };
        Compressor { codec, engine, room: Vec::new() }
    }

    /// The codec it was made for.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The bytes that a drive stores for `block`: none for zeros, the block itself if it does not shrink.
    pub fn compress<'a>(&'a mut self, block: &'a [u8]) -> &'a [u8] {
        if is_zeros(block) {
            return &[];
        }
        match self.shrink(block) {
            Some(bytes) if bytes < block.len() => &self.room[..bytes],
            _ => block,
        }
    }

    /// How many bytes a drive stores for `block`: 0 for zeros, at most its own length.
    pub fn stored_bytes(&mut self, block: &[u8]) -> usize {
        if is_zeros(block) { 0 } else { self.shrink(block).map_or(block.len(), |bytes| bytes.min(block.len())) }
    }

    /// Compresses into `room` and says how many bytes that took; `None` if the codec has nothing to offer.
    fn shrink(&mut self, block: &[u8]) -> Option<usize> {
        // Always the codec's own bound: with less room zstd gives up on blocks that it could have shrunk.
        let bound = match &mut self.engine {
            Engine::None => return None,
            Engine::Lz4(_) => get_maximum_output_size(block.len()),
            Engine::Deflate(deflate) => deflate.deflate_compress_bound(block.len()),
            Engine::Zstd(_) => compress_bound(block.len()),
        };
        if self.room.len() < bound {
            self.room.resize(bound, 0);
        }
        let room = self.room.as_mut_slice();
        match &mut self.engine {
            Engine::None => None,
            Engine::Lz4(table) => compress_into_with_table(block, room, table).ok(),
            Engine::Deflate(deflate) => deflate.deflate_compress(block, room).ok(),
            Engine::Zstd(context) => context.compress2(room, block).ok(),
        }
    }
}

/// A context whose frames carry nothing that a drive keeps elsewhere: no magic, no length of the block, no checksum.
fn zstd_context(level: u8) -> CCtx<'static> {
    let mut context = CCtx::create();
    for parameter in [
        CParameter::CompressionLevel(level.into()),
        CParameter::Format(FrameFormat::Magicless),
        CParameter::ContentSizeFlag(false),
        CParameter::ChecksumFlag(false),
    ] {
        context.set_parameter(parameter).expect("zstd has had this parameter since 1.4");
    }
    context
}
