//! Locks over ranges of blocks: writers of the same block take turns, writers of others do not wait.

use parking_lot::{Mutex, MutexGuard};

/// Blocks under one lock: as many as the largest request has, so that a request needs two at most.
pub const STRIPE_BLOCKS: u32 = 256;

const STRIPES: u32 = 1024;

/// The locks.
pub struct Stripes {
    locks: Box<[Mutex<()>]>,
}

/// The locks that a request holds.
pub struct Held<'a>(#[allow(dead_code)] MutexGuard<'a, ()>, #[allow(dead_code)] Option<MutexGuard<'a, ()>>);

impl Stripes {
    /// All free.
    pub fn new() -> Self {
        Self { locks: (0..STRIPES).map(|_| Mutex::new(())).collect() }
    }

    /// Takes the locks of `count` blocks (1 to 256) from `lba` on, the lower number first, so that threads cannot
    /// deadlock.
    pub fn hold(&self, lba: u32, count: u32) -> Held<'_> {
        debug_assert!((1..=STRIPE_BLOCKS).contains(&count));
        let first = lba / STRIPE_BLOCKS % STRIPES;
        let last = (lba + (count - 1)) / STRIPE_BLOCKS % STRIPES;
        let lower = self.locks[first.min(last) as usize].lock();
        let higher = (first != last).then(|| self.locks[first.max(last) as usize].lock());
        Held(lower, higher)
    }
}
