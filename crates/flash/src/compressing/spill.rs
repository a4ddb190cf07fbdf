//! Extents that straddle two blocks: a log that runs on from one block into the next of its stream.
//!
//! Without them the end of every block would waste half an extent, which small blocks feel. The first block owns the
//! extent; the second remembers whose end it holds, since it cannot be erased before that extent has moved. Each block
//! takes part in at most two: one that runs in, one that runs out.

use crate::prefetch::prefetch;

const NONE: u32 = u32::MAX;

/// The end of an extent that began in another block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inflow {
    /// Where the log of the other block names it.
    pub(super) place: u32,
    /// The block in which it began.
    pub(super) source: u32,
    /// Bytes of it in this block.
    pub(super) bytes: u32,
}

const NO_INFLOW: Inflow = Inflow { place: NONE, source: NONE, bytes: 0 };

/// What runs into a block, and the block that it runs out to: side by side, since emptying a block asks for both.
#[derive(Debug, Clone, Copy)]
struct Spill {
    inflow: Inflow,
    outflow: u32,
}

/// For each block, the extents that run in and out.
#[derive(Debug, Clone)]
pub(super) struct Spills {
    spills: Vec<Spill>,
}

impl Spills {
    pub(super) fn new(blocks: u32) -> Self {
        Self { spills: vec![Spill { inflow: NO_INFLOW, outflow: NONE }; blocks as usize] }
    }

    /// An extent runs on from `inflow.source` into `block`.
    pub(super) fn record(&mut self, block: u32, inflow: Inflow) {
        self.spills[inflow.source as usize].outflow = block;
        self.spills[block as usize].inflow = inflow;
    }

    /// What runs into a block.
    pub(super) fn inflow(&self, block: u32) -> Option<Inflow> {
        let inflow = self.spills[block as usize].inflow;
        (inflow.source != NONE).then_some(inflow)
    }

    /// The block into which the last extent of `block` runs on, and its end there.
    pub(super) fn outflow(&self, block: u32) -> Option<(u32, Inflow)> {
        let outflow = self.spills[block as usize].outflow;
        (outflow != NONE).then(|| (outflow, self.spills[outflow as usize].inflow))
    }

    /// If the extent at a place runs on from `block` into another: that block, and its bytes there.
    pub(super) fn end(&self, block: u32, place: u32) -> Option<(u32, u32)> {
        self.outflow(block).filter(|(_, end)| end.place == place).map(|(outflow, end)| (outflow, end.bytes))
    }

    /// Bytes at the start of a block that belong to an extent of another; they stay taken when that has died.
    pub(super) fn start(&self, block: u32) -> u32 {
        self.spills[block as usize].inflow.bytes
    }

    /// Starts to load what runs into and out of a block.
    pub(super) fn prefetch(&self, block: u32) {
        prefetch(&self.spills, block as usize);
    }

    /// Starts to load what its neighbours know of that, once the above has come. Returns where the logs name what runs
    /// in, or nowhere.
    pub(super) fn prefetch_neighbours(&self, block: u32) -> u32 {
        let Spill { inflow, outflow } = self.spills[block as usize];
        prefetch(&self.spills, inflow.source as usize);
        prefetch(&self.spills, outflow as usize);
        inflow.place
    }

    /// The same without what has died, and without places; these come by [`Spills::name`].
    pub(super) fn unnamed(&self, is_live: impl Fn(u32) -> bool) -> Self {
        let mut kept = self.clone();
        for block in 0..kept.spills.len() {
            let inflow = kept.spills[block].inflow;
            if inflow.source != NONE && is_live(inflow.place) {
                kept.spills[block].inflow.place = NONE;
            } else if inflow.source != NONE {
                kept.spills[inflow.source as usize].outflow = NONE;
                kept.spills[block].inflow = Inflow { bytes: inflow.bytes, ..NO_INFLOW };
            }
        }
        kept
    }

    /// The logs name the extent that runs out of `block` at a place.
    pub(super) fn name(&mut self, block: u32, place: u32) {
        let outflow = self.spills[block as usize].outflow;
        self.spills[outflow as usize].inflow.place = place;
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.spills) as u64
    }

    /// A block has been erased: what ran in or out is dead. Its neighbour keeps the bytes as garbage.
    pub(super) fn forget(&mut self, block: u32) {
        let Spill { inflow, outflow } = self.spills[block as usize];
        if inflow.source != NONE {
            self.spills[inflow.source as usize].outflow = NONE;
        }
        if outflow != NONE {
            let neighbour = &mut self.spills[outflow as usize].inflow;
            *neighbour = Inflow { bytes: neighbour.bytes, ..NO_INFLOW };
        }
        self.spills[block as usize] = Spill { inflow: NO_INFLOW, outflow: NONE };
    }
}
