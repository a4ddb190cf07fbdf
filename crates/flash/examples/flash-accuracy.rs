//! `flash-accuracy [blocks [shapes [seed]]]`: the models against theory, as a table. Fails if a row is off its bound.
//!
//! Drives have 16384 blocks of user data unless another number is given. Each starts at the mean field or filled, is
//! overwritten for a while and then measured. With 16384 blocks the table takes some minutes, 600 MiB. With `shapes`,
//! so many rows come in its place whose policy, block size and over-provisioning (5 % or more) are drawn, so that
//! the model cannot have been fitted to them.

use std::process::ExitCode;

use flash::ageing::{LiveShare, fill, mean_field, overwrite};
use flash::pools::Pools;
use flash::random::Random;
use flash::theory::{compressed, d_choices, fifo, greedy, independent, separation};
use flash::{
    Capacity, Compressing, CompressingConfig, Drive, FlashError, Geometry, OverProvisioning, PageMapped,
    PageMappedConfig, Policy, Streams, Throttling,
};
use independent::Class;

const PAGE_MAPPED_BOUND: f64 = 0.005;
const OTHER_BOUND: f64 = 0.01;

struct Table {
    blocks: u32,
    misses: u32,
}

impl Table {
    fn row(&mut self, what: &str, simulated: f64, theory: f64, bound: f64) {
        let deviation = simulated / theory - 1.0;
        let verdict = if deviation.abs() <= bound { "ok" } else { "MISS" };
        self.misses += u32::from(deviation.abs() > bound);
        let (deviation, bound) = (deviation * 100.0, bound * 100.0);
        println!("{what:<52} {simulated:>9.4} {theory:>9.4} {deviation:>+8.3} % {bound:>5.1} % {verdict}");
    }

    fn capacity(&self, pages: u32, over_provisioning: f64, reserve: u32) -> Result<Capacity, FlashError> {
        let user_bytes = u64::from(self.blocks) * u64::from(pages) * 4096;
        Capacity::of_user(Geometry::plain(pages), user_bytes, OverProvisioning::of_user(over_provisioning)?, reserve)
    }

    fn page_mapped(&self, pages: u32, over_provisioning: f64, policy: Policy) -> Result<PageMapped, FlashError> {
        let capacity = self.capacity(pages, over_provisioning, 1)?;
        PageMapped::new(PageMappedConfig { capacity, policy, streams: Streams::ONE, wear_levelling: None, seed: 1 })
    }

    fn compressing(&self, pages: u32, over_provisioning: f64) -> Result<Compressing, FlashError> {
        let capacity = self.capacity(pages, over_provisioning, 2)?;
        Compressing::new(CompressingConfig {
            capacity,
            logical_blocks: capacity.user_blocks(),
            granularity: 1,
            straddling: true,
            policy: Policy::Fifo,
            streams: Streams::ONE,
            wear_levelling: None,
            throttling: Throttling::default(),
            seed: 1,
        })
    }

    fn uniform(&mut self, policy: Policy, pages: u32, over_provisioning: f64) -> Result<(), FlashError> {
        let alpha = 1.0 + over_provisioning;
        let theory = match policy {
            Policy::Fifo => fifo::write_amplification(alpha),
            Policy::DChoices { d } => d_choices::write_amplification(alpha, pages, d),
            Policy::Random => alpha / over_provisioning,
            Policy::Greedy | Policy::CostBenefit => greedy::write_amplification(alpha, pages),
        };
        let mut drive = self.page_mapped(pages, over_provisioning, policy)?;
        mean_field(&mut drive, &LiveShare::new(policy, alpha, pages)?, 1.0, |_| 4096, 5)?;
        let mut random = Random::new(11);
        overwrite(&mut drive, 1.0, 2.0, |_| 4096, &mut random)?;
        let before = drive.counters();
        // Random victims differ most from each other: over three drive writes, chance alone moves the mean by 0.2 %.
        let drive_writes = if policy == Policy::Random { 12.0 } else { 3.0 };
        overwrite(&mut drive, 1.0, drive_writes, |_| 4096, &mut random)?;
        let what = format!("uniform, {policy:?}, {pages} pages, {:.1} %", over_provisioning * 100.0);
        self.row(&what, amplification(&drive, before), theory, PAGE_MAPPED_BOUND);
        Ok(())
    }

    fn hot_cold(&mut self, over_provisioning: f64, pages: f64, writes: f64) -> Result<(), FlashError> {
        let classes = hot_cold_classes(pages, writes);
        let mut drive = self.page_mapped(64, over_provisioning, Policy::Fifo)?;
        let value = measure(&mut drive, hot_cold_writes(pages, writes), |_, _| 4096)?;
        let theory = independent::write_amplification(1.0 + over_provisioning, &classes);
        let what = format!("hot/cold {pages}/{writes}, Fifo, {:.0} %", over_provisioning * 100.0);
        self.row(&what, value, theory, PAGE_MAPPED_BOUND);
        let alphas = separation::optimal_alphas(1.0 + over_provisioning, &classes);
        let hot = (f64::from(drive.logical_blocks()) * pages) as u32;
        let cold = drive.logical_blocks() - hot;
        let pool = |blocks: u32, alpha: f64| {
            let over_provisioning = OverProvisioning::of_user(alpha - 1.0)?;
            let capacity = Capacity::of_user(Geometry::plain(64), u64::from(blocks) * 4096, over_provisioning, 1)?;
            let streams = Streams::ONE;
            PageMapped::new(PageMappedConfig { capacity, policy: Policy::Fifo, streams, wear_levelling: None, seed: 1 })
        };
        let mut drive = Pools::new(vec![pool(hot, alphas[0])?, pool(cold, alphas[1])?])?;
        let value = measure(&mut drive, hot_cold_writes(pages, writes), |_, _| 4096)?;
        let what = format!("hot/cold {pages}/{writes}, best pools, {:.0} %", over_provisioning * 100.0);
        self.row(&what, value, separation::write_amplification(&classes, &alphas), OTHER_BOUND);
        Ok(())
    }

    fn zipf(&mut self, over_provisioning: f64, exponent: f64) -> Result<(), FlashError> {
        let mut drive = self.page_mapped(64, over_provisioning, Policy::Fifo)?;
        let blocks = drive.logical_blocks();
        // Ranks drawn by inverting the cumulated law.
        let mut cumulated: Vec<f64> = (1..=blocks).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let mut sum = 0.0;
        for weight in &mut cumulated {
            sum += *weight;
            *weight = sum;
        }
        let draw = |random: &mut Random, _: u32| {
            let target = random.unit() * sum;
            cumulated.partition_point(|&below| below <= target).min(cumulated.len() - 1) as u32
        };
        let value = measure(&mut drive, draw, |_, _| 4096)?;
        let theory =
            independent::write_amplification(1.0 + over_provisioning, &independent::zipf(u64::from(blocks), exponent));
        self.row(
            &format!("Zipf {exponent}, Fifo, {:.0} %", over_provisioning * 100.0),
            value,
            theory,
            PAGE_MAPPED_BOUND,
        );
        Ok(())
    }

    fn compression(&mut self, over_provisioning: f64) -> Result<(), FlashError> {
        let per_cent = over_provisioning * 100.0;
        let uniform = |random: &mut Random, blocks: u32| random.below(blocks);
        for fraction in [0.9, 0.75, 0.5, 0.4, 0.25] {
            let bytes = (4096.0 * fraction) as u16;
            let mut drive = self.compressing(64, over_provisioning)?;
            let value = measure(&mut drive, uniform, |_, _| bytes)?;
            let theory = compressed::uniform(1.0 + over_provisioning, f64::from(bytes) / 4096.0);
            self.row(&format!("compressed to {fraction}, {per_cent:.0} %"), value, theory, OTHER_BOUND);
        }
        let mut drive = self.compressing(64, over_provisioning)?;
        let value = measure(&mut drive, uniform, |random, _| (2048 + random.below(2049)) as u16)?;
        let theory = compressed::uniform(1.0 + over_provisioning, 0.75);
        self.row(&format!("compressed to 0.5 … 1, {per_cent:.0} %"), value, theory, OTHER_BOUND);
        for (hot_bytes, cold_bytes) in [(1024, 3600), (3600, 1024)] {
            let mut drive = self.compressing(64, over_provisioning)?;
            let hot = drive.logical_blocks() / 5;
            let value = measure(&mut drive, hot_cold_writes(0.2, 0.8), |random, lba| {
                (if lba < hot { hot_bytes } else { cold_bytes } - 200 + random.below(401)) as u16
            })?;
            let class = |blocks, writes, bytes: u32| compressed::Class { blocks, writes, bytes: f64::from(bytes) };
            let classes = [class(0.2, 0.8, hot_bytes), class(0.8, 0.2, cold_bytes)];
            let theory = compressed::write_amplification(1.0 + over_provisioning, &classes);
            let what = format!("0.2/0.8 hot, {hot_bytes} B hot, {cold_bytes} B cold, {per_cent:.0} %");
            self.row(&what, value, theory, OTHER_BOUND);
        }
        Ok(())
    }
}

fn amplification(drive: &impl Drive, before: flash::Counters) -> f64 {
    drive.counters().since(&before).write_amplification().unwrap_or(f64::NAN)
}

fn hot_cold_classes(pages: f64, writes: f64) -> [Class; 2] {
    [Class { pages, writes }, Class { pages: 1.0 - pages, writes: 1.0 - writes }]
}

fn hot_cold_writes(pages: f64, writes: f64) -> impl Fn(&mut Random, u32) -> u32 {
    move |random, blocks| {
        let hot = (f64::from(blocks) * pages) as u32;
        if random.unit() < writes { random.below(hot) } else { hot + random.below(blocks - hot) }
    }
}

/// Fills a drive, writes six drive writes without looking and measures over six.
fn measure<D: Drive>(
    drive: &mut D,
    address: impl Fn(&mut Random, u32) -> u32,
    size: impl Fn(&mut Random, u32) -> u16,
) -> Result<f64, FlashError> {
    let blocks = drive.logical_blocks();
    let mut random = Random::new(29);
    fill(drive, 1.0, |lba| size(&mut random, lba))?;
    let mut write = |drive: &mut D| -> Result<(), FlashError> {
        let mut left = 6 * u64::from(blocks);
        while left > 0 {
            let batch = (0..left.min(4096)).map(|_| {
                let lba = address(&mut random, blocks);
                (lba, size(&mut random, lba))
            });
            let (lbas, sizes): (Vec<u32>, Vec<u16>) = batch.unzip();
            drive.write_batch(&lbas, &sizes)?;
            left -= lbas.len() as u64;
        }
        Ok(())
    };
    write(drive)?;
    let before = drive.counters();
    write(drive)?;
    Ok(amplification(drive, before))
}

fn all(table: &mut Table) -> Result<(), FlashError> {
    for over_provisioning in [0.07, 0.28] {
        table.uniform(Policy::Fifo, 256, over_provisioning)?;
        for pages in [64, 256, 1024] {
            table.uniform(Policy::Greedy, pages, over_provisioning)?;
        }
        for d in [2, 4, 8, 16] {
            table.uniform(Policy::DChoices { d }, 256, over_provisioning)?;
        }
        table.uniform(Policy::Random, 64, over_provisioning)?;
    }
    for (policy, pages, over_provisioning) in [
        (Policy::Greedy, 100, 0.05),
        (Policy::Greedy, 32, 0.125),
        (Policy::Greedy, 384, 0.22),
        (Policy::Fifo, 48, 0.05),
        (Policy::DChoices { d: 3 }, 96, 0.15),
        (Policy::DChoices { d: 30 }, 128, 0.5),
    ] {
        table.uniform(policy, pages, over_provisioning)?;
    }
    for over_provisioning in [0.07, 0.28] {
        table.hot_cold(over_provisioning, 0.2, 0.8)?;
        table.hot_cold(over_provisioning, 0.1, 0.9)?;
        table.zipf(over_provisioning, 0.8)?;
        table.zipf(over_provisioning, 1.1)?;
        table.compression(over_provisioning)?;
    }
    Ok(())
}

/// Shapes drawn at random.
fn drawn(table: &mut Table, shapes: u32, seed: u64) -> Result<(), FlashError> {
    let mut random = Random::new(seed);
    for _ in 0..shapes {
        let policy = match random.below(5) {
            0 => Policy::Fifo,
            1 | 2 => Policy::Greedy,
            3 => Policy::DChoices { d: 1 + random.below(40) },
            _ => Policy::Random,
        };
        // Most drives have little to spare, so do most of these: 5 % to 105 %.
        let over_provisioning = 0.05 + random.unit().powi(2);
        table.uniform(policy, 8 + random.below(505), over_provisioning)?;
    }
    Ok(())
}

/// Blocks, shapes to draw, and the seed to draw them with.
fn arguments() -> Option<(u32, u32, u64)> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: u64| given.get(place).map_or(Some(usual), |text| text.parse().ok());
    let (blocks, shapes, seed) = (number(0, 16_384)?, number(1, 0)?, number(2, 1)?);
    let whole = given.len() <= 3 && blocks > 0;
    Some((u32::try_from(blocks).ok()?, u32::try_from(shapes).ok()?, seed)).filter(|_| whole)
}

fn main() -> ExitCode {
    let Some((blocks, shapes, seed)) = arguments() else {
        eprintln!("error: blocks, shapes and seed must be whole numbers");
        eprintln!("hint: usage: flash-accuracy [blocks [shapes [seed]]]");
        return ExitCode::from(2);
    };
    let mut table = Table { blocks, misses: 0 };
    println!("{:<52} {:>9} {:>9} {:>10} {:>7}", format!("{blocks} blocks"), "model", "theory", "deviation", "bound");
    let done = if shapes > 0 { drawn(&mut table, shapes, seed) } else { all(&mut table) };
    match done {
        Ok(()) if table.misses == 0 => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
