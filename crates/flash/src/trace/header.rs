//! The header: what was recorded, in which units.

use super::error::TraceError;
use super::format::{BYTE_ORDER, HEADER_BYTES, MAGIC, VERSION, bytes_at, check_crc, u16_at, u32_at, u64_at};
use crate::BLOCK_BYTES;

/// Nanoseconds in a tick of the clock.
const CLOCK_UNIT_NS: u32 = 1;

/// What the drive compressed with; sizes of one codec say little about another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Nothing was compressed: every size is 4096.
    None,
    /// zstd.
    Zstd,
    /// LZ4.
    Lz4,
    /// deflate, as zlib writes it.
    Deflate,
    /// Sizes were drawn from a distribution.
    Synthetic,
}

impl Codec {
    const ALL: [Self; 5] = [Self::None, Self::Zstd, Self::Lz4, Self::Deflate, Self::Synthetic];

    /// The codec's lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Deflate => "deflate",
            Self::Synthetic => "synthetic",
        }
    }

    /// The codec of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }
}

/// What is true for a whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the drive compressed with.
    pub codec: Codec,
    /// The codec's level; 0 where it has none.
    pub codec_level: i8,
    /// Logical size of the drive in blocks of 4096 bytes.
    pub drive_blocks: u64,
    /// Nanoseconds since 1970-01-01 UTC at time 0 of the trace; 0 if unknown.
    pub start_unix_ns: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&BYTE_ORDER.to_le_bytes());
        bytes[12..16].copy_from_slice(&BLOCK_BYTES.to_le_bytes());
        bytes[16..20].copy_from_slice(&CLOCK_UNIT_NS.to_le_bytes());
        bytes[20] = self.codec as u8;
        bytes[21] = self.codec_level.to_le_bytes()[0];
        bytes[24..32].copy_from_slice(&self.drive_blocks.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.start_unix_ns.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Magic, byte order and version come before the checksum: they say better what is wrong.
    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, TraceError> {
        if bytes[..8] != MAGIC {
            return Err(TraceError::Magic { what: "header", at: 0, found: bytes[..8].to_vec(), expected: &MAGIC });
        }
        let byte_order = u16_at(bytes, 10);
        if byte_order == BYTE_ORDER.swap_bytes() {
            return Err(unit("byte order", byte_order.into(), BYTE_ORDER.into()));
        }
        check_crc("header", 0, u32_at(bytes, 60), &bytes[..60])?;
        let version = u16_at(bytes, 8);
        if version != VERSION {
            return Err(TraceError::Version { found: version, supported: VERSION });
        }
        let units = [
            ("byte order", u32::from(byte_order), u32::from(BYTE_ORDER)),
            ("block unit", u32_at(bytes, 12), BLOCK_BYTES),
            ("clock unit", u32_at(bytes, 16), CLOCK_UNIT_NS),
        ];
        for (what, found, expected) in units {
            if found != expected {
                return Err(unit(what, found, expected));
            }
        }
        let Some(&codec) = Codec::ALL.get(usize::from(bytes[20])) else {
            return Err(TraceError::Length {
                what: "codec",
                at: 20,
                found: bytes[20].into(),
                expected: Codec::ALL.len() as u64 - 1,
            });
        };
        Ok(Self {
            codec,
            codec_level: i8::from_le_bytes(bytes_at(bytes, 21)),
            drive_blocks: u64_at(bytes, 24),
            start_unix_ns: u64_at(bytes, 32),
        })
    }
}

fn unit(what: &'static str, found: u32, expected: u32) -> TraceError {
    TraceError::Unit { what, found, expected }
}
