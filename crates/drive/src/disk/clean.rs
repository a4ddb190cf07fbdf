//! Making room in the store: empty the segment with the fewest live bytes into another.
//!
//! This is the daemon's own housekeeping and has nothing to do with the garbage collection of the modelled flash.

use super::Disk;
use super::kept::Kept;
use crate::error::DriveError;
use crate::store::record::{Header, footprint};
use crate::store::{Appender, Entry};

/// A segment is worth emptying if at least this share of it is dead; below it the store counts as full.
const LEAST_DEAD_SHARE: u32 = 32;

impl Disk {
    /// Promises room for `bytes`, emptying segments until there is enough. No stripe may be held.
    pub(super) fn make_room(&self, bytes: u64, kept: &Kept) -> Result<(), DriveError> {
        while bytes > 0 && !self.segments.promise(bytes) {
            // One cleaner at a time; who waited for it may find room now.
            let cleaner = self.cleaner.lock();
            if self.segments.promise(bytes) {
                return Ok(());
            }
            self.empty_one(kept)?;
            drop(cleaner);
        }
        Ok(())
    }

    fn empty_one(&self, kept: &Kept) -> Result<(), DriveError> {
        let (victim, live, dead) = self.segments.emptiest().ok_or(DriveError::StoreFull)?;
        if dead < (live + dead) / LEAST_DEAD_SHARE {
            return Err(DriveError::StoreFull);
        }
        self.segments.walk(victim, |header, entry, bytes| self.rescue(header, entry, bytes, kept))?;
        self.segments.release(victim);
        Ok(())
    }

    /// Moves a block that the drive or another state still refers to.
    fn rescue(&self, header: Header, entry: Entry, bytes: &[u8], kept: &Kept) -> Result<(), DriveError> {
        let lba = header.lba;
        let _held = self.stripes.hold(lba, 1);
        let is_present = self.map.get(lba) == entry;
        let mut maps = kept.maps().filter(|map| map.get(lba) == entry).peekable();
        if !is_present && maps.peek().is_none() && !kept.is_cached(entry) {
            return Ok(());
        }
        let moved = self.segments.append(lba, bytes, Appender::Cleaner)?;
        if is_present {
            self.map.set(lba, moved);
        }
        maps.for_each(|map| {
            map.set(lba, moved);
        });
        if let Some(cache) = &kept.cache {
            cache.moved(entry, moved);
        }
        self.segments.forget(entry);
        self.tallies.cleaned_bytes.add(footprint(header.length) as u64);
        Ok(())
    }
}
