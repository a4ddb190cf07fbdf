//! Whether map, store and model fit together, and whether every stored block can be read.

use super::Disk;
use super::cache::WriteCache;
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
        let kept = self.gate.write();
        let mut report = CheckReport::default();
        let mut live = vec![0_u64; self.segments.live_bytes().len()];
        let (sizes, adds_up) = self.with_model(|model| (model.sizes(), model.drive().counters().consistent()));
        if !adds_up {
            report.add("the model's counters do not add up".into());
        }
        self.check_map("the drive", &self.map, &sizes, &mut report)?;
        for snapshot in &kept.snapshots {
            let sizes = snapshot.model.sizes(self.blocks);
            self.check_map(&format!("snapshot {}", snapshot.name), &snapshot.map, &sizes, &mut report)?;
        }
        for lba in 0..self.blocks {
            let mut seen: Vec<Entry> = Vec::new();
            for map in std::iter::once(&self.map).chain(kept.maps()) {
                let entry = map.get(lba);
                if entry.is_stored() && !seen.contains(&entry) {
                    seen.push(entry);
                    live[self.segments.segment_of(entry)] += footprint(entry.length()) as u64;
                }
            }
        }
        for request in kept.cache.as_ref().map_or_else(Vec::new, WriteCache::requests) {
            for (lba, &entry) in (request.shape.first..).zip(&request.entries) {
                let is_counted = self.map.get(lba) == entry || kept.maps().any(|map| map.get(lba) == entry);
                if entry.is_stored() && !is_counted {
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

#[cfg(test)]
mod tests {
    use super::Disk;
    use crate::disk::Parts;
    use crate::model::Model;
    use crate::persistence::Persistence;
    use crate::store::{Appender, BLOCK_BYTES};

    const WRITTEN: usize = 32;

    /// A sound drive whose first blocks hold what compresses to about a half.
    fn disk() -> Disk {
        let flash = r#"{"kind": "compressing", "pages_per_block": 16, "over_provisioning": 0.5, "reserve_blocks": 4}"#;
        let capacity_bytes = 1024 * BLOCK_BYTES as u64;
        let disk = Disk::new(Parts {
            capacity_bytes,
            codec: "zstd-1".parse().unwrap(),
            keeps_contents: true,
            store_bytes: 4 << 20,
            store_file: None,
            model: Model::described(flash, capacity_bytes),
            persistence: Persistence::default(),
        });
        let mut state = 1_u32;
        let contents = (0..WRITTEN * BLOCK_BYTES).map(|index| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if index % BLOCK_BYTES < BLOCK_BYTES / 2 { (state >> 24) as u8 } else { 0 }
        });
        let disk = disk.unwrap();
        disk.write(0, &contents.collect::<Vec<_>>()).unwrap();
        disk.snapshot("kept").unwrap();
        assert_eq!(disk.check().unwrap().problems, [""; 0]);
        disk
    }

    /// These problems, in this order, and no other.
    fn assert_found(disk: &Disk, wanted: &[&str]) {
        let problems = disk.check().unwrap().problems;
        let are_told = problems.iter().zip(wanted).all(|(problem, wanted)| problem.contains(wanted));
        assert!(problems.len() == wanted.len() && are_told, "{problems:?}");
    }

    #[test]
    fn a_map_that_leads_to_another_block_is_found() {
        let disk = disk();
        disk.map.set(3, disk.map.get(4));
        // What block 4 takes is found twice now.
        assert_found(&disk, &["the drive: block 3 lies where", "its count says"]);
    }

    #[test]
    fn a_snapshot_is_looked_at_as_well() {
        let disk = disk();
        disk.gate.read().snapshots[0].map.set(3, disk.map.get(4));
        assert_found(&disk, &["snapshot kept: block 3 lies where", "its count says"]);
    }

    #[test]
    fn a_segment_that_counts_too_little_is_found() {
        let disk = disk();
        disk.segments.forget(disk.map.get(5));
        assert_found(&disk, &["its count says"]);
    }

    #[test]
    fn a_block_that_the_model_lacks_is_found() {
        let disk = disk();
        disk.with_model(|model| model.drive_mut().trim(6, 1)).unwrap();
        assert_found(&disk, &["the model has no block 6"]);
    }

    #[test]
    fn a_block_of_another_size_than_the_model_has_is_found() {
        let disk = disk();
        assert!(disk.with_model(|model| model.write(&[7], &[9])).1.is_none());
        assert_found(&disk, &["the model says 9"]);
    }

    #[test]
    fn contents_that_cannot_be_read_are_found() {
        let disk = disk();
        let sound = disk.map.get(8);
        let garbage = vec![0xa5; sound.length()];
        disk.map.set(8, disk.segments.append(8, &garbage, Appender::Host).unwrap());
        assert_found(&disk, &["the drive: block 8: "]);
    }

    #[test]
    fn of_many_problems_the_first_twenty_are_told() {
        let disk = disk();
        disk.with_model(|model| model.drive_mut().trim(0, WRITTEN as u32)).unwrap();
        assert_eq!(disk.check().unwrap().problems.len(), 20);
    }
}
