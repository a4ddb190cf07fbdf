//! The volatile write cache: what is durable, and in order what came since the last flush.
//!
//! All versions of a block that a crash state may need stay in the store: the durable one, and each since. The cleaner
//! moves them as it moves those of snapshots.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;

use crate::persistence::Shape;
use crate::store::{Entry, Map};

/// The cache of a drive that has a volatile one.
pub struct WriteCache {
    /// What a loss of power cannot take away.
    pub durable: Map,
    log: Mutex<Log>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Where it lies.
    pub shape: Shape,
    /// The new place of each block; of what is cleared one for all.
    pub entries: Vec<Entry>,
    /// Whether a drive that makes data durable before WAL keeps it back.
    pub is_wal: bool,
}

impl Logged {
    /// What block number `index` of the request became.
    pub fn entry(&self, index: u32) -> Entry {
        self.entries[if self.shape.is_cleared { 0 } else { index as usize }]
    }

    /// Whether both have a block.
    pub fn overlaps(&self, other: &Self) -> bool {
        let end = |shape: &Shape| shape.first + shape.blocks;
        self.shape.first < end(&other.shape) && other.shape.first < end(&self.shape)
    }

    /// Blocks of memory that the cache of a drive would need: a clearing takes one.
    fn blocks(&self) -> u64 {
        self.entries.len() as u64
    }
}

#[derive(Default)]
struct Log {
    requests: VecDeque<Logged>,
    blocks: u64,
    /// The number of the oldest request that is still here.
    oldest: u64,
    /// Request and block of every stored entry.
    places: HashMap<u64, (u64, u32)>,
}

impl WriteCache {
    /// An empty one over what is durable.
    pub fn new(durable: Map) -> Self {
        Self { durable, log: Mutex::new(Log::default()) }
    }

    /// Takes in a request; returns how many blocks the cache holds now.
    pub fn add(&self, request: Logged) -> u64 {
        let mut log = self.log.lock();
        let number = log.oldest + log.requests.len() as u64;
        for (index, entry) in (0..).zip(&request.entries) {
            if entry.is_stored() {
                log.places.insert(entry.0, (number, index));
            }
        }
        log.blocks += request.blocks();
        log.requests.push_back(request);
        log.blocks
    }

    /// Takes out the oldest request.
    pub fn pop(&self) -> Option<Logged> {
        let mut log = self.log.lock();
        let request = log.requests.pop_front()?;
        log.oldest += 1;
        log.blocks -= request.blocks();
        for entry in &request.entries {
            log.places.remove(&entry.0);
        }
        Some(request)
    }

    /// Blocks that it holds.
    pub fn blocks(&self) -> u64 {
        self.log.lock().blocks
    }

    /// All requests, the oldest first. The drive stands still.
    pub fn requests(&self) -> Vec<Logged> {
        self.log.lock().requests.iter().cloned().collect()
    }

    /// Whether an entry is one of a request.
    pub fn has(&self, entry: Entry) -> bool {
        self.log.lock().places.contains_key(&entry.0)
    }

    /// The cleaner has moved a stored entry.
    pub fn moved(&self, entry: Entry, to: Entry) {
        let mut log = self.log.lock();
        if let Some((number, index)) = log.places.remove(&entry.0) {
            let position = (number - log.oldest) as usize;
            log.requests[position].entries[index as usize] = to;
            log.places.insert(to.0, (number, index));
        }
    }
}
