//! The store: compressed blocks in a log of segments, found through a map.
//!
//! Blocks of every length are appended one after the other and never changed in place; a segment whose blocks have
//! mostly been replaced is emptied into another and used again (Rumble et al., *Log-structured memory*, FAST '14). So
//! no size classes waste memory, snapshots cost a copy of the map, and memory and a file are filled alike.
//!
//! | concept | file |
//! |---|---|
//! | a place, packed into 64 bits | [`entry`] |
//! | logical block → place | [`map`] |
//! | memory taken beforehand | [`arena`] |
//! | memory or a file below the log | [`media`], [`file`](mod@file) |
//! | segments: who is open, full, free; who still reads | [`segments`] |
//! | a block's header in the log | [`record`] |

pub mod arena;
pub mod entry;
pub mod file;
pub mod map;
pub mod media;
pub mod record;
pub mod segments;

pub use entry::Entry;
pub use map::Map;
pub use media::Media;
pub use segments::{Appender, Segments};

/// Bytes of a logical block.
pub const BLOCK_BYTES: usize = 4096;
