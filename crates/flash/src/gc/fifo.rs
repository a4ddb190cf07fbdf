//! FIFO: the block that was filled first, whatever is live in it. The flash is one circular log.

use super::rings::Rings;

/// Sealed blocks in the order in which they were filled.
#[derive(Debug, Clone)]
pub(crate) struct Fifo {
    queue: Rings,
}

impl Fifo {
    pub(crate) fn new(blocks: u32) -> Self {
        Self { queue: Rings::new(blocks, 1) }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.queue.memory_bytes()
    }

    pub(crate) fn insert(&mut self, block: u32) {
        self.queue.append(0, block);
    }

    pub(crate) fn remove(&mut self, block: u32) {
        self.queue.remove(block);
    }

    pub(crate) fn choose(&self) -> Option<u32> {
        self.queue.first(0)
    }
}
