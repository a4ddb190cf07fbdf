//! The compressing drive against theory: formula 6 of FIFO logs, within 1 %.

mod support;

use flash::ageing::LiveShare;
use flash::input::{HeatClass, Input, Pattern, Redraw, SizeDistribution, Sizes};
use flash::random::Random;
use flash::theory::{compressed, fifo, greedy};
use flash::{Compressing, Drive, Policy, ageing};
use support::{assert_within, capacity, compressing, compressing_config, measured, uniform};

const BOUND: f64 = 0.01;

/// Measures uniform random writes whose sizes are drawn anew by `size(lba)`.
fn random_sizes(drive: &mut Compressing, mut size: impl FnMut(&mut Random, u32) -> u16) -> f64 {
    let blocks = drive.logical_blocks();
    let mut random = Random::new(17);
    let mut sizes = Random::new(19);
    ageing::fill(drive, 1.0, |lba| size(&mut sizes, lba)).unwrap();
    measured(drive, 5.0, 5.0, || {
        let lba = random.below(blocks);
        (lba, size(&mut random, lba))
    })
}

#[test]
fn every_block_alike() {
    for over_provisioning in [0.07, 0.28] {
        for fraction in [0.9, 0.75, 0.5, 0.4, 0.25] {
            let mut drive = compressing(4096, 64, over_provisioning, Policy::Fifo);
            let bytes = (4096.0 * fraction) as u16;
            let value = random_sizes(&mut drive, |_, _| bytes);
            let theory = compressed::uniform(1.0 + over_provisioning, f64::from(bytes) / 4096.0);
            assert_within(value, theory, BOUND, &format!("{fraction} at {over_provisioning}"));
        }
    }
}

#[test]
fn incompressible_data_make_it_a_page_mapped_drive() {
    for (policy, theory) in
        [(Policy::Fifo, fifo::write_amplification(1.07)), (Policy::Greedy, greedy::write_amplification(1.07, 64))]
    {
        let mut drive = compressing(8192, 64, 0.07, policy);
        assert_within(uniform(&mut drive, policy, 64), theory, 0.005, &format!("{policy:?}"));
    }
}

#[test]
fn sizes_of_a_continuous_distribution() {
    for over_provisioning in [0.07, 0.28] {
        let mut drive = compressing(8192, 64, over_provisioning, Policy::Fifo);
        let value = random_sizes(&mut drive, |random, _| (2048 + random.below(2049)) as u16);
        let class = compressed::Class { blocks: 1.0, writes: 1.0, bytes: 3072.0 };
        let theory = compressed::write_amplification(1.0 + over_provisioning, &[class]);
        assert_within(value, theory, BOUND, &format!("2 to 4 KiB at {over_provisioning}"));
    }
}

#[test]
fn sizes_that_depend_on_heat() {
    // A fifth of the blocks takes four fifths of the writes; its mean size and that of the others.
    for (hot_bytes, cold_bytes) in [(1024_u32, 3800_u32), (3800, 2048)] {
        let mut drive = compressing(8192, 64, 0.07, Policy::Fifo);
        let blocks = drive.logical_blocks();
        let hot = blocks / 5;
        let size = |random: &mut Random, lba: u32| {
            let mean = if lba < hot { hot_bytes } else { cold_bytes };
            (mean - 200 + random.below(401)) as u16
        };
        let mut random = Random::new(23);
        ageing::fill(&mut drive, 1.0, |lba| size(&mut random, lba)).unwrap();
        let value = measured(&mut drive, 8.0, 8.0, || {
            let lba = if random.unit() < 0.8 { random.below(hot) } else { hot + random.below(blocks - hot) };
            (lba, size(&mut random, lba))
        });
        let classes = [
            compressed::Class { blocks: 0.2, writes: 0.8, bytes: f64::from(hot_bytes) },
            compressed::Class { blocks: 0.8, writes: 0.2, bytes: f64::from(cold_bytes) },
        ];
        let theory = compressed::write_amplification(1.07, &classes);
        assert_within(value, theory, BOUND, &format!("hot {hot_bytes}, cold {cold_bytes}"));
    }
}

/// Each block keeps its size, the hottest compress worst, and no two are written equally often.
#[test]
fn a_zipf_load_whose_sizes_go_with_heat() {
    let (alpha, exponent) = (1.28, 0.9);
    let mut drive = compressing(4096, 64, alpha - 1.0, Policy::Fifo);
    let blocks = drive.logical_blocks();
    let class = |up_to, low, high| HeatClass {
        up_to,
        distribution: SizeDistribution::Quantiles(vec![(0.0, low), (0.7, 0.5 * (low + high)), (1.0, high)]),
    };
    let sizes = Sizes { classes: vec![class(0.1, 2500.0, 4096.0), class(1.0, 300.0, 3000.0)], redraw: Redraw::Never };
    let mut input = Input::whole_drive(blocks, Pattern::Zipf { exponent }, sizes, 7).unwrap();
    let kept = input.initial_sizes(blocks);
    ageing::fill(&mut drive, 1.0, |lba| kept[lba as usize].unwrap()).unwrap();
    input.apply(&mut drive, 8 * u64::from(blocks)).unwrap();
    let before = drive.counters();
    input.apply(&mut drive, 8 * u64::from(blocks)).unwrap();
    let value = drive.counters().since(&before).write_amplification().unwrap();
    let weight = |lba: usize| (lba as f64 + 1.0).powf(-exponent);
    let sum: f64 = (0..blocks as usize).map(weight).sum();
    let single = |(lba, bytes): (usize, &Option<u16>)| compressed::Class {
        blocks: 1.0 / f64::from(blocks),
        writes: weight(lba) / sum,
        bytes: f64::from(bytes.unwrap()),
    };
    let classes: Vec<compressed::Class> = kept.iter().enumerate().map(single).collect();
    assert_within(value, compressed::write_amplification(alpha, &classes), BOUND, "Zipf, sizes by heat");
}

#[test]
fn coarse_granules_are_larger_blocks() {
    // 2100 bytes in granules of 512 take 2560, of which 2100 are data and 460 padding.
    let mut config = compressing_config(capacity(8192, 64, 0.07, 2), Policy::Fifo);
    config.granularity = 512;
    let mut drive = Compressing::new(config).unwrap();
    let value = random_sizes(&mut drive, |_, _| 2100);
    assert_within(value, compressed::uniform(1.07, 2560.0 / 4096.0), BOUND, "2100 bytes in granules of 512");
}

#[test]
fn without_straddling_a_page_holds_whole_extents() {
    // Two extents of 1500 bytes fit into a flash page of 4096: each takes half a page.
    let mut config = compressing_config(capacity(8192, 64, 0.07, 2), Policy::Fifo);
    config.straddling = false;
    let mut drive = Compressing::new(config).unwrap();
    let value = random_sizes(&mut drive, |_, _| 1500);
    assert_within(value, compressed::uniform(1.07, 0.5), BOUND, "1500 bytes, two a page");
}

#[test]
fn greedy_in_bytes_is_not_blunted_by_its_buckets() {
    // Extents of one size make greedy in bytes greedy in units of that size, for which the formula is exact. 1 MiB
    // holds 256 pages; buckets are 256 bytes wide.
    let mut drive = compressing(4096, 256, 0.07, Policy::Greedy);
    let value = random_sizes(&mut drive, |_, _| 3072);
    let extents = 1_048_576.0_f64 / 3072.0;
    let theory = 0.75 * greedy::write_amplification(1.07 / 0.75, extents.round() as u32);
    assert_within(value, theory, BOUND, "3072 bytes, greedy");
}

#[test]
fn ageing_by_theory_counts_what_lies_on_flash() {
    // Granules, sizes drawn from so many bytes to so many, and their mean on flash.
    for (granularity, low, high, mean_bytes) in [(1, 2048_u32, 4096_u32, 3072.0), (512, 2100, 2100, 2560.0)] {
        let mut config = compressing_config(capacity(8192, 64, 0.07, 2), Policy::Fifo);
        config.granularity = granularity;
        let mut drive = Compressing::new(config).unwrap();
        let blocks = drive.logical_blocks();
        let mut sizes = Random::new(31);
        let mut size = || (low + sizes.below(high - low + 1)) as u16;
        let live_bytes = f64::from(blocks) * mean_bytes;
        let live = LiveShare::new(Policy::Fifo, drive.usable_bytes() as f64 / live_bytes, 64).unwrap();
        ageing::mean_field(&mut drive, &live, 1.0, |_| size(), 37).unwrap();
        let erased = drive.counters().blocks_erased;
        let usable_blocks = drive.usable_bytes() / 64 / 4096;
        assert!(erased < usable_blocks / 100, "{erased} blocks erased while ageing");
        let mut random = Random::new(41);
        // At once, a quarter of a turn: what fresh flash is left would show.
        let value = measured(&mut drive, 0.05, 0.25, || (random.below(blocks), size()));
        let theory = compressed::uniform(1.07, mean_bytes / 4096.0);
        assert_within(value, theory, 0.03, &format!("{low} to {high} bytes in granules of {granularity}"));
    }
}
