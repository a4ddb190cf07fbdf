//! The codecs and their names: `zstd-1`, `deflate-6`, `lz4`, `none`.
//!
//! zstd at level 1 stands for drives that compress in silicon: on heap pages and on WAL it comes within a few per cent
//! of deflate, which such drives are known to use, at a better speed. lz4 has no entropy coder and shrinks far less.

use std::fmt;
use std::str::FromStr;

/// How blocks are compressed. `None` still keeps blocks of zeros as nothing, as thin-provisioned drives do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Blocks are stored as they are.
    None,
    /// The lz4 block format.
    Lz4,
    /// Raw deflate (RFC 1951) at a level from 1 to 12, those of libdeflate.
    Deflate(u8),
    /// Zstandard (RFC 8878) at a level from 1 to 19.
    Zstd(u8),
}

impl Default for Codec {
    fn default() -> Self {
        Codec::Zstd(1)
    }
}

/// A codec's name that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCodec(
    /// What was given.
    pub String,
);

impl fmt::Display for UnknownCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no codec \"{}\": zstd-1 to zstd-19, deflate-1 to deflate-12, lz4 or none", self.0)
    }
}

impl std::error::Error for UnknownCodec {}

impl FromStr for Codec {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        let unknown = || UnknownCodec(name.to_owned());
        let (family, level) = match name.split_once('-') {
            None => (name, None),
            Some((family, digits)) => (family, Some(digits.parse::<u8>().map_err(|_| unknown())?)),
        };
        match (family, level) {
            ("none", None) => Ok(Codec::None),
            ("lz4", None) => Ok(Codec::Lz4),
            ("deflate", Some(level @ 1..=12)) => Ok(Codec::Deflate(level)),
            ("zstd", Some(level @ 1..=19)) => Ok(Codec::Zstd(level)),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Codec::None => f.write_str("none"),
            Codec::Lz4 => f.write_str("lz4"),
            Codec::Deflate(level) => write!(f, "deflate-{level}"),
            Codec::Zstd(level) => write!(f, "zstd-{level}"),
        }
    }
}
