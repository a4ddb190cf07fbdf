//! Extents that straddle two blocks: a log that runs on from one block into the next of its stream.
//!
//! Without them the end of every block would waste half an extent, which small blocks feel. The first block owns the
//! extent; the second remembers whose end it holds, since it cannot be erased before that extent has moved. Each block
//! takes part in at most two: one that runs in, one that runs out.

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

/// For each block, the extents that run in and out.
#[derive(Debug, Clone)]
pub(super) struct Spills {
    inflows: Vec<Inflow>,
    outflows: Vec<u32>,
}

const NO_INFLOW: Inflow = Inflow { place: NONE, source: NONE, bytes: 0 };

impl Spills {
    pub(super) fn new(blocks: u32) -> Self {
        Self { inflows: vec![NO_INFLOW; blocks as usize], outflows: vec![NONE; blocks as usize] }
    }

    /// An extent runs on from `inflow.source` into `block`.
    pub(super) fn record(&mut self, block: u32, inflow: Inflow) {
        self.outflows[inflow.source as usize] = block;
        self.inflows[block as usize] = inflow;
    }

    /// What runs into a block.
    pub(super) fn inflow(&self, block: u32) -> Option<Inflow> {
        let inflow = self.inflows[block as usize];
        (inflow.source != NONE).then_some(inflow)
    }

    /// The block into which the last extent of `block` runs on, and its end there.
    pub(super) fn outflow(&self, block: u32) -> Option<(u32, Inflow)> {
        let outflow = self.outflows[block as usize];
        (outflow != NONE).then(|| (outflow, self.inflows[outflow as usize]))
    }

    /// Bytes at the start of a block that belong to an extent of another; they stay taken when that has died.
    pub(super) fn start(&self, block: u32) -> u32 {
        self.inflows[block as usize].bytes
    }

    /// A block has been erased: what ran in or out is dead. Its neighbour keeps the bytes as garbage.
    pub(super) fn forget(&mut self, block: u32) {
        let inflow = self.inflows[block as usize];
        if inflow.source != NONE {
            self.outflows[inflow.source as usize] = NONE;
        }
        let outflow = self.outflows[block as usize];
        if outflow != NONE {
            let neighbour = &mut self.inflows[outflow as usize];
            *neighbour = Inflow { bytes: neighbour.bytes, ..NO_INFLOW };
        }
        self.inflows[block as usize] = NO_INFLOW;
        self.outflows[block as usize] = NONE;
    }
}
