//! Losses of power: a crash state is a map of its own over the same blocks, which is served as a file and written to
//! without the drive noticing.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use flash::random::Random;
use serde::{Deserialize, Serialize};

use super::cache::{Logged, WriteCache};
use super::crash_state::InFlight;
pub use super::crash_state::PageInFlight;
use super::kept::Kept;
use super::scratch::{MAX_BLOCKS, with_scratch};
use super::{Clearing, Disk};
use crate::error::DriveError;
use crate::persistence::{Draw, Shape, WHOLE, draw, draw_in_flight, page_in};
use crate::store::record::MAX_RECORD_BYTES;
use crate::store::{Appender, BLOCK_BYTES, Entry, Map};

/// Crash states at a time.
const MAX_CUTS: usize = 8;

/// A state that the drive might be found in after a loss of power, and what was written to it since.
pub struct Cut {
    /// Its number; none is used twice.
    pub number: u64,
    /// Where each block lies.
    pub map: Map,
}

/// Which crash state is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// How the unflushed writes are drawn.
    pub draw: Draw,
    /// Of the draw.
    pub seed: u64,
    /// Wait so long for a write with a PostgreSQL page in it, and cut while it is in flight; without it, cut now.
    #[serde(default)]
    pub page_within_ms: Option<u32>,
}

/// What was cut.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CutReport {
    /// The number of the crash state.
    pub number: u64,
    /// When, by the wall clock.
    pub wall_ns: u64,
    /// How long the drive stood still for it.
    pub took_ms: f64,
    /// Flushes before it.
    pub flushes: u64,
    /// Requests that were not durable, the one in flight included.
    pub requests: u64,
    /// Their pieces: 2 to this power sets of lost pieces exist.
    pub pieces: u64,
    /// Memory that the crash state takes beside its blocks, when it is made.
    pub memory_bytes: u64,
    /// Pieces that are lost.
    pub lost_pieces: u64,
    /// Requests of which a part is lost.
    pub torn_requests: u64,
    /// The PostgreSQL page in flight, where one was waited for and came.
    pub page: Option<PageInFlight>,
    /// Each request in order: first block, blocks, blocks that reached the medium whole; the last hundred.
    pub strip: Vec<(u32, u32, u32)>,
}

/// A cut that waits for a write.
pub struct Armed {
    wish: Wish,
    answer: Sender<Result<CutReport, DriveError>>,
}

const STRIP: usize = 100;

impl Disk {
    /// Makes a crash state.
    pub fn cut(&self, wish: &Wish) -> Result<CutReport, DriveError> {
        let Some(patience_ms) = wish.page_within_ms else { return self.cut_at(wish, None) };
        let answer = self.arm(wish)?;
        match answer.recv_timeout(Duration::from_millis(patience_ms.into())) {
            Ok(report) => report,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let was_waiting = self.armed.lock().take().is_some();
                self.set_armed(false);
                // It may have been taken in this moment.
                if was_waiting { self.cut_at(wish, None) } else { answer.recv().unwrap_or_else(|_| Err(vanished())) }
            }
        }
    }

    /// Whether a cut waits for a write.
    pub fn is_awaiting(&self) -> bool {
        self.is_armed.load(Ordering::SeqCst)
    }

    fn arm(&self, wish: &Wish) -> Result<Receiver<Result<CutReport, DriveError>>, DriveError> {
        let (sender, receiver) = channel();
        let mut armed = self.armed.lock();
        if armed.is_some() {
            return Err(DriveError::refused("another cut waits for a page", "one after the other"));
        }
        *armed = Some(Armed { wish: *wish, answer: sender });
        drop(armed);
        self.set_armed(true);
        Ok(receiver)
    }

    /// Cuts if a cut waits for a write like this one, before anything of it is done. No lock is held.
    pub(super) fn cut_if_awaited(&self, offset: u64, data: &[u8]) {
        if offset % BLOCK_BYTES as u64 != 0 || data.len() < 2 * BLOCK_BYTES {
            return;
        }
        let Some(page) = page_in(data) else { return };
        let Some(armed) = self.armed.lock().take() else { return };
        self.set_armed(false);
        let first = (offset / BLOCK_BYTES as u64) as u32;
        // A client that hung up needs no answer; the crash state goes with the next discard of all.
        let _ = armed.answer.send(self.cut_at(&armed.wish, Some(&InFlight { first, data, page })));
    }

    fn cut_at(&self, wish: &Wish, in_flight: Option<&InFlight<'_>>) -> Result<CutReport, DriveError> {
        let mut kept = self.gate.write();
        let started = Instant::now();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if kept.cuts.len() >= MAX_CUTS {
            let message = format!("there are {MAX_CUTS} crash states already");
            return Err(DriveError::refused(message, "discard one first"));
        }
        let unit_bytes = self.persistence.atomic_write_bytes;
        let mut random = Random::new(wish.seed);
        let requests = kept.cache.as_ref().map_or_else(Vec::new, WriteCache::requests);
        let mut shapes: Vec<Shape> = requests.iter().map(|request| request.shape).collect();
        let mut drawn = draw(&shapes, unit_bytes, wish.draw, &mut random);
        if let Some(flying) = in_flight {
            let blocks = (flying.data.len() / BLOCK_BYTES) as u32;
            let shape = Shape { first: flying.first, blocks, is_cleared: false };
            drawn.add(draw_in_flight(&shape, flying.page, unit_bytes, &mut random), &shape, unit_bytes);
            shapes.push(shape);
        }
        let (map, page) = self.crash_state(&kept, &requests, &drawn, in_flight)?;
        let number = self.next_cut.fetch_add(1, Ordering::Relaxed);
        let memory_bytes = map.copied_bytes();
        kept.cuts.push(Cut { number, map });
        let reached = |fate: &Vec<u8>, shape: &Shape| match fate[..] {
            [WHOLE] if shape.is_cleared => shape.blocks,
            _ => fate.iter().filter(|&&sectors| sectors == WHOLE).count() as u32,
        };
        let strip = shapes.iter().zip(&drawn.fates).skip(shapes.len().saturating_sub(STRIP));
        Ok(CutReport {
            number,
            wall_ns: since.as_nanos() as u64,
            took_ms: started.elapsed().as_secs_f64() * 1e3,
            flushes: self.tallies.flushes.get(),
            requests: shapes.len() as u64,
            pieces: drawn.pieces,
            memory_bytes,
            lost_pieces: drawn.lost,
            torn_requests: drawn.torn,
            page,
            strip: strip.map(|(shape, fate)| (shape.first, shape.blocks, reached(fate, shape))).collect(),
        })
    }

    /// Forgets a crash state.
    pub fn discard_cut(&self, number: u64) -> Result<(), DriveError> {
        let mut kept = self.gate.write();
        let wanted = kept.cuts.iter().position(|cut| cut.number == number);
        let wanted = wanted.ok_or_else(|| {
            DriveError::refused(format!("there is no crash state {number}"), "it may have been discarded")
        })?;
        let gone = kept.cuts.remove(wanted);
        for lba in 0..self.blocks {
            let entry = gone.map.get(lba);
            if entry.is_stored() && self.map.get(lba) != entry && !kept.has(lba, entry) {
                self.segments.forget(entry);
            }
        }
        Ok(())
    }

    /// The numbers of the crash states there are.
    pub fn cuts(&self) -> Vec<u64> {
        self.gate.read().cuts.iter().map(|cut| cut.number).collect()
    }

    /// As [`Disk::read`], of a crash state.
    pub fn read_cut(&self, number: u64, offset: u64, out: &mut [u8]) -> Result<(), DriveError> {
        self.range(offset, out.len() as u64)?;
        let kept = self.gate.read();
        let cut = cut_of(&kept, number)?;
        with_scratch(self.codec, |scratch| self.read_of(&cut.map, offset, out, scratch))
    }

    /// As [`Disk::write`], to a crash state: whole blocks only, and neither model nor counters notice.
    pub fn write_cut(&self, number: u64, offset: u64, data: &[u8]) -> Result<(), DriveError> {
        self.range(offset, data.len() as u64)?;
        if offset % BLOCK_BYTES as u64 != 0 || data.len() % BLOCK_BYTES != 0 {
            return Err(DriveError::refused("a crash state takes whole blocks", ""));
        }
        let kept = self.gate.read();
        let cut = cut_of(&kept, number)?;
        with_scratch(self.codec, |scratch| {
            let firsts = ((offset / BLOCK_BYTES as u64) as u32..).step_by(MAX_BLOCKS);
            for (first, part) in firsts.zip(data.chunks(MAX_BLOCKS * BLOCK_BYTES)) {
                self.compress(first, part, scratch);
                let promised = (scratch.sizes.iter().filter(|&&size| size > 0).count() * MAX_RECORD_BYTES) as u64;
                self.make_room(promised, &kept)?;
                let held = self.stripes.hold(first, scratch.lbas.len() as u32);
                let blocks = part.chunks_exact(BLOCK_BYTES).zip(scratch.compressed.chunks_exact(BLOCK_BYTES));
                let mut placed = (first..).zip(&scratch.sizes).zip(blocks);
                let outcome = placed.try_for_each(|((lba, &size), (block, packed))| {
                    let entry = self.keep(lba, size, block, packed)?;
                    self.publish_cut(cut, lba, entry, &kept);
                    Ok::<(), DriveError>(())
                });
                drop(held);
                self.segments.settle(promised);
                outcome?;
            }
            Ok(())
        })
    }

    /// As [`Disk::clear`], of a crash state; parts of blocks stay.
    pub fn clear_cut(&self, number: u64, offset: u64, length: u64, clearing: Clearing) -> Result<(), DriveError> {
        let range = self.range(offset, length)?;
        let kept = self.gate.read();
        let cut = cut_of(&kept, number)?;
        let entry = if clearing == Clearing::Discard { Entry::UNMAPPED } else { Entry::ZEROS };
        let block = BLOCK_BYTES as u64;
        for lba in range.start.div_ceil(block)..range.end / block {
            let _held = self.stripes.hold(lba as u32, 1);
            self.publish_cut(cut, lba as u32, entry, &kept);
        }
        Ok(())
    }

    /// The block's stripe is held.
    fn publish_cut(&self, cut: &Cut, lba: u32, entry: Entry, kept: &Kept) {
        let old = cut.map.set(lba, entry);
        if old.is_stored() && self.map.get(lba) != old && !kept.has(lba, old) {
            self.segments.forget(old);
        }
    }

    /// Appends a block that was compressed to `size` bytes.
    pub(super) fn keep(&self, lba: u32, size: u16, block: &[u8], compressed: &[u8]) -> Result<Entry, DriveError> {
        match usize::from(size) {
            0 => Ok(Entry::ZEROS),
            BLOCK_BYTES => self.segments.append(lba, block, Appender::Host),
            size => self.segments.append(lba, &compressed[..size], Appender::Host),
        }
    }

    /// Makes the oldest cached requests durable until the cache holds `left` blocks. The drive stands still.
    pub(super) fn destage(&self, kept: &Kept, left: u64) {
        let Some(cache) = &kept.cache else { return };
        while cache.blocks() > left {
            let Some(request) = cache.pop() else { return };
            self.make_durable(kept, cache, &request);
        }
    }

    /// Makes all cached requests durable but WAL, and what came later to the same blocks. The drive stands still.
    pub(super) fn destage_data(&self, kept: &Kept) {
        let Some(cache) = &kept.cache else { return };
        let mut back: Vec<Logged> = Vec::new();
        while let Some(request) = cache.pop() {
            if request.is_wal || back.iter().any(|earlier| earlier.overlaps(&request)) {
                back.push(request);
            } else {
                self.make_durable(kept, cache, &request);
            }
        }
        for request in back {
            cache.add(request);
        }
    }

    /// What was cached and is in the cache no more is durable.
    fn make_durable(&self, kept: &Kept, cache: &WriteCache, request: &Logged) {
        for index in 0..request.shape.blocks {
            let (lba, entry) = (request.shape.first + index, request.entry(index));
            let old = cache.durable.set(lba, entry);
            if old.is_stored() && old != entry && self.map.get(lba) != old && !kept.has(lba, old) {
                self.segments.forget(old);
            }
        }
    }
}

fn cut_of(kept: &Kept, number: u64) -> Result<&Cut, DriveError> {
    kept.cuts.iter().find(|cut| cut.number == number).ok_or(DriveError::PastEnd)
}

fn vanished() -> DriveError {
    DriveError::Damaged("the write that a cut waited for has vanished")
}
