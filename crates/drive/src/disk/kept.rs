//! All states of the drive but the present one: snapshots, crash states, and what is durable below a volatile cache.

use super::cache::WriteCache;
use super::cuts::Cut;
use super::snapshots::Snapshot;
use crate::store::{Entry, Map};

/// What lies behind the gate.
#[derive(Default)]
pub struct Kept {
    /// The oldest first.
    pub snapshots: Vec<Snapshot>,
    /// The oldest first.
    pub cuts: Vec<Cut>,
    /// Of a drive that has a volatile cache.
    pub cache: Option<WriteCache>,
}

impl Kept {
    /// The map of each state.
    pub fn maps(&self) -> impl Iterator<Item = &Map> {
        let snapshots = self.snapshots.iter().map(|snapshot| &snapshot.map);
        let cuts = self.cuts.iter().map(|cut| &cut.map);
        snapshots.chain(cuts).chain(self.cache.iter().map(|cache| &cache.durable))
    }

    /// Whether any state has this stored entry at a block.
    pub fn has(&self, lba: u32, entry: Entry) -> bool {
        self.maps().any(|map| map.get(lba) == entry) || self.is_cached(entry)
    }

    /// Whether a request that is not durable yet has this stored entry.
    pub fn is_cached(&self, entry: Entry) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.has(entry))
    }
}
