//! What survives a loss of power: the drive's write cache, its flushes and what it writes whole or not at all; pure.
//!
//! A *piece* is what the drive writes atomically: the part of a request that lies in one aligned unit of
//! `atomic_write_bytes`. A crash state says of every piece since the last flush whether it reached the medium.

use flash::random::Random;
use serde::{Deserialize, Serialize};

/// Bytes of a sector, the least that any drive writes whole.
pub const SECTOR_BYTES: u32 = 512;
const BLOCK_BYTES: u32 = 4096;
const UNITS: [u32; 5] = [512, 4096, 8192, 16384, 32768];

/// All eight sectors of a block.
pub const WHOLE: u8 = 0xff;

/// What a loss of power does to acknowledged writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Nothing that was acknowledged is lost.
    #[default]
    Protected,
    /// What came since the last flush may be lost.
    Volatile,
}

/// What a flush does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flushes {
    /// All that was acknowledged before it is durable when it is answered.
    #[default]
    Honest,
    /// It is answered, and nothing is done.
    Lies,
    /// What is no WAL of PostgreSQL's is durable; WAL only once the cache is full: data before the WAL that belongs to
    /// them.
    DataFirst,
}

/// The model of one drive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Persistence {
    /// What a loss of power does to the cache.
    pub cache: Cache,
    /// What a flush does.
    pub flush: Flushes,
    /// The aligned unit that is written whole or not at all.
    pub atomic_write_bytes: u32,
    /// The most that a volatile cache holds; older writes become durable by themselves.
    pub cache_bytes: u64,
}

impl Default for Persistence {
    fn default() -> Self {
        Self { cache: Cache::Protected, flush: Flushes::Honest, atomic_write_bytes: 4096, cache_bytes: 32 << 20 }
    }
}

impl Persistence {
    /// What cannot be, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        if !UNITS.contains(&self.atomic_write_bytes) {
            return Err("atomic_write_bytes must be 512, 4096, 8192, 16384 or 32768");
        }
        if !(1 << 20..=1 << 32).contains(&self.cache_bytes) {
            return Err("cache_bytes must be from 1 MiB to 4 GiB");
        }
        Ok(())
    }

    /// Does the drive have a cache that forgets?
    pub fn is_volatile(&self) -> bool {
        self.cache == Cache::Volatile
    }

    /// Blocks that the cache holds.
    pub fn cache_blocks(&self) -> u64 {
        self.cache_bytes / u64::from(BLOCK_BYTES)
    }
}

/// How a crash state is drawn from what was not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// Everything reached the medium.
    All,
    /// Nothing did.
    Nothing,
    /// The first requests did, as many as chance says; of the next one some pieces.
    Prefix,
    /// Each piece for itself, with a probability that is drawn first: so every number of lost pieces is as probable
    /// as any other.
    Independent,
}

/// Where a request lies. What is cleared (discard, write-zeroes) is one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// First block of 4096 bytes.
    pub first: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// One piece, whatever the unit.
    pub is_cleared: bool,
}

/// What reached the medium: for each request the sectors of each block (one number for what is cleared).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Sectors by request and block.
    pub fates: Vec<Vec<u8>>,
    /// Pieces there are: 2 to this power sets of lost pieces exist.
    pub pieces: u64,
    /// Pieces that are lost.
    pub lost: u64,
    /// Requests of which a part is lost.
    pub torn: u64,
}

/// A crash state of these requests, in their order.
pub fn draw(shapes: &[Shape], unit_bytes: u32, how: Draw, random: &mut Random) -> Drawn {
    let reached = match how {
        Draw::Prefix => random.below(shapes.len() as u32 + 1) as usize,
        _ => 0,
    };
    let share = random.unit();
    let mut drawn = Drawn::default();
    for (position, shape) in shapes.iter().enumerate() {
        let decide = |random: &mut Random| match how {
            Draw::All => true,
            Draw::Nothing => false,
            Draw::Prefix if position < reached => true,
            Draw::Prefix if position > reached => false,
            Draw::Prefix => random.bits() & 1 == 1,
            Draw::Independent => random.unit() < share,
        };
        drawn.add(fate(shape, unit_bytes, || decide(random)), shape, unit_bytes);
    }
    drawn
}

/// Of the request that is in flight any pieces may have arrived; of the page at `page` (first block within the request,
/// and how many) one at least has and one has not, where it is more than one piece.
pub fn draw_in_flight(shape: &Shape, page: (u32, u32), unit_bytes: u32, random: &mut Random) -> Vec<u8> {
    let mut sectors = fate(shape, unit_bytes, || random.bits() & 1 == 1);
    let range = page.0 as usize..(page.0 + page.1) as usize;
    let pieces = pieces_of(shape, unit_bytes);
    let within: Vec<&Piece> = pieces.iter().filter(|piece| range.contains(&(piece.block as usize))).collect();
    let mut kinds: Vec<bool> = within.iter().map(|piece| sectors[piece.block as usize] & piece.sectors != 0).collect();
    kinds.dedup();
    if within.len() > 1 && kinds.len() == 1 {
        // A unit may reach beyond the page: all of its blocks share its fate.
        let turned = within[random.below(within.len() as u32) as usize];
        for piece in pieces.iter().filter(|piece| piece.unit == turned.unit) {
            sectors[piece.block as usize] ^= piece.sectors;
        }
    }
    sectors
}

impl Drawn {
    /// Takes in the fate of one more request.
    pub fn add(&mut self, sectors: Vec<u8>, shape: &Shape, unit_bytes: u32) {
        let (pieces, lost) = if shape.is_cleared {
            (1, u64::from(sectors == [0]))
        } else {
            let mut units: Vec<(u32, bool)> = pieces_of(shape, unit_bytes)
                .iter()
                .map(|piece| (piece.unit, sectors[piece.block as usize] & piece.sectors == 0))
                .collect();
            units.dedup();
            (units.len() as u64, units.iter().filter(|(_, is_lost)| *is_lost).count() as u64)
        };
        self.pieces += pieces;
        self.lost += lost;
        self.torn += u64::from(lost > 0 && lost < pieces);
        self.fates.push(sectors);
    }
}

/// The part of a unit that lies in one block: `unit` tells units apart.
struct Piece {
    block: u32,
    sectors: u8,
    unit: u32,
}

fn pieces_of(shape: &Shape, unit_bytes: u32) -> Vec<Piece> {
    if unit_bytes == SECTOR_BYTES {
        let sectors = (0..shape.blocks).flat_map(|block| (0..8).map(move |sector| (block, sector)));
        return sectors
            .map(|(block, sector)| Piece { block, sectors: 1 << sector, unit: block * 8 + sector })
            .collect();
    }
    let blocks_of_unit = unit_bytes / BLOCK_BYTES;
    (0..shape.blocks)
        .map(|block| Piece { block, sectors: WHOLE, unit: (shape.first + block) / blocks_of_unit })
        .collect()
}

fn fate(shape: &Shape, unit_bytes: u32, mut arrives: impl FnMut() -> bool) -> Vec<u8> {
    if shape.is_cleared {
        return vec![if arrives() { WHOLE } else { 0 }];
    }
    let mut sectors = vec![0; shape.blocks as usize];
    let mut last: Option<(u32, bool)> = None;
    for piece in pieces_of(shape, unit_bytes) {
        let arrived = match last {
            Some((unit, arrived)) if unit == piece.unit => arrived,
            _ => arrives(),
        };
        last = Some((piece.unit, arrived));
        if arrived {
            sectors[piece.block as usize] |= piece.sectors;
        }
    }
    sectors
}

/// Whether a page of PostgreSQL's WAL begins in these blocks.
///
/// By XLogPageHeaderData (src/include/access/xlog_internal.h): a magic number that has begun with 0xD1 since
/// PostgreSQL 13, flags, a timeline, and a position that is a multiple of the page's size.
pub fn has_wal(data: &[u8]) -> bool {
    data.chunks_exact(BLOCK_BYTES as usize).any(|block| {
        let (number, position) = block[4..16].split_at(4);
        let flags = u16::from_le_bytes([block[2], block[3]]);
        let is_aligned = position[0] == 0 && position[1] & 0xf == 0;
        block[1] == 0xd1 && flags <= 0xf && number != [0; 4] && is_aligned && position != [0; 8]
    })
}

/// The first PostgreSQL page in a request that is more than one block: where it begins, and its blocks.
///
/// By the page header (manual, "Database Page Layout"): size and version, and pointers that are in order.
pub fn page_in(data: &[u8]) -> Option<(u32, u32)> {
    let word = |block: &[u8], at: usize| u16::from_le_bytes([block[at], block[at + 1]]);
    let blocks: Vec<&[u8]> = data.chunks_exact(BLOCK_BYTES as usize).collect();
    (0..blocks.len()).find_map(|index| {
        let block = blocks[index];
        let (lower, upper, special) = (word(block, 12), word(block, 14), word(block, 16));
        let (size, version) = (u32::from(word(block, 18) & 0xff00), word(block, 18) & 0xff);
        let count = size / BLOCK_BYTES;
        let is_page = (3..=5).contains(&version) && size.is_power_of_two() && (2..=8).contains(&count);
        let in_order = 24 <= lower && lower <= upper && upper <= special && u32::from(special) <= size;
        (is_page && in_order && index + count as usize <= blocks.len()).then_some((index as u32, count))
    })
}

#[cfg(test)]
mod tests {
    use flash::random::Random;
    use proptest::prelude::*;

    use super::{Draw, Persistence, Shape, WHOLE, draw, draw_in_flight, has_wal, page_in};

    fn data(first: u32, blocks: u32) -> Shape {
        Shape { first, blocks, is_cleared: false }
    }

    #[test]
    fn what_no_drive_is_like_is_refused() {
        assert!(Persistence::default().check().is_ok());
        assert!(Persistence { atomic_write_bytes: 1024, ..Persistence::default() }.check().is_err());
        assert!(Persistence { cache_bytes: 1, ..Persistence::default() }.check().is_err());
    }

    #[test]
    fn a_page_is_found_by_its_header_and_only_if_all_of_it_is_there() {
        let mut request = vec![0; 3 * 4096];
        request[4096 + 12..4096 + 20].copy_from_slice(&[40, 0, 0, 16, 0, 32, 4, 32]);
        assert_eq!(page_in(&request), Some((1, 2)));
        assert_eq!(page_in(&request[..2 * 4096]), None);
        request[4096 + 14..4096 + 16].copy_from_slice(&[8, 0]); // upper below lower
        assert_eq!(page_in(&request), None);
    }

    #[test]
    fn wal_is_known_by_its_header_wherever_it_begins() {
        let mut request = vec![0; 3 * 4096];
        assert!(!has_wal(&request));
        request[4096..4096 + 12].copy_from_slice(&[0x10, 0xd1, 7, 0, 1, 0, 0, 0, 0, 0x20, 0, 5]);
        assert!(has_wal(&request));
        assert!(!has_wal(&request[..4096]));
        for (at, wrong) in [(1, 0xd2), (2, 0x80), (4, 0), (8, 8)] {
            let mut other = request[4096..2 * 4096].to_vec();
            other[at] = wrong;
            assert!(!has_wal(&other), "{at}");
        }
    }

    #[test]
    fn an_aligned_page_within_a_unit_is_never_torn_and_an_unaligned_one_is() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let aligned = draw_in_flight(&data(8, 2), (0, 2), 8192, &mut random);
            assert!(aligned == [0, 0] || aligned == [WHOLE, WHOLE]);
            let unaligned = draw_in_flight(&data(7, 2), (0, 2), 8192, &mut random);
            assert!(unaligned == [0, WHOLE] || unaligned == [WHOLE, 0]);
            let torn_inside = draw_in_flight(&data(8, 1), (0, 1), 512, &mut random);
            assert!(torn_inside != [0] && torn_inside != [WHOLE]);
        }
    }

    fn shapes() -> impl Strategy<Value = Vec<Shape>> {
        let one = (0..100_u32, 1..20_u32, prop::bool::weighted(0.2));
        prop::collection::vec(one.prop_map(|(first, blocks, is_cleared)| Shape { first, blocks, is_cleared }), 0..20)
    }

    proptest! {
        #[test]
        fn a_unit_is_whole_or_not_there(
            shapes in shapes(), seed: u64, unit in prop::sample::select(vec![512_u32, 4096, 8192, 16384]),
            how in prop::sample::select(vec![Draw::All, Draw::Nothing, Draw::Prefix, Draw::Independent]),
        ) {
            let drawn = draw(&shapes, unit, how, &mut Random::new(seed));
            prop_assert_eq!(drawn.fates.len(), shapes.len());
            let mut has_broken = false;
            for (shape, fate) in shapes.iter().zip(&drawn.fates) {
                let is_whole = fate.iter().all(|&sectors| sectors == WHOLE);
                let is_lost = fate.iter().all(|&sectors| sectors == 0);
                match how {
                    Draw::All => prop_assert!(is_whole),
                    Draw::Nothing => prop_assert!(is_lost),
                    // Once a request is not whole, none that follows has a piece.
                    Draw::Prefix => prop_assert!(is_lost || !has_broken),
                    Draw::Independent => {}
                }
                has_broken |= !is_whole;
                if shape.is_cleared {
                    prop_assert_eq!(fate.len(), 1);
                } else if unit >= 4096 {
                    for (block, pair) in (shape.first..).zip(fate.windows(2)) {
                        let same_unit = block / (unit / 4096) == (block + 1) / (unit / 4096);
                        prop_assert!(!same_unit || pair[0] == pair[1]);
                    }
                    prop_assert!(fate.iter().all(|&sectors| sectors == 0 || sectors == WHOLE));
                }
            }
            prop_assert!(drawn.lost <= drawn.pieces && drawn.torn <= shapes.len() as u64);
        }
    }
}
