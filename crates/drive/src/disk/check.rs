//! Whether map, store and model fit together, and whether every stored block can be read.

use super::Disk;
use super::scratch::with_scratch;
use crate::error::DriveError;
use crate::model::Model;
use crate::store::record::footprint;
use crate::store::{BLOCK_BYTES, Entry, Map};

/// What a check has found. `problems` is empty if all is well.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct CheckReport {
    /// Blocks with bytes in the store that were read, of the present state and of all snapshots.
    pub blocks_read: u64,
    /// Blocks that the model holds for the host's unused space (ageing put them there).
    pub filler_blocks: u64,
    /// What does not fit, the first twenty of it.
    pub problems: Vec<String>,
}

impl CheckReport {
    fn add(&mut self, problem: String) {
        if self.problems.len() < 20 {
            self.problems.push(problem);
        }
    }
}

impl Disk {
    /// Checks everything while the drive stands still.
    pub fn check(&self) -> Result<CheckReport, DriveError> {
        let snapshots = self.gate.write();
        let mut report = CheckReport::default();
        let mut live = vec![0_u64; self.segments.live_bytes().len()];
        let (sizes, adds_up) = self.with_model(|model| (model.sizes(), model.drive().counters().consistent()));
        if !adds_up {
            report.add("the model's counters do not add up".into());
        }
        self.check_map("the drive", &self.map, &sizes, &mut report)?;
        for snapshot in snapshots.iter() {
            let sizes = snapshot.model.sizes(self.blocks);
            self.check_map(&format!("snapshot {}", snapshot.name), &snapshot.map, &sizes, &mut report)?;
        }
        for lba in 0..self.blocks {
            let mut seen: Vec<Entry> = Vec::with_capacity(1 + snapshots.len());
            for entry in std::iter::once(&self.map).chain(snapshots.iter().map(|snapshot| &snapshot.map)) {
                let entry = entry.get(lba);
                if entry.is_stored() && !seen.contains(&entry) {
                    seen.push(entry);
                    live[self.segments.segment_of(entry)] += footprint(entry.length()) as u64;
                }
            }
        }
        for (segment, (counted, kept)) in live.into_iter().zip(self.segments.live_bytes()).enumerate() {
            if counted != u64::from(kept) {
                report.add(format!("segment {segment} has {counted} live bytes, its count says {kept}"));
            }
        }
        Ok(report)
    }

    /// `sizes` are the bytes that the model has of each block, 0 for nothing.
    fn check_map(&self, whose: &str, map: &Map, sizes: &[u16], report: &mut CheckReport) -> Result<(), DriveError> {
        let compresses = self.with_model(|model| matches!(model, Model::Compressing(_)));
        with_scratch(self.codec, |scratch| {
            let mut block = vec![0; BLOCK_BYTES];
            for (lba, &modelled) in (0..).zip(sizes) {
                let (entry, modelled) = (map.get(lba), usize::from(modelled));
                if !entry.is_stored() {
                    report.filler_blocks += u64::from(entry == Entry::UNMAPPED && modelled > 0);
                    continue;
                }
                let pin = self.segments.pin(entry);
                let header = self.segments.header(&pin, entry)?;
                if header.map(|header| (header.lba, header.length)) != Some((lba, entry.length())) {
                    report.add(format!("{whose}: block {lba} lies where {header:?} is"));
                    continue;
                }
                report.blocks_read += 1;
                let decompressor = &mut scratch.decompressor;
                if let Err(error) =
                    self.segments.look(&pin, entry, |bytes| decompressor.decompress(bytes, &mut block))?
                {
                    report.add(format!("{whose}: block {lba}: {error}"));
                }
                if modelled == 0 {
                    report.add(format!("{whose}: the model has no block {lba}"));
                } else if compresses && modelled != entry.length() {
                    let stored = entry.length();
                    report.add(format!("{whose}: block {lba} has {stored} bytes, the model says {modelled}"));
                }
            }
            Ok(())
        })
    }
}
