//! The blocks of a drive and the life of each: free, open, sealed, and erased to be free again.
//!
//! Shared by both kinds of drive: `live` counts pages in the one and bytes in the other.

use std::collections::VecDeque;

use crate::gc::{Ages, Policy, Victims};
use crate::huge_pages::Table;
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::wear::Wear;
use crate::wear_levelling::{StaticWearLevelling, VISITS_PER_ERASE};

/// What a block is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Erased.
    Free,
    /// Being written by a stream.
    Open,
    /// Full, and so a candidate for garbage collection.
    Sealed,
    /// Being emptied.
    Victim,
}

/// What changes when a block is opened, sealed or erased, side by side: this is rare, and seldom finds it in a cache.
#[derive(Debug, Clone, Copy)]
struct Life {
    erases: u32,
    state: State,
    stream: u8,
}

const FRESH: Life = Life { erases: 0, state: State::Free, stream: 0 };

/// All blocks of a drive.
#[derive(Debug, Clone)]
pub(crate) struct BlockTable {
    capacity: u32,
    live: Table<u32>,
    lives: Table<Life>,
    sealed_at: Table<u64>,
    seals: u64,
    erases: u64,
    most_erases: u32,
    cursor: u32,
    free: VecDeque<u32>,
    victims: Victims,
    random: Random,
}

impl BlockTable {
    /// `blocks` erased blocks that each hold up to `capacity` pages or bytes, of which greedy tells `levels` apart.
    pub(crate) fn new(blocks: u32, capacity: u32, levels: u32, policy: Policy, seed: u64) -> Self {
        let count = blocks as usize;
        Self {
            capacity,
            live: Table::filled(count, 0),
            lives: Table::filled(count, FRESH),
            sealed_at: Table::filled(count, 0),
            seals: 0,
            erases: 0,
            most_erases: 0,
            cursor: 0,
            free: (0..blocks).collect(),
            victims: Victims::new(policy, blocks, capacity, levels),
            random: Random::new(seed),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let blocks = size_of_val(&*self.live) + size_of_val(&*self.lives) + size_of_val(&*self.sealed_at);
        (blocks + self.free.capacity() * size_of::<u32>()) as u64 + self.victims.memory_bytes()
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> u32 {
        self.live.len() as u32
    }

    /// Erased blocks that are not open.
    #[inline(always)]
    pub(crate) fn free_blocks(&self) -> u32 {
        self.free.len() as u32
    }

    /// Live pages or bytes of a block. An open block counts what is still unwritten as live.
    #[inline(always)]
    pub(crate) fn live(&self, block: u32) -> u32 {
        self.live[block as usize]
    }

    pub(crate) fn state(&self, block: u32) -> State {
        self.lives[block as usize].state
    }

    /// The stream that wrote a block.
    pub(crate) fn stream(&self, block: u32) -> u8 {
        self.lives[block as usize].stream
    }

    /// Opens the block that has been free longest. The caller has made sure that one is free.
    pub(crate) fn open(&mut self, stream: u8) -> u32 {
        let block = self.free.pop_front().expect("the reserve holds a block for every victim being emptied");
        let life = &mut self.lives[block as usize];
        (life.state, life.stream) = (State::Open, stream);
        self.live[block as usize] = self.capacity;
        block
    }

    /// An open block is full: from now on it may be chosen.
    pub(crate) fn seal(&mut self, block: u32) {
        let life = &mut self.lives[block as usize];
        debug_assert_eq!(life.state, State::Open);
        self.seals += 1;
        life.state = State::Sealed;
        self.sealed_at[block as usize] = self.seals;
        self.victims.insert(block, self.live[block as usize]);
    }

    /// `amount` of an open or sealed block is no longer live.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, block: u32, amount: u32) {
        let before = self.live[block as usize];
        let after = before - amount;
        self.live[block as usize] = after;
        self.victims.fell(block, before, after);
    }

    /// The same for several amounts, one after the other: where the tables are stays in registers.
    #[inline(always)]
    pub(crate) fn invalidate_each(&mut self, losses: impl Iterator<Item = (u32, u32)>) {
        let Self { live, victims, .. } = self;
        let live = &mut **live;
        for (block, amount) in losses {
            let before = live[block as usize];
            let after = before - amount;
            live[block as usize] = after;
            victims.fell(block, before, after);
        }
    }

    /// The policy's choice among the sealed blocks.
    pub(crate) fn choose(&mut self) -> Option<u32> {
        let ages = Ages { now: self.seals, sealed_at: &self.sealed_at };
        self.victims.choose(&self.live, self.capacity, &ages, &mut self.random)
    }

    /// The block that will probably be chosen next; what emptying it will change is on its way.
    pub(crate) fn likely_next(&mut self) -> Option<u32> {
        let next = self.victims.likely_next();
        if let Some(block) = next {
            prefetch(&self.lives, block as usize);
        }
        next
    }

    /// The sealed block with the least live data, found by looking at all.
    pub(crate) fn emptiest(&self) -> Option<u32> {
        (0..self.len()).filter(|&block| self.state(block) == State::Sealed).min_by_key(|&block| self.live(block))
    }

    /// The sealed blocks in the order in which they were filled.
    pub(crate) fn sealed_by_age(&self) -> Vec<u32> {
        let mut sealed: Vec<u32> = (0..self.len()).filter(|&block| self.state(block) == State::Sealed).collect();
        sealed.sort_unstable_by_key(|&block| self.sealed_at[block as usize]);
        sealed
    }

    /// A sealed block that trails the most worn one by the threshold, if the cursor meets one now.
    pub(crate) fn trailing(&mut self, levelling: StaticWearLevelling) -> Option<u32> {
        for _ in 0..VISITS_PER_ERASE {
            self.cursor = (self.cursor + 1) % self.len();
            let life = self.lives[self.cursor as usize];
            if life.state == State::Sealed && self.most_erases - life.erases >= levelling.threshold {
                return Some(self.cursor);
            }
        }
        None
    }

    /// A sealed block is going to be emptied: it can no longer be chosen.
    pub(crate) fn begin_emptying(&mut self, block: u32) {
        let life = &mut self.lives[block as usize];
        debug_assert_eq!(life.state, State::Sealed);
        life.state = State::Victim;
        self.victims.remove(block);
    }

    /// Nothing in the block is live any more: it is erased and free.
    pub(crate) fn erase(&mut self, block: u32) {
        let life = &mut self.lives[block as usize];
        debug_assert_eq!(life.state, State::Victim);
        life.state = State::Free;
        life.erases += 1;
        self.most_erases = self.most_erases.max(life.erases);
        self.live[block as usize] = 0;
        self.erases += 1;
        self.free.push_back(block);
    }

    /// Blocks erased so far.
    pub(crate) fn erases(&self) -> u64 {
        self.erases
    }

    pub(crate) fn wear(&self) -> Wear {
        Wear::of(self.lives.iter().map(|life| life.erases).collect())
    }

    /// Whether states, the free list and the erase counts tell one story; the first contradiction otherwise.
    pub(crate) fn verify(&self) -> Result<(), String> {
        for &block in &self.free {
            if self.state(block) != State::Free || self.live[block as usize] != 0 {
                return Err(format!(
                    "block {block} is in the free list but {:?}, {} live",
                    self.state(block),
                    self.live(block)
                ));
            }
        }
        let free = self.lives.iter().filter(|life| life.state == State::Free).count();
        if free != self.free.len() {
            return Err(format!("{free} blocks are free but the free list has {}", self.free.len()));
        }
        if self.lives.iter().any(|life| life.state == State::Victim) {
            return Err("a block is being emptied between two requests".into());
        }
        let erases: u64 = self.lives.iter().map(|life| u64::from(life.erases)).sum();
        if erases != self.erases {
            return Err(format!("erase counts sum to {erases}, but {} blocks were erased", self.erases));
        }
        Ok(())
    }
}
