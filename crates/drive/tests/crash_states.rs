//! A crash state has nothing but what the model of the drive allows, the drive itself goes on as if nothing had
//! happened, and map, store and model stay in step.
//!
//! The reference keeps plain arrays: what is durable, and in order what came since. Of it a crash state must be made by
//! losing sectors of pieces, whole pieces only.

mod common;

use std::thread;

use common::{BLOCK, contents, disk_losing};
use drive::disk::cuts::{CutReport, Wish};
use drive::disk::{Clearing, Disk};
use drive::persistence::{Cache, Draw, Flushes, Persistence};
use proptest::prelude::*;

const BLOCKS: usize = 300;
const SECTOR: usize = 512;

#[derive(Debug, Clone)]
enum Step {
    Write { first: usize, count: usize, seed: u64 },
    Clear { first: usize, count: usize, zeroes: bool },
    Flush,
    Cut { draw: Draw, seed: u64 },
    WriteToCut { first: usize, count: usize, seed: u64 },
    Discard,
    Snapshot,
    Restore,
}

fn span() -> impl Strategy<Value = (usize, usize)> {
    (0..BLOCKS, 1..40_usize).prop_map(|(first, count)| (first, count.min(BLOCKS - first)))
}

fn step() -> impl Strategy<Value = Step> {
    let draw = prop::sample::select(vec![Draw::All, Draw::Nothing, Draw::Prefix, Draw::Independent]);
    prop_oneof![
        12 => (span(), any::<u64>()).prop_map(|((first, count), seed)| Step::Write { first, count, seed }),
        2 => (span(), any::<bool>()).prop_map(|((first, count), zeroes)| Step::Clear { first, count, zeroes }),
        2 => Just(Step::Flush),
        4 => (draw, any::<u64>()).prop_map(|(draw, seed)| Step::Cut { draw, seed }),
        3 => (span(), any::<u64>()).prop_map(|((first, count), seed)| Step::WriteToCut { first, count, seed }),
        3 => Just(Step::Discard),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Restore),
    ]
}

/// What came since the last flush: first block, and the bytes.
type Unflushed = Vec<(usize, Vec<u8>)>;

/// Every sector of the state is the durable one, or that of a request; and pieces are whole.
fn assert_legal(state: &[u8], durable: &[u8], unflushed: &Unflushed, persistence: &Persistence, draw: Draw) {
    let sector_of = |data: &[u8], sector: usize| data[sector * SECTOR..][..SECTOR].to_vec();
    for sector in 0..BLOCKS * BLOCK / SECTOR {
        let found = sector_of(state, sector);
        let mut legal = vec![sector_of(durable, sector)];
        for (first, data) in unflushed {
            let start = first * BLOCK / SECTOR;
            if (start..start + data.len() / SECTOR).contains(&sector) {
                legal.push(sector_of(data, sector - start));
            }
        }
        match draw {
            Draw::All => assert_eq!(Some(&found), legal.last(), "sector {sector}"),
            Draw::Nothing => assert_eq!(Some(&found), legal.first(), "sector {sector}"),
            _ => assert!(legal.contains(&found), "sector {sector} has what was never written there"),
        }
    }
    if draw == Draw::Prefix {
        // Some number of requests is there whole, and none but the next one in part.
        let mut whole = durable.to_vec();
        let mut is_prefix = false;
        for position in 0..=unflushed.len() {
            let next = unflushed.get(position);
            let differs =
                (0..BLOCKS).filter(|block| state[block * BLOCK..][..BLOCK] != whole[block * BLOCK..][..BLOCK]);
            is_prefix |= { differs }
                .all(|block| next.is_some_and(|(first, data)| (*first..first + data.len() / BLOCK).contains(&block)));
            if let Some((first, data)) = next {
                whole[first * BLOCK..][..data.len()].copy_from_slice(data);
            }
        }
        assert!(is_prefix, "no prefix of the requests");
    }
    let unit = (persistence.atomic_write_bytes as usize).max(BLOCK);
    if let ([(first, data)], true) = (&unflushed[..], persistence.atomic_write_bytes as usize >= BLOCK) {
        // With one request alone it can be told of each piece whether it is there.
        for start in (0..BLOCKS * BLOCK).step_by(unit) {
            let from = start.max(first * BLOCK);
            let to = (start + unit).min(first * BLOCK + data.len());
            if from < to {
                let new = &data[from - first * BLOCK..to - first * BLOCK];
                assert!(&state[from..to] == new || state[from..to] == durable[from..to], "a unit was torn");
            }
        }
    }
}

fn read_cut(disk: &Disk, number: u64) -> Vec<u8> {
    let mut state = vec![0; BLOCKS * BLOCK];
    disk.read_cut(number, 0, &mut state).unwrap();
    state
}

/// A drive beside plain arrays of what it must hold.
struct Twin<'a> {
    disk: Disk,
    persistence: &'a Persistence,
    present: Vec<u8>,
    durable: Vec<u8>,
    unflushed: Unflushed,
    snapshot: Option<Vec<u8>>,
    cuts: Vec<(u64, Vec<u8>)>,
}

impl<'a> Twin<'a> {
    fn new(persistence: &'a Persistence) -> Self {
        let empty = vec![0_u8; BLOCKS * BLOCK];
        Twin {
            disk: disk_losing(BLOCKS as u64, 12 << 20, persistence.clone()),
            persistence,
            present: empty.clone(),
            durable: empty,
            unflushed: Vec::new(),
            snapshot: None,
            cuts: Vec::new(),
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Write { first, count, seed } => {
                let data = contents(count * BLOCK, 0.4, seed);
                self.disk.write((first * BLOCK) as u64, &data).unwrap();
                self.present[first * BLOCK..][..data.len()].copy_from_slice(&data);
                self.unflushed.push((first, data));
            }
            Step::Clear { first, count, zeroes } => self.clear(first, count, zeroes),
            Step::Flush => {
                self.disk.flush();
                if self.persistence.flush == Flushes::Honest {
                    self.durable.clone_from(&self.present);
                    self.unflushed.clear();
                }
            }
            Step::Cut { draw, seed } => self.cut(draw, seed),
            Step::WriteToCut { first, count, seed } => {
                if let Some((number, state)) = self.cuts.last_mut() {
                    let data = contents(count * BLOCK, 0.4, seed);
                    self.disk.write_cut(*number, (first * BLOCK) as u64, &data).unwrap();
                    state[first * BLOCK..][..data.len()].copy_from_slice(&data);
                }
            }
            Step::Discard => {
                if !self.cuts.is_empty() {
                    self.disk.discard_cut(self.cuts.remove(0).0).unwrap();
                }
            }
            Step::Snapshot => {
                if self.snapshot.is_none() {
                    self.disk.snapshot("s").unwrap();
                    self.snapshot = Some(self.present.clone());
                }
            }
            Step::Restore => {
                if let Some(state) = &self.snapshot {
                    self.disk.restore("s").unwrap();
                    self.present.clone_from(state);
                    self.durable.clone_from(state);
                    self.unflushed.clear();
                }
            }
        }
        let mut read = vec![0; BLOCKS * BLOCK];
        self.disk.read(0, &mut read).unwrap();
        assert!(read == self.present, "the drive noticed");
    }

    fn clear(&mut self, first: usize, count: usize, zeroes: bool) {
        let clearing = if zeroes { Clearing::Zeroes } else { Clearing::Discard };
        self.disk.clear((first * BLOCK) as u64, (count * BLOCK) as u64, clearing).unwrap();
        self.present[first * BLOCK..][..count * BLOCK].fill(0);
        // As the drive does, by stripes of 256 blocks.
        let border = 256.clamp(first, first + count);
        for (from, to) in [(first, border), (border, first + count)] {
            if from < to {
                self.unflushed.push((from, vec![0; (to - from) * BLOCK]));
            }
        }
    }

    fn cut(&mut self, draw: Draw, seed: u64) {
        if self.cuts.len() == 3 {
            return;
        }
        let report = self.disk.cut(&Wish { draw, seed, page_within_ms: None }).unwrap();
        let state = read_cut(&self.disk, report.number);
        if self.persistence.is_volatile() {
            assert_legal(&state, &self.durable, &self.unflushed, self.persistence, draw);
            assert_eq!(report.requests, self.unflushed.len() as u64);
        } else {
            assert_eq!((state == self.present, report.requests), (true, 0));
        }
        self.cuts.push((report.number, state));
    }

    fn end(self) {
        for (number, state) in &self.cuts {
            assert!(&read_cut(&self.disk, *number) == state, "a crash state changed");
        }
        assert_eq!(self.disk.check().unwrap().problems, [""; 0]);
        for (number, _) in self.cuts {
            self.disk.discard_cut(number).unwrap();
        }
        self.disk.flush();
        assert_eq!(self.disk.check().unwrap().problems, [""; 0]);
    }
}

fn drives() -> impl Strategy<Value = Persistence> {
    let cache = prop_oneof![4 => Just(Cache::Volatile), 1 => Just(Cache::Protected)];
    let flush = prop_oneof![Just(Flushes::Honest), Just(Flushes::Lies)];
    (cache, flush, prop::sample::select(vec![512_u32, 4096, 8192, 16384])).prop_map(|(cache, flush, unit)| {
        Persistence { cache, flush, atomic_write_bytes: unit, ..Persistence::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_crash_state_is_legal_and_harms_nothing(
        steps in prop::collection::vec(step(), 1..40),
        persistence in drives(),
    ) {
        let mut twin = Twin::new(&persistence);
        steps.iter().for_each(|step| twin.take(step));
        twin.end();
    }
}

fn volatile() -> Persistence {
    Persistence { cache: Cache::Volatile, ..Persistence::default() }
}

fn nothing() -> Wish {
    Wish { draw: Draw::Nothing, seed: 1, page_within_ms: None }
}

#[test]
fn a_cache_that_is_full_writes_its_older_half_back_by_itself() {
    let disk = disk_losing(600, 16 << 20, Persistence { cache_bytes: 1 << 20, ..volatile() });
    for block in 0..300_u64 {
        disk.write(block * BLOCK as u64, &contents(BLOCK, 1.0, block)).unwrap();
    }
    let report = disk.cut(&nothing()).unwrap();
    assert!((128..=256).contains(&report.requests), "{}", report.requests);
    let mut block = vec![0; BLOCK];
    disk.read_cut(report.number, 0, &mut block).unwrap();
    assert_eq!(block, contents(BLOCK, 1.0, 0));
    disk.read_cut(report.number, 299 * BLOCK as u64, &mut block).unwrap();
    assert_eq!(block, vec![0; BLOCK]);
}

#[test]
fn a_drive_that_writes_data_first_flushes_all_but_wal_and_what_came_over_it() {
    let disk = disk_losing(600, 16 << 20, Persistence { flush: Flushes::DataFirst, ..volatile() });
    let mut wal = contents(BLOCK, 1.0, 1);
    wal[..16].copy_from_slice(&[0x10, 0xd1, 7, 0, 1, 0, 0, 0, 0, 0x20, 0, 5, 0, 0, 0, 0]);
    let data = contents(BLOCK, 1.0, 2);
    disk.write(0, &wal).unwrap();
    disk.write(4 * BLOCK as u64, &data).unwrap();
    disk.flush();
    disk.write(0, &data).unwrap();
    disk.flush();
    let report = disk.cut(&nothing()).unwrap();
    assert_eq!((report.requests, report.lost_pieces), (2, 2));
    assert_eq!(report.memory_bytes, 4096, "of a table of two pages only the first is in use");
    let mut block = vec![0; BLOCK];
    for (number, found) in [(0, vec![0; BLOCK]), (4, data.clone())] {
        disk.read_cut(report.number, number * BLOCK as u64, &mut block).unwrap();
        assert_eq!(block, found);
    }
    disk.discard_cut(report.number).unwrap();
    disk.read(0, &mut block).unwrap();
    assert_eq!(block, data);
    assert_eq!(disk.check().unwrap().problems, [""; 0]);
}

/// A page of 8 KiB with this LSN, of 0.
fn page(lsn: u32) -> Vec<u8> {
    let mut page = vec![0; 2 * BLOCK];
    page[4..8].copy_from_slice(&lsn.to_le_bytes());
    page[12..20].copy_from_slice(&[40, 0, 0, 16, 0, 32, 4, 32]);
    page[8191] = lsn as u8;
    page
}

/// What comes of a cut that waits for a page while one is being written.
fn cut_in_flight(unit: u32, cache: Cache, seed: u64) -> (Disk, CutReport) {
    let disk = disk_losing(64, 4 << 20, Persistence { cache, atomic_write_bytes: unit, ..Persistence::default() });
    disk.write(0, &page(7)).unwrap();
    disk.flush();
    let wish = Wish { draw: Draw::All, seed, page_within_ms: Some(900_000) };
    let report = thread::scope(|scope| {
        let waiting = scope.spawn(|| disk.cut(&wish).unwrap());
        while !disk.is_awaiting() {
            thread::yield_now();
        }
        disk.write(40 * BLOCK as u64, &[1; 2 * BLOCK]).unwrap(); // no page
        disk.write(0, &page(9)).unwrap();
        waiting.join().unwrap()
    });
    (disk, report)
}

#[test]
fn a_page_in_flight_is_torn_between_two_units_whatever_the_cache() {
    for (seed, cache) in [(1, Cache::Volatile), (2, Cache::Protected), (3, Cache::Volatile), (4, Cache::Protected)] {
        let (disk, report) = cut_in_flight(4096, cache, seed);
        let torn = report.page.unwrap();
        assert_eq!((torn.block, torn.bytes, torn.old_lsn, torn.new_lsn), (0, 8192, 7, 9));
        assert_eq!(torn.changed, [1, 128]);
        assert!(torn.sectors == [0, 255] || torn.sectors == [255, 0]);
        let mut state = vec![0; 2 * BLOCK];
        disk.read_cut(report.number, 0, &mut state).unwrap();
        let (first, second) = if torn.sectors[0] == 0 { (page(7), page(9)) } else { (page(9), page(7)) };
        assert!(state[..BLOCK] == first[..BLOCK] && state[BLOCK..] == second[BLOCK..]);
        disk.read(0, &mut state).unwrap();
        assert!(state == page(9), "the drive itself has the whole page");
        assert_eq!(disk.check().unwrap().problems, [""; 0]);
    }
}

#[test]
fn a_page_in_one_unit_is_not_torn() {
    for seed in 0..8 {
        let (disk, report) = cut_in_flight(16384, Cache::Protected, seed);
        let mut state = vec![0; 2 * BLOCK];
        disk.read_cut(report.number, 0, &mut state).unwrap();
        assert!(state == page(7) || state == page(9));
    }
}

#[test]
fn without_a_page_the_cut_is_made_when_patience_ends() {
    let disk = disk_losing(64, 4 << 20, volatile());
    let report = disk.cut(&Wish { page_within_ms: Some(1), ..nothing() }).unwrap();
    assert_eq!((report.page, report.pieces), (None, 0));
    assert!(!disk.is_awaiting());
}

#[test]
fn what_is_not_there_is_refused_and_there_is_a_limit() {
    let disk = disk_losing(64, 4 << 20, volatile());
    assert!(disk.discard_cut(1).is_err());
    assert!(disk.read_cut(1, 0, &mut [0; BLOCK]).is_err());
    let first = disk.cut(&nothing()).unwrap().number;
    assert!(disk.write_cut(first, 100, &[0; BLOCK]).is_err());
    (1..8).for_each(|_| assert!(disk.cut(&nothing()).is_ok()));
    assert!(disk.cut(&nothing()).unwrap_err().to_string().contains("8 crash states"));
    disk.discard_cut(first).unwrap();
    assert!(disk.cut(&nothing()).is_ok());
}
