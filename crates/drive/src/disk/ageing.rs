//! A used drive in seconds: the flash is written as a host could have written it, the stored contents stay untouched.
//!
//! First the blocks that the file system does not use are filled, since a real drive that has been in use holds old
//! data in them. Then a load is drawn from (see `workload`) until write amplification is steady (`flash::ageing`). In
//! the end each block that the host can read is written once more in its true size if the load left another, in random
//! order: in the order of their addresses they would lie side by side, and die so when a checkpoint writes them.

use std::time::Instant;

use flash::Drive;
use flash::ageing::{Permutation, Settling, Steady, until_steady};
use flash::random::Random;
use serde::{Deserialize, Serialize};

use super::Disk;
use super::workload::Workload;
use crate::error::DriveError;
use crate::model::Model;
use crate::store::{Entry, Map};
use crate::with_drive;

/// What is written after the filling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing.
    Fill,
    /// Every live block, at random.
    Uniform,
    /// What a recorded load writes, as often and as large, in an order that is drawn.
    Trace,
}

/// How a drive is to be aged.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ageing {
    /// What is written after the filling; by default the trace if there is one, else uniform writes.
    pub mode: Option<Mode>,
    /// Share of the logical blocks that hold something afterwards, above 0 and at most 1.
    #[serde(default = "one")]
    pub live_share: f64,
    /// Bytes that are left of 4096 in the filled blocks, as a share above 0 and at most 1.
    #[serde(default = "one", alias = "compressed_to")]
    pub compressibility: f64,
    /// The recorded load, of mode `trace`.
    pub trace: Option<std::path::PathBuf>,
    /// Relative difference of write amplification between two stretches that counts as none.
    #[serde(default = "hundredth", alias = "tolerance")]
    pub until: f64,
    /// Drive writes at most.
    #[serde(default = "hundred")]
    pub limit: u32,
    /// Seed of what is drawn.
    #[serde(default)]
    pub seed: u64,
}

fn one() -> f64 {
    1.0
}
fn hundredth() -> f64 {
    0.01
}
fn hundred() -> u32 {
    100
}

/// What ageing has done.
#[derive(Debug, Clone, Serialize)]
pub struct Aged {
    /// Blocks filled that the host does not use.
    pub filled_blocks: u64,
    /// Drive writes of the load.
    pub drive_writes: f64,
    /// Whether write amplification settled.
    #[serde(rename = "settled")]
    pub reached: bool,
    /// Over the last third of the load; null if there was none.
    pub write_amplification: Option<f64>,
    /// Blocks written once more so that the model says what the store holds.
    pub rewritten_blocks: u64,
    /// Time that it took.
    pub took_ms: f64,
}

impl Ageing {
    fn mode(&self) -> Mode {
        self.mode.unwrap_or(if self.trace.is_some() { Mode::Trace } else { Mode::Uniform })
    }

    fn check(&self) -> Result<(), DriveError> {
        let share = |value: f64| value > 0.0 && value <= 1.0;
        if !share(self.live_share) || !share(self.compressibility) {
            return Err(DriveError::refused("live_share and compressibility must be above 0 and at most 1", ""));
        }
        if !(self.until > 0.0 && self.until < 1.0) || self.limit == 0 {
            return Err(DriveError::refused("until must be above 0 and below 1, limit at least 1", ""));
        }
        if (self.mode() == Mode::Trace) != self.trace.is_some() {
            return Err(DriveError::refused("mode trace goes with a trace, the other modes without", ""));
        }
        Ok(())
    }
}

impl Disk {
    /// Ages the modelled flash while the drive stands still. After an error the flash is partly aged, but consistent.
    pub fn age(&self, ageing: &Ageing) -> Result<Aged, DriveError> {
        ageing.check()?;
        let started = Instant::now();
        let mut workload = match &ageing.trace {
            Some(path) => Some(Workload::read(path, self.blocks, self.codec)?),
            None => None,
        };
        let _alone = self.gate.write();
        let mut model = self.model.lock();
        let outcome = fill(&mut model, ageing, &self.map)
            .and_then(|filled| Ok((filled, overwrite(&mut model, ageing, workload.as_mut(), &self.map)?)));
        let rewritten_blocks = agree(&mut model, &self.map, ageing.seed)?;
        let (filled_blocks, steady) = outcome?;
        Ok(Aged {
            filled_blocks,
            drive_writes: steady.drive_writes,
            reached: steady.reached,
            write_amplification: steady.write_amplification,
            rewritten_blocks,
            took_ms: started.elapsed().as_secs_f64() * 1e3,
        })
    }
}

/// Fills blocks that hold nothing, in order, until the share is live. Returns how many.
fn fill(model: &mut Model, ageing: &Ageing, map: &Map) -> Result<u64, DriveError> {
    let blocks = model.drive().logical_blocks();
    let wanted = (f64::from(blocks) * ageing.live_share) as u64;
    let missing = wanted.saturating_sub(model.drive().mapped_blocks());
    let size = ((4096.0 * ageing.compressibility).round() as u16).clamp(1, 4096);
    let compresses = matches!(model, Model::Compressing(_));
    let is_unused = |model: &Model, lba: u32| map.get(lba) == Entry::UNMAPPED && model.drive().locate(lba).is_none();
    let (mut left, mut lba) = (missing, 0);
    let mut batch = Vec::with_capacity(4096);
    while left > 0 && lba < blocks {
        batch.clear();
        while batch.len() < 4096.min(left as usize) && lba < blocks {
            if is_unused(model, lba) {
                batch.push(lba);
            }
            lba += 1;
        }
        let sizes = if compresses { vec![size; batch.len()] } else { Vec::new() };
        with_drive!(&mut *model, drive => drive.write_batch(&batch, &sizes))?;
        left -= batch.len() as u64;
    }
    Ok(missing - left)
}

fn overwrite(
    model: &mut Model,
    ageing: &Ageing,
    workload: Option<&mut Workload>,
    map: &Map,
) -> Result<Steady, DriveError> {
    let mut random = Random::new(ageing.seed);
    let coldest_turn =
        workload.as_ref().map_or(0.0, |workload| workload.coldest_turn()) / f64::from(model.drive().logical_blocks());
    let settling = Settling { tolerance: ageing.until, limit: ageing.limit.into(), coldest_turn };
    let steady = match (ageing.mode(), workload) {
        (Mode::Fill, _) => Steady { drive_writes: 0.0, write_amplification: None, reached: true },
        (_, Some(workload)) => with_drive!(model, drive => until_steady(drive, settling, |drive, writes| {
            workload.write(drive, &mut random, writes)
        }))?,
        (_, None) => {
            let live = live_blocks(model, map, ageing.compressibility);
            with_drive!(model, drive => until_steady(drive, settling, |drive, writes| {
                write_uniformly(drive, &live, &mut random, writes)
            }))?
        }
    };
    Ok(steady)
}

/// Blocks that have room on flash, with their sizes.
fn live_blocks(model: &Model, map: &Map, compressibility: f64) -> Vec<(u32, u16)> {
    let filler = (4096.0 * compressibility).round() as u16;
    let sized = (0..model.drive().logical_blocks()).filter_map(|lba| {
        let place = model.drive().locate(lba)?;
        let stored = map.get(lba).length() as u16;
        let size = if stored > 0 { stored } else { filler.min(place.bytes as u16) };
        Some((lba, size))
    });
    sized.collect()
}

fn write_uniformly<D: Drive + ?Sized>(
    drive: &mut D,
    live: &[(u32, u16)],
    random: &mut Random,
    writes: u64,
) -> Result<(), flash::FlashError> {
    let Ok(count @ 1..) = u32::try_from(live.len()) else { return Ok(()) };
    let mut left = writes;
    while left > 0 {
        let batch = left.min(4096);
        let (lbas, sizes): (Vec<u32>, Vec<u16>) = (0..batch).map(|_| live[random.below(count) as usize]).unzip();
        drive.write_batch(&lbas, &sizes)?;
        left -= batch;
    }
    Ok(())
}

/// Writes what the model has in another size than the store, or not at all, in an order that is drawn. Returns how many
/// blocks.
fn agree(model: &mut Model, map: &Map, seed: u64) -> Result<u64, DriveError> {
    let compresses = matches!(model, Model::Compressing(_));
    let mut found = Vec::new();
    for lba in 0..map.blocks() {
        let entry = map.get(lba);
        let place = model.drive().locate(lba);
        let wanted = entry.length();
        let differs = match place {
            None => entry.is_stored() || (entry == Entry::ZEROS && !compresses),
            Some(place) => compresses && entry != Entry::UNMAPPED && place.bytes as usize != wanted,
        };
        if differs {
            found.push((lba, wanted as u16));
        }
    }
    if found.is_empty() {
        return Ok(0);
    }
    let order = Permutation::new(found.len() as u32, seed);
    let drawn = (0..found.len() as u32).map(|index| found[order.at(index) as usize]);
    let (lbas, sizes): (Vec<u32>, Vec<u16>) = drawn.unzip();
    with_drive!(model, drive => drive.write_batch(&lbas, &sizes))?;
    Ok(lbas.len() as u64)
}
