//! Circular lists of blocks, linked through one array: a block enters, leaves or changes lists in constant time.

const ABSENT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

/// Lists of block numbers. Each list has a sentinel behind the blocks, so that linking knows no special case.
#[derive(Debug, Clone)]
pub(crate) struct Rings {
    links: Vec<Link>,
    blocks: u32,
}

impl Rings {
    /// `lists` empty lists for the blocks 0 to `blocks` − 1.
    pub(crate) fn new(blocks: u32, lists: u32) -> Self {
        let mut links = vec![Link { previous: ABSENT, next: ABSENT }; blocks as usize];
        links.extend((blocks..blocks + lists).map(|sentinel| Link { previous: sentinel, next: sentinel }));
        Self { links, blocks }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.links) as u64
    }

    /// Empties all lists.
    pub(crate) fn clear(&mut self) {
        let (blocks, sentinels) = self.links.split_at_mut(self.blocks as usize);
        blocks.fill(Link { previous: ABSENT, next: ABSENT });
        for (sentinel, link) in (self.blocks..).zip(sentinels) {
            *link = Link { previous: sentinel, next: sentinel };
        }
    }

    /// Whether a block is in any list.
    #[inline(always)]
    pub(crate) fn contains(&self, block: u32) -> bool {
        self.links[block as usize].next != ABSENT
    }

    /// Appends a block that is in no list.
    #[inline(always)]
    pub(crate) fn append(&mut self, list: u32, block: u32) {
        let sentinel = self.blocks + list;
        let last = self.links[sentinel as usize].previous;
        self.links[block as usize] = Link { previous: last, next: sentinel };
        self.links[last as usize].next = block;
        self.links[sentinel as usize].previous = block;
    }

    /// Takes a block out of its list.
    #[inline(always)]
    pub(crate) fn remove(&mut self, block: u32) {
        let Link { previous, next } = self.links[block as usize];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        self.links[block as usize] = Link { previous: ABSENT, next: ABSENT };
    }

    /// Moves a block from its list to the end of another.
    #[inline(always)]
    pub(crate) fn shift(&mut self, list: u32, block: u32) {
        let Link { previous, next } = self.links[block as usize];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        self.append(list, block);
    }

    /// The block that has been in a list longest.
    #[inline(always)]
    pub(crate) fn first(&self, list: u32) -> Option<u32> {
        let first = self.links[(self.blocks + list) as usize].next;
        (first < self.blocks).then_some(first)
    }
}
