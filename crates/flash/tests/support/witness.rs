//! An observer that knows nothing of maps: it only sees flash being programmed, read and erased, and objects to what
//! flash cannot do.

use std::collections::BTreeMap;

use flash::{Cause, Drive, Observer};

/// What a witness has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Witness {
    /// Programmed bytes of each block since its last erase.
    pub filled: BTreeMap<u32, u64>,
    /// All bytes programmed, by cause.
    pub programmed: BTreeMap<String, u64>,
    /// All blocks erased.
    pub erased: u64,
    /// Bytes of a block, as the geometry has them.
    pub block_bytes: u64,
}

impl Observer for Witness {
    fn program(&mut self, block: u32, offset: u64, bytes: u32, _stream: u8, cause: Cause) {
        let filled = self.filled.entry(block).or_default();
        assert_eq!(*filled, offset, "block {block} is not programmed in order");
        *filled += u64::from(bytes);
        assert!(*filled <= self.block_bytes, "block {block} is programmed past its end");
        *self.programmed.entry(format!("{cause:?}")).or_default() += u64::from(bytes);
    }

    fn read(&mut self, block: u32, offset: u64, bytes: u32, _cause: Cause) {
        let filled = self.filled.get(&block).copied().unwrap_or(0);
        assert!(offset + u64::from(bytes) <= filled, "block {block} is read where nothing was programmed");
    }

    fn erase(&mut self, block: u32) {
        assert_eq!(self.filled.insert(block, 0), Some(self.block_bytes), "block {block} is erased before it is full");
        self.erased += 1;
    }
}

/// Holds a drive's word against what the witness saw and against what the host wrote (address → stored bytes; 0 means
/// that the block may have no location).
pub fn check<D: Drive<Observer = Witness>>(drive: &D, written: &BTreeMap<u32, u32>) {
    let witness = drive.observer();
    let counters = drive.counters();
    let seen = |cause: &str| witness.programmed.get(cause).copied().unwrap_or(0);
    assert!(counters.consistent(), "{counters:?}");
    assert_eq!(counters.nand_bytes_written, witness.programmed.values().sum::<u64>());
    assert_eq!(counters.compressed_bytes_written, seen("Host"));
    assert_eq!(counters.gc_bytes_written, seen("GarbageCollection"));
    assert_eq!(counters.wear_levelling_bytes_written, seen("WearLevelling"));
    assert_eq!(counters.padding_bytes_written, seen("Padding"));
    assert_eq!(counters.blocks_erased, witness.erased);
    let wear = drive.wear();
    assert_eq!(wear.erase_counts.iter().map(|&count| u64::from(count)).sum::<u64>(), witness.erased);
    assert_eq!(drive.mapped_blocks(), written.len() as u64);
    check_places(drive, written);
}

/// Every block written lies where flash has been programmed, and no two share a byte.
fn check_places<D: Drive<Observer = Witness>>(drive: &D, written: &BTreeMap<u32, u32>) {
    let witness = drive.observer();
    let mut places = Vec::new();
    for lba in 0..drive.logical_blocks() {
        let location = drive.locate(lba);
        let expected = written.get(&lba).copied().filter(|&bytes| bytes > 0);
        assert_eq!(location.map(|location| location.bytes), expected, "block {lba}");
        if let Some(location) = location {
            // An extent that runs over into another block is checked up to the end of its first one.
            let end = (location.offset + u64::from(location.bytes)).min(witness.block_bytes);
            assert!(end <= witness.filled[&location.block], "block {lba} lies where nothing was programmed");
            places.push((location.block, location.offset, end));
        }
    }
    places.sort_unstable();
    for pair in places.windows(2) {
        assert!(pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1, "{:?} and {:?} overlap", pair[0], pair[1]);
    }
    let free =
        (0..drive.wear().erase_counts.len() as u32).filter(|block| witness.filled.get(block).is_none_or(|&f| f == 0));
    assert!(free.count() as u32 >= drive.free_blocks());
}

/// Inspects a drive after each request: its own check, then what the witness saw and the host wrote.
pub fn sound<D: Drive<Observer = Witness>>(
    verify: impl Fn(&D) -> Result<(), String>,
) -> impl Fn(&D, &BTreeMap<u32, u32>) {
    move |drive, written| {
        verify(drive).unwrap();
        check(drive, written);
    }
}
