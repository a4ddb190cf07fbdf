//! Snapshots: a copy of the map, and the modelled flash, packed. Blocks are shared until one side writes them.

use super::Disk;
use super::cache::WriteCache;
use super::tallies::Tallies;
use crate::error::DriveError;
use crate::model::PackedModel;
use crate::store::{Entry, Map};

/// A state of the drive that can be gone back to.
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// Where each block lay.
    pub map: Map,
    /// The flash as it was.
    pub model: PackedModel,
    /// Blocks with bytes in the store, and those bytes.
    pub stored: (u64, u64),
    /// Blocks of zeros.
    pub zero_blocks: u64,
}

impl Snapshot {
    /// Bytes of memory that its tables take; the blocks that it alone has lie in the store.
    pub fn memory_bytes(&self) -> u64 {
        self.map.memory_bytes() + self.model.memory_bytes()
    }
}

impl Disk {
    /// Keeps the present state under a name that is not in use.
    pub fn snapshot(&self, name: &str) -> Result<(), DriveError> {
        if name.is_empty() || name.len() > 255 {
            return Err(DriveError::refused("a snapshot's name has 1 to 255 bytes", ""));
        }
        let mut kept = self.gate.write();
        if kept.snapshots.iter().any(|snapshot| snapshot.name == name) {
            return Err(DriveError::refused(format!("there is a snapshot {name} already"), "drop it first"));
        }
        kept.snapshots.push(Snapshot {
            name: name.to_owned(),
            map: self.map.copy(),
            model: self.model.lock().pack(),
            stored: (self.tallies.stored_blocks.get(), self.tallies.stored_bytes.get()),
            zero_blocks: self.tallies.zero_blocks.get(),
        });
        Ok(())
    }

    /// Goes back to a snapshot, which stays. The drive's file system must not be mounted.
    pub fn restore(&self, name: &str) -> Result<(), DriveError> {
        let mut kept = self.gate.write();
        let wanted = position(&kept.snapshots, name)?;
        if kept.cache.is_some() {
            // What is durable is the present state then, and has nothing of its own.
            self.destage(&kept, 0);
            kept.cache = None;
        }
        let snapshot = &kept.snapshots[wanted];
        for lba in 0..self.blocks {
            let entry = snapshot.map.get(lba);
            let old = self.map.get(lba);
            if old == entry {
                continue;
            }
            self.map.set(lba, entry);
            if old.is_stored() && !kept.has(lba, old) {
                self.segments.forget(old);
            }
        }
        self.model.lock().unpack(&snapshot.model);
        self.tallies.recount(snapshot.stored, snapshot.zero_blocks);
        if self.persistence.is_volatile() {
            kept.cache = Some(WriteCache::new(self.map.copy()));
        }
        Ok(())
    }

    /// Forgets a snapshot.
    pub fn drop_snapshot(&self, name: &str) -> Result<(), DriveError> {
        let mut kept = self.gate.write();
        let wanted = position(&kept.snapshots, name)?;
        let gone = kept.snapshots.remove(wanted);
        for lba in 0..self.blocks {
            let entry = gone.map.get(lba);
            let is_shared = || self.map.get(lba) == entry || kept.has(lba, entry);
            if entry.is_stored() && !is_shared() {
                self.segments.forget(entry);
            }
        }
        Ok(())
    }

    /// Lets `look` see all snapshots, the oldest first.
    pub fn with_snapshots<T>(&self, look: impl FnOnce(&[Snapshot]) -> T) -> T {
        look(&self.gate.read().snapshots)
    }
}

fn position(snapshots: &[Snapshot], name: &str) -> Result<usize, DriveError> {
    snapshots.iter().position(|snapshot| snapshot.name == name).ok_or_else(|| {
        let names: Vec<&str> = snapshots.iter().map(|snapshot| snapshot.name.as_str()).collect();
        let hint = if names.is_empty() { "there is none".into() } else { format!("there are {}", names.join(", ")) };
        DriveError::refused(format!("there is no snapshot {name}"), hint)
    })
}

impl Tallies {
    /// A block of the present state has become `entry`.
    pub(super) fn count(&self, entry: Entry) {
        if entry.is_stored() {
            self.stored_blocks.add(1);
            self.stored_bytes.add(entry.length() as u64);
        } else if entry == Entry::ZEROS {
            self.zero_blocks.add(1);
        }
    }

    /// A block of the present state is `entry` no more.
    pub(super) fn uncount(&self, entry: Entry) {
        if entry.is_stored() {
            self.stored_blocks.take(1);
            self.stored_bytes.take(entry.length() as u64);
        } else if entry == Entry::ZEROS {
            self.zero_blocks.take(1);
        }
    }

    fn recount(&self, stored: (u64, u64), zero_blocks: u64) {
        self.stored_blocks.set(stored.0);
        self.stored_bytes.set(stored.1);
        self.zero_blocks.set(zero_blocks);
    }
}
