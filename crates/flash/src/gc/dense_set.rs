//! A set of blocks from which one can be drawn at random in constant time.

use crate::random::Random;

const ABSENT: u32 = u32::MAX;

/// The members lie side by side; each block knows its place among them.
#[derive(Debug, Clone)]
pub(crate) struct DenseSet {
    members: Vec<u32>,
    places: Vec<u32>,
}

impl DenseSet {
    pub(crate) fn new(blocks: u32) -> Self {
        Self { members: Vec::with_capacity(blocks as usize), places: vec![ABSENT; blocks as usize] }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.members.capacity() * size_of::<u32>() + size_of_val(&*self.places)) as u64
    }

    pub(crate) fn insert(&mut self, block: u32) {
        self.places[block as usize] = self.members.len() as u32;
        self.members.push(block);
    }

    pub(crate) fn remove(&mut self, block: u32) {
        let place = self.places[block as usize];
        self.members.swap_remove(place as usize);
        if let Some(&moved) = self.members.get(place as usize) {
            self.places[moved as usize] = place;
        }
        self.places[block as usize] = ABSENT;
    }

    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Any member; `None` if there is none.
    pub(crate) fn draw(&self, random: &mut Random) -> Option<u32> {
        let count = self.members.len() as u32;
        (count > 0).then(|| self.members[random.below(count) as usize])
    }
}
