//! A crash state in the making: what is durable, and over it what chance let through of the writes since.

use std::collections::HashSet;

use serde::Serialize;

use super::Disk;
use super::cache::Logged;
use super::kept::Kept;
use super::scratch::{Scratch, with_scratch};
use crate::error::DriveError;
use crate::persistence::{Drawn, SECTOR_BYTES, WHOLE};
use crate::store::record::MAX_RECORD_BYTES;
use crate::store::{BLOCK_BYTES, Entry, Map};

/// A PostgreSQL page that was being written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageInFlight {
    /// Its first block of 4096 bytes on the drive.
    pub block: u32,
    /// Its bytes.
    pub bytes: u32,
    /// LSN that its header had on the drive, and the one that was being written.
    pub old_lsn: u64,
    /// See `old_lsn`.
    pub new_lsn: u64,
    /// Sectors that arrived, a bit each, for each block.
    pub sectors: Vec<u8>,
    /// Sectors in which old and new differ, likewise.
    pub changed: Vec<u8>,
}

/// A write that has not been answered.
pub(super) struct InFlight<'a> {
    /// First block.
    pub first: u32,
    /// Its bytes.
    pub data: &'a [u8],
    /// The page in it: first block within the request, and how many.
    pub page: (u32, u32),
}

/// A map under construction, and the stored entries that nothing else refers to.
struct CrashState {
    map: Map,
    own: HashSet<u64>,
}

impl Disk {
    /// The map of the crash state, and what became of the page in flight. The drive stands still.
    pub(super) fn crash_state(
        &self,
        kept: &Kept,
        requests: &[Logged],
        drawn: &Drawn,
        in_flight: Option<&InFlight<'_>>,
    ) -> Result<(Map, Option<PageInFlight>), DriveError> {
        let flying_blocks = in_flight.map_or(0, |flying| flying.data.len() / BLOCK_BYTES);
        let mixed = drawn.fates.iter().flatten().filter(|&&sectors| sectors != 0 && sectors != WHOLE).count();
        let promised = ((mixed + flying_blocks) * MAX_RECORD_BYTES) as u64;
        // Before any entry is copied, since making room moves them.
        self.make_room(promised, kept)?;
        let outcome = with_scratch(self.codec, |scratch| {
            let base = kept.cache.as_ref().map_or(&self.map, |cache| &cache.durable);
            let mut state = CrashState { map: base.copy(), own: HashSet::new() };
            let applied = requests
                .iter()
                .zip(&drawn.fates)
                .try_for_each(|(request, fate)| self.apply(&mut state, request, fate, scratch))
                .and_then(|()| match (in_flight, drawn.fates.last()) {
                    (Some(flying), Some(fate)) => self.apply_in_flight(&mut state, flying, fate, scratch).map(Some),
                    _ => Ok(None),
                });
            if applied.is_err() {
                state.own.iter().for_each(|&entry| self.segments.forget(Entry(entry)));
            }
            applied.map(|page| (state.map, page))
        });
        self.segments.settle(promised);
        outcome
    }

    fn apply(
        &self,
        state: &mut CrashState,
        request: &Logged,
        fate: &[u8],
        scratch: &mut Scratch,
    ) -> Result<(), DriveError> {
        let mut new = [0; BLOCK_BYTES];
        for index in 0..request.shape.blocks {
            let (lba, entry) = (request.shape.first + index, request.entry(index));
            match fate[if request.shape.is_cleared { 0 } else { index as usize }] {
                0 => {}
                WHOLE => self.replace(state, lba, entry),
                sectors => {
                    self.read_entry(entry, &mut new, scratch)?;
                    self.splice(state, lba, &new, sectors, scratch)?;
                }
            }
        }
        Ok(())
    }

    fn apply_in_flight(
        &self,
        state: &mut CrashState,
        flying: &InFlight<'_>,
        fate: &[u8],
        scratch: &mut Scratch,
    ) -> Result<PageInFlight, DriveError> {
        let (at, count) = flying.page;
        let mut old = vec![0; count as usize * BLOCK_BYTES];
        for (lba, part) in (flying.first + at..).zip(old.chunks_exact_mut(BLOCK_BYTES)) {
            self.read_entry(state.map.get(lba), part, scratch)?;
        }
        let new = &flying.data[at as usize * BLOCK_BYTES..][..old.len()];
        let page = PageInFlight {
            block: flying.first + at,
            bytes: old.len() as u32,
            old_lsn: lsn(&old),
            new_lsn: lsn(new),
            sectors: fate[at as usize..(at + count) as usize].to_vec(),
            changed: old.chunks_exact(BLOCK_BYTES).zip(new.chunks_exact(BLOCK_BYTES)).map(differing).collect(),
        };
        for ((lba, new), &sectors) in (flying.first..).zip(flying.data.chunks_exact(BLOCK_BYTES)).zip(fate) {
            if sectors != 0 {
                self.splice(state, lba, new, sectors, scratch)?;
            }
        }
        Ok(page)
    }

    /// Puts these sectors of `new` over what the crash state has.
    fn splice(
        &self,
        state: &mut CrashState,
        lba: u32,
        new: &[u8],
        sectors: u8,
        scratch: &mut Scratch,
    ) -> Result<(), DriveError> {
        let mut block = [0; BLOCK_BYTES];
        self.read_entry(state.map.get(lba), &mut block, scratch)?;
        let size = SECTOR_BYTES as usize;
        for sector in (0..8).filter(|sector| sectors >> sector & 1 == 1) {
            block[sector * size..][..size].copy_from_slice(&new[sector * size..][..size]);
        }
        self.compress(lba, &block, scratch);
        let entry = self.keep(lba, scratch.sizes[0], &block, &scratch.compressed)?;
        if entry.is_stored() {
            state.own.insert(entry.0);
        }
        self.replace(state, lba, entry);
        Ok(())
    }

    fn replace(&self, state: &mut CrashState, lba: u32, entry: Entry) {
        let old = state.map.set(lba, entry);
        if state.own.remove(&old.0) {
            self.segments.forget(old);
        }
    }

    /// A read of one entry while the drive stands still.
    fn read_entry(&self, entry: Entry, out: &mut [u8], scratch: &mut Scratch) -> Result<(), DriveError> {
        if !entry.is_stored() {
            out.fill(0);
            return Ok(());
        }
        let pin = self.segments.pin(entry);
        self.segments.look(&pin, entry, |bytes| Ok(scratch.decompressor.decompress(bytes, out)?))?
    }
}

/// The LSN in a page's header (manual, "Database Page Layout").
fn lsn(page: &[u8]) -> u64 {
    let word = |at: usize| u64::from(u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]));
    word(0) << 32 | word(4)
}

/// The sectors in which two blocks differ.
fn differing((old, new): (&[u8], &[u8])) -> u8 {
    let sectors = old.chunks_exact(SECTOR_BYTES as usize).zip(new.chunks_exact(SECTOR_BYTES as usize));
    (0..).zip(sectors).fold(0, |found, (sector, (old, new))| found | u8::from(old != new) << sector)
}
