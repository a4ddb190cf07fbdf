//! The sizes of blocks, added up for each codec and each unit in which a drive may place them.

use codec::{BLOCK_BYTES, Codec, Compressor, is_zeros};

/// How blocks are compressed, and to multiples of what their sizes are rounded up (powers of two up to a block).
#[derive(Clone, Debug)]
pub struct Method {
    pub codecs: Vec<Codec>,
    pub granularities: Vec<usize>,
}

impl Method {
    /// How many sums there are: one for each codec and granularity, codecs outermost.
    pub fn sums(&self) -> usize {
        self.codecs.len() * self.granularities.len()
    }
}

/// A method with the tables of its codecs: one a thread.
pub struct Scale {
    compressors: Vec<Compressor>,
    masks: Vec<usize>,
    sums: usize,
}

impl Scale {
    pub fn new(method: &Method) -> Self {
        Scale {
            compressors: method
                .codecs
                .iter()
                .map(|codec| Compressor::new(*codec))
                .collect(),
            masks: method.granularities.iter().map(|bytes| bytes - 1).collect(),
            sums: method.sums(),
        }
    }

    /// Weighs every block of `bytes`; the last is filled up with zeros, as a file system does.
    pub fn weigh(&mut self, bytes: &[u8]) -> Tally {
        let mut tally = Tally::new(self.sums);
        let whole = bytes.chunks_exact(BLOCK_BYTES);
        let rest = whole.remainder();
        for block in whole {
            self.add(block, &mut tally);
        }
        if !rest.is_empty() {
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            self.add(&block, &mut tally);
        }
        tally
    }

    /// Adds one block.
    pub fn add(&mut self, block: &[u8], tally: &mut Tally) {
        tally.blocks += 1;
        if is_zeros(block) {
            tally.zero_blocks += 1;
            return;
        }
        let mut sums = tally.stored_bytes.iter_mut();
        for compressor in &mut self.compressors {
            let stored = compressor.stored_bytes(block);
            for (mask, sum) in self.masks.iter().zip(&mut sums) {
                *sum += ((stored + mask) & !mask) as u64;
            }
        }
    }
}

/// What some blocks take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub blocks: u64,
    pub zero_blocks: u64,
    pub stored_bytes: Vec<u64>,
}

impl Tally {
    pub fn new(sums: usize) -> Self {
        Tally {
            blocks: 0,
            zero_blocks: 0,
            stored_bytes: vec![0; sums],
        }
    }
}
