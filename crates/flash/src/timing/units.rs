//! From bytes to operations of dies: bytes fill flash pages, and a die programs several flash pages of all its planes
//! at once. What is gathered for it waits in the controller's protected memory.

use super::dies::{Task, Work};
use super::operations::Call;
use super::service::ServiceTimes;
use crate::geometry::Geometry;
use crate::observer::Cause;

/// What has been gathered for one die of one open block.
#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    flash_pages: u32,
    host_bytes: u64,
}

#[derive(Debug, Clone)]
struct OpenBlock {
    block: u32,
    dies: Vec<Unit>,
}

/// Tasks, each with whether the host's own write made it (garbage collection may be spread in time).
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub host: Vec<Task>,
    pub background: Vec<Task>,
    /// Bytes that the host's write put into the buffer.
    pub host_bytes: u64,
    /// Bytes that the erased blocks give to the host, and bytes that were moved out of them.
    pub erased_bytes: u64,
    pub moved_bytes: u64,
}

/// The open blocks of a drive.
#[derive(Debug)]
pub(super) struct Units {
    geometry: Geometry,
    pages_per_unit: u32,
    erase_every: u32,
    erased: u64,
    open: Vec<OpenBlock>,
}

impl Units {
    pub(super) fn new(geometry: Geometry, service: &ServiceTimes) -> Self {
        Self {
            geometry,
            pages_per_unit: service.pages_per_program * geometry.planes_per_die,
            erase_every: service.erase_every,
            erased: 0,
            open: Vec::new(),
        }
    }

    /// Turns what a drive did into tasks, in the same order.
    pub(super) fn gather(&mut self, calls: &[Call], tasks: &mut Tasks) {
        // Neighbours in one flash page are read together: (block, flash page, position of the task).
        let mut last_read = None;
        for call in calls {
            match *call {
                Call::Program { block, offset, bytes, cause } => self.program(block, offset, bytes, cause, tasks),
                Call::Erase { block } => self.erase(block, tasks),
                Call::Read { block, offset, bytes } => {
                    for (page, piece) in pages(&self.geometry, offset, bytes) {
                        match last_read {
                            Some((last_block, last_page, position)) if (last_block, last_page) == (block, page) => {
                                let task: &mut Task = &mut tasks.background[position];
                                task.work.extend_read(piece);
                            }
                            _ => {
                                last_read = Some((block, page, tasks.background.len()));
                                let die = die_of_page(&self.geometry, page);
                                tasks.background.push(Task { die, work: Work::Read { bytes: piece, request: None } });
                            }
                        }
                    }
                }
            }
        }
    }

    fn program(&mut self, block: u32, offset: u64, bytes: u32, cause: Cause, tasks: &mut Tasks) {
        match cause {
            Cause::Host => tasks.host_bytes += u64::from(bytes),
            Cause::GarbageCollection | Cause::WearLevelling => tasks.moved_bytes += u64::from(bytes),
            Cause::Padding => {}
        }
        let geometry = self.geometry;
        let flash_page_bytes = u64::from(geometry.flash_page_bytes);
        let open = self.open_block(block);
        let mut position = offset;
        for (page, piece) in pages(&geometry, offset, bytes) {
            position += piece;
            let die = die_of_page(&geometry, page);
            let unit = &mut self.open[open].dies[die as usize];
            if cause == Cause::Host {
                unit.host_bytes += piece;
            }
            if position % flash_page_bytes != 0 {
                continue;
            }
            unit.flash_pages += 1;
            let is_last = page + u64::from(geometry.channels * geometry.dies_per_channel)
                >= u64::from(geometry.flash_pages_per_block) * u64::from(geometry.stripe_planes());
            if unit.flash_pages == self.pages_per_unit || is_last {
                let bytes = u64::from(unit.flash_pages) * flash_page_bytes;
                let work = Work::Program { bytes, host_bytes: unit.host_bytes, epoch: 0 };
                *unit = Unit::default();
                let list = if cause == Cause::Host { &mut tasks.host } else { &mut tasks.background };
                list.push(Task { die, work });
            }
        }
        if position == geometry.superblock_bytes() {
            self.open.swap_remove(open);
        }
    }

    /// Gives out what holds bytes of the host although it is not complete; the rest of it is padding.
    pub(super) fn close(&mut self, tasks: &mut Vec<Task>) {
        for open in &mut self.open {
            for (die, unit) in (0..).zip(&mut open.dies).filter(|(_, unit)| unit.host_bytes > 0) {
                let bytes = u64::from(unit.flash_pages.max(1)) * u64::from(self.geometry.flash_page_bytes);
                tasks.push(Task { die, work: Work::Program { bytes, host_bytes: unit.host_bytes, epoch: 0 } });
                *unit = Unit::default();
            }
        }
    }

    fn erase(&mut self, block: u32, tasks: &mut Tasks) {
        // The log may have begun in the middle of a block.
        self.open.retain(|open| open.block != block);
        tasks.erased_bytes += self.geometry.superblock_bytes();
        self.erased += 1;
        if self.erased % u64::from(self.erase_every) != 0 {
            return;
        }
        let dies = self.geometry.channels * self.geometry.dies_per_channel;
        tasks.background.extend((0..dies).map(|die| Task { die, work: Work::Erase }));
    }

    fn open_block(&mut self, block: u32) -> usize {
        let known = self.open.iter().position(|open| open.block == block);
        known.unwrap_or_else(|| {
            let dies = vec![Unit::default(); (self.geometry.channels * self.geometry.dies_per_channel) as usize];
            self.open.push(OpenBlock { block, dies });
            self.open.len() - 1
        })
    }
}

/// The flash pages of a superblock that a range of bytes touches, each with the bytes in it.
pub(super) fn pages(geometry: &Geometry, offset: u64, bytes: u32) -> impl Iterator<Item = (u64, u64)> + use<> {
    let flash_page_bytes = u64::from(geometry.flash_page_bytes);
    let end = offset + u64::from(bytes);
    let last = if bytes == 0 { offset / flash_page_bytes } else { (end - 1) / flash_page_bytes + 1 };
    (offset / flash_page_bytes..last).map(move |page| {
        let start = (page * flash_page_bytes).max(offset);
        (page, ((page + 1) * flash_page_bytes).min(end) - start)
    })
}

/// The die, counted over the whole drive, that holds a flash page of a superblock.
pub(super) fn die_of_page(geometry: &Geometry, page: u64) -> u32 {
    let place = geometry.place(page * u64::from(geometry.flash_page_bytes));
    place.channel * geometry.dies_per_channel + place.die
}
