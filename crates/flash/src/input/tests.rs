//! The loads against their laws: chi-square tests, permutations, and refusals that name the value.

use super::*;
use proptest::prelude::*;

const BLOCKS: u32 = 1 << 14;

/// How often each block is written in `writes` writes.
fn frequencies(input: &mut Input, writes: usize) -> Vec<u32> {
    let mut counts = vec![0; BLOCKS as usize];
    let mut batch = Batch::default();
    input.fill(&mut batch, writes);
    batch.lbas.iter().for_each(|&lba| counts[lba as usize] += 1);
    counts
}

/// Pearson's statistic in standard deviations from its mean: a true distribution stays within a few.
fn chi_square_deviations(observed: &[u32], expected: &[f64]) -> f64 {
    let statistic: f64 =
        observed.iter().zip(expected).map(|(&count, &mean)| (f64::from(count) - mean).powi(2) / mean).sum();
    let freedom = observed.len() as f64 - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn zipf_follows_its_law() {
    for exponent in [0.5, 0.99, 1.0, 1.5] {
        let zipf = Zipf::new(1000, exponent).unwrap();
        let mut random = Random::new(7);
        let mut counts = [0; 1000];
        let draws = 4_000_000;
        (0..draws).for_each(|_| counts[zipf.draw(&mut random) as usize] += 1);
        let weights: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let expected: Vec<f64> = weights.iter().map(|weight| weight / sum * f64::from(draws)).collect();
        let deviations = chi_square_deviations(&counts, &expected);
        assert!(deviations.abs() < 4.0, "exponent {exponent}: {deviations} standard deviations");
    }
}

#[test]
fn zipf_runs_sum_to_the_law() {
    let exponent = 0.8;
    let runs = Zipf::new(100_000, exponent).unwrap().runs();
    let sum: f64 = (1..=100_000).map(|rank| f64::from(rank).powf(-exponent)).sum();
    let mut next = 0;
    for (first, ranks, probability) in runs {
        assert_eq!(first, next);
        next = first + ranks;
        let exact: f64 = (first..next).map(|rank| f64::from(rank + 1).powf(-exponent)).sum::<f64>() / sum;
        assert!((probability / exact - 1.0).abs() < 1e-5, "ranks from {first}: {probability} for {exact}");
    }
    assert_eq!(next, 100_000);
}

#[test]
fn hot_cold_splits_the_writes() {
    let pattern = Pattern::HotCold { hot_blocks: 0.2, hot_writes: 0.8 };
    let mut input = Input::whole_drive(BLOCKS, pattern, Sizes::incompressible(), 1).unwrap();
    let counts = frequencies(&mut input, 1_000_000);
    let hot = f64::from(counts[..3277].iter().sum::<u32>()) / 1e6;
    assert!((hot - 0.8).abs() < 0.002, "{hot}");
    let expected = vec![1e6 * hot / 3277.0; 3277];
    assert!(chi_square_deviations(&counts[..3277], &expected).abs() < 4.0);
}

#[test]
fn sequential_wraps_and_scatters_never() {
    let mut input = Input::whole_drive(3, Pattern::Sequential, Sizes::incompressible(), 1).unwrap();
    let mut batch = Batch::default();
    input.fill(&mut batch, 7);
    assert_eq!(batch.lbas, [0, 1, 2, 0, 1, 2, 0]);
    let mut component = Component::whole_drive(3, Pattern::Sequential, Sizes::incompressible());
    component.placement = Placement::Scattered;
    assert!(Input::new(3, vec![component], 1).unwrap_err().to_string().contains("sequential"));
}

#[test]
fn sizes_follow_heat_and_stay_with_their_block() {
    let sizes = Sizes {
        classes: vec![
            HeatClass { up_to: 0.25, distribution: SizeDistribution::Uniform(1000, 2000) },
            HeatClass { up_to: 1.0, distribution: SizeDistribution::Discrete(vec![(300, 1.0), (400, 3.0)]) },
        ],
        redraw: Redraw::Never,
    };
    let mut component = Component::whole_drive(BLOCKS, Pattern::Zipf { exponent: 0.9 }, sizes);
    component.placement = Placement::Scattered;
    let mut input = Input::new(BLOCKS, vec![component], 3).unwrap();
    let initial = input.initial_sizes(BLOCKS);
    let mut batch = Batch::default();
    input.fill(&mut batch, 100_000);
    for (&lba, &bytes) in batch.lbas.iter().zip(&batch.compressed_bytes) {
        assert_eq!(initial[lba as usize], Some(bytes));
    }
    let hot: Vec<u16> = initial.iter().flatten().copied().filter(|&bytes| bytes >= 1000).collect();
    assert_eq!(hot.len(), BLOCKS as usize / 4);
    let mean = hot.iter().map(|&bytes| f64::from(bytes)).sum::<f64>() / hot.len() as f64;
    assert!((mean - 1500.0).abs() < 20.0, "{mean}");
}

#[test]
fn quantiles_are_met() {
    let distribution = SizeDistribution::Quantiles(vec![(0.0, 100.0), (0.5, 500.0), (1.0, 3000.0)]);
    // Two straight pieces: means 300 and 1750, each half of the blocks.
    assert!((distribution.mean_bytes(1).unwrap() - 1025.0).abs() < 1.0);
    let sampler = distribution.sampler().unwrap();
    assert!((i32::from(sampler.draw(1 << 63)) - 500).abs() <= 2);
    assert!((i32::from(sampler.draw(u64::MAX)) - 3000).abs() <= 2);
}

#[test]
fn means_are_of_whole_granules() {
    let mean = |distribution: SizeDistribution, granularity| distribution.mean_bytes(granularity).unwrap();
    assert_eq!(mean(SizeDistribution::Constant(65), 64), 128.0);
    assert_eq!(mean(SizeDistribution::Constant(0), 64), 0.0);
    assert_eq!(mean(SizeDistribution::Discrete(vec![(300, 1.0), (400, 3.0)]), 128), 480.0);
    // Half of 1 … 128 becomes 64, the other half 128.
    assert_eq!(mean(SizeDistribution::Uniform(1, 128), 64), 96.0);
}

#[test]
fn popularity_sums_to_one_and_knows_its_limits() {
    let hot = Component {
        share_of_writes: 3.0,
        blocks: 1000,
        ..Component::whole_drive(BLOCKS, Pattern::Zipf { exponent: 1.1 }, Sizes::incompressible())
    };
    let rest = Component {
        share_of_writes: 1.0,
        first_block: 1000,
        blocks: BLOCKS - 1000,
        ..Component::whole_drive(BLOCKS, Pattern::Uniform, Sizes::same(SizeDistribution::Uniform(0, 4096)))
    };
    let classes = Input::new(BLOCKS, vec![hot.clone(), rest.clone()], 1).unwrap().popularity(1).unwrap();
    let sum = |value: fn(&PopularityClass) -> f64| classes.iter().map(value).sum::<f64>();
    assert!((sum(|class| class.writes) - 1.0).abs() < 1e-9);
    assert!((sum(|class| class.blocks) - f64::from(BLOCKS)).abs() < 1e-6);
    assert_eq!(classes.last().unwrap().writes, 0.25);
    assert_eq!(classes.last().unwrap().mean_bytes, 2048.0);
    let overlapping = Component { first_block: 999, ..rest };
    assert!(Input::new(BLOCKS, vec![hot, overlapping], 1).unwrap().popularity(1).is_none());
}

#[test]
fn a_mixture_keeps_shares_ranges_and_handles() {
    let log = Component {
        share_of_writes: 1.0,
        blocks: 100,
        handle: 1,
        ..Component::whole_drive(BLOCKS, Pattern::Sequential, Sizes::incompressible())
    };
    let table = Component {
        share_of_writes: 3.0,
        first_block: 100,
        blocks: 1000,
        ..Component::whole_drive(BLOCKS, Pattern::Uniform, Sizes::incompressible())
    };
    let mut input = Input::new(BLOCKS, vec![log, table], 5).unwrap();
    let mut batch = Batch::default();
    input.fill(&mut batch, 100_000);
    let logged: Vec<u32> =
        batch.lbas.iter().zip(&batch.handles).filter(|&(_, &handle)| handle == 1).map(|(&lba, _)| lba).collect();
    assert!((logged.len() as f64 / 1e5 - 0.25).abs() < 0.01);
    assert!(logged.iter().enumerate().all(|(number, &lba)| lba == number as u32 % 100));
    assert!(batch.lbas.iter().zip(&batch.handles).all(|(&lba, &handle)| handle == 1 || (100..1100).contains(&lba)));
}

#[test]
fn wrong_descriptions_say_which_value_and_why() {
    let build = |pattern, sizes| Input::whole_drive(BLOCKS, pattern, sizes, 1).unwrap_err().to_string();
    let plain = Sizes::incompressible;
    assert!(build(Pattern::Zipf { exponent: 0.0 }, plain()).contains("zipf exponent 0"));
    assert!(build(Pattern::HotCold { hot_blocks: 1.0, hot_writes: 0.5 }, plain()).contains("hot blocks 1"));
    assert!(build(Pattern::HotCold { hot_blocks: 0.1, hot_writes: f64::NAN }, plain()).contains("NaN"));
    let size = |distribution| build(Pattern::Uniform, Sizes::same(distribution));
    assert!(size(SizeDistribution::Constant(4097)).contains("4097"));
    assert!(size(SizeDistribution::Uniform(9, 8)).contains("exceeds the largest, 8"));
    assert!(size(SizeDistribution::Discrete(vec![])).contains("sum"));
    assert!(size(SizeDistribution::Quantiles(vec![(0.0, 1.0)])).contains("share 1"));
    let short = Sizes {
        classes: vec![HeatClass { up_to: 0.5, distribution: SizeDistribution::Constant(1) }],
        redraw: Redraw::Never,
    };
    assert!(build(Pattern::Uniform, short).contains("last heat class 0.5"));
    let beyond = Component { first_block: 1, ..Component::whole_drive(BLOCKS, Pattern::Uniform, plain()) };
    assert_eq!(
        Input::new(BLOCKS, vec![beyond], 1).unwrap_err(),
        FlashError::PastEnd { lba: u64::from(BLOCKS), logical_blocks: BLOCKS }
    );
    assert!(Input::new(BLOCKS, vec![], 1).is_err());
}

proptest! {
    #[test]
    fn scatter_is_a_permutation(count in 1_u32..5000) {
        let scatter = scatter::Scatter::new(count);
        let mut seen = vec![false; count as usize];
        for rank in 0..count {
            let place = scatter.place(rank) as usize;
            prop_assert!(!seen[place]);
            seen[place] = true;
        }
    }

    #[test]
    fn scatter_stays_in_range_at_the_far_end(count in 1_u32..=u32::MAX, rank in any::<u32>()) {
        let scatter = scatter::Scatter::new(count);
        prop_assert!(scatter.place(rank % count) < count);
        prop_assert!(scatter.place(count - 1) < count);
    }

    #[test]
    fn alias_meets_its_weights(weights in proptest::collection::vec(0_u32..100, 1..40)) {
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let sum: f64 = weights.iter().sum();
        prop_assume!(sum > 0.0);
        let table = AliasTable::new(&weights).unwrap();
        // Evenly spaced bits stand for all bits: each weight is met to within a few of the 2^16 points a slot.
        let mut counts = vec![0_u32; weights.len()];
        (0..1_u64 << 18).for_each(|point| counts[table.draw(point << 46)] += 1);
        for (count, weight) in counts.iter().zip(&weights) {
            let deviation = (f64::from(*count) / f64::from(1 << 18) - weight / sum).abs();
            prop_assert!(deviation < 1e-3, "{deviation} for {weights:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_writes(seed in any::<u64>(), cut in 0_usize..500) {
        let pattern = Pattern::Zipf { exponent: 0.7 };
        let sizes = Sizes::same(SizeDistribution::Uniform(1, 4096));
        let make = || Input::whole_drive(BLOCKS, pattern, sizes.clone(), seed).unwrap();
        let (mut whole, mut first, mut second) = (Batch::default(), Batch::default(), Batch::default());
        make().fill(&mut whole, 500);
        let mut input = make();
        input.fill(&mut first, cut);
        input.fill(&mut second, 500 - cut);
        first.lbas.extend(second.lbas);
        first.compressed_bytes.extend(second.compressed_bytes);
        prop_assert_eq!(whole, first);
    }
}
