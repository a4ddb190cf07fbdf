//! The page-mapped drive against theory, within 0.5 %.

mod support;

use flash::input::{Input, Pattern, PopularityClass, Sizes};
use flash::pools::Pools;
use flash::random::Random;
use flash::streams::GcStream;
use flash::theory::independent::Class;
use flash::theory::{d_choices, fifo, greedy, independent, separation};
use flash::{Drive, PageMapped, Policy, Streams, ageing};
use support::{assert_within, capacity, measured, page_mapped, page_mapped_config, uniform, uniform_over};

const BOUND: f64 = 0.005;

#[test]
fn greedy_with_the_published_values() {
    let expected = [(64, 0.07, 7.0099), (256, 0.07, 7.5969), (64, 0.28, 2.4028), (256, 0.28, 2.4610)];
    for (pages, over_provisioning, expected) in expected {
        let mut drive = page_mapped(16_384, pages, over_provisioning, Policy::Greedy);
        let value = uniform(&mut drive, Policy::Greedy, pages);
        assert_within(value, expected, BOUND, &format!("greedy, {pages} pages, {over_provisioning}"));
    }
}

/// 64 GiB each, so that there are as many blocks as in the others.
#[test]
fn greedy_with_the_published_values_of_large_blocks() {
    for (over_provisioning, expected) in [(0.07, 7.7605), (0.28, 2.4762)] {
        let mut drive = page_mapped(16_384, 1024, over_provisioning, Policy::Greedy);
        let value = uniform_over(&mut drive, Policy::Greedy, 1024, 0.25, 0.5);
        assert_within(value, expected, BOUND, &format!("greedy, 1024 pages, {over_provisioning}"));
    }
}

#[test]
fn fifo_with_the_published_values() {
    for (over_provisioning, expected) in [(0.07, 7.8172), (0.28, 2.4814)] {
        let mut drive = page_mapped(16_384, 64, over_provisioning, Policy::Fifo);
        assert_within(uniform(&mut drive, Policy::Fifo, 64), expected, BOUND, &format!("FIFO, {over_provisioning}"));
    }
}

#[test]
fn two_choices_with_the_published_values() {
    let policy = Policy::DChoices { d: 2 };
    for (over_provisioning, expected) in [(0.07, 10.5835), (0.28, 3.2742)] {
        let mut drive = page_mapped(16_384, 256, over_provisioning, policy);
        assert_within(uniform(&mut drive, policy, 256), expected, BOUND, &format!("d = 2, {over_provisioning}"));
    }
}

#[test]
fn other_shapes_follow_the_formulas() {
    let (odd, small) = (96, 17);
    let cases = [
        (Policy::Greedy, odd, 0.05, greedy::write_amplification(1.05, odd)),
        (Policy::Greedy, small, 0.15, greedy::write_amplification(1.15, small)),
        (Policy::Greedy, small, 1.3, greedy::write_amplification(2.3, small)),
        (Policy::Fifo, odd, 0.05, fifo::write_amplification(1.05)),
        (Policy::Fifo, small, 0.5, fifo::write_amplification(1.5)),
        (Policy::DChoices { d: 5 }, odd, 0.1, d_choices::write_amplification(1.1, odd, 5)),
        (Policy::DChoices { d: 20 }, small, 0.2, d_choices::write_amplification(1.2, small, 20)),
        (Policy::Random, small, 0.28, 1.28 / 0.28),
    ];
    for (policy, pages, over_provisioning, theory) in cases {
        let mut drive = page_mapped(16_384, pages, over_provisioning, policy);
        let value = uniform(&mut drive, policy, pages);
        assert_within(value, theory, BOUND, &format!("{policy:?}, {pages} pages, {over_provisioning}"));
    }
}

#[test]
fn the_reserve_and_open_blocks_are_no_spare_flash() {
    let theory = greedy::write_amplification(1.07, 64);
    for (reserve, streams) in
        [(40, Streams::ONE), (1, Streams::TWO), (7, Streams::new(8, GcStream::PerHandle).unwrap())]
    {
        let config = page_mapped_config(capacity(8192, 64, 0.07, reserve), Policy::Greedy, streams);
        let mut drive = PageMapped::new(config).unwrap();
        let value = uniform(&mut drive, Policy::Greedy, 64);
        assert_within(value, theory, BOUND, &format!("{reserve} reserve blocks, {streams:?}"));
    }
}

fn hot_cold(random: &mut Random, hot: u32, blocks: u32, hot_writes: f64) -> u32 {
    if random.unit() < hot_writes { random.below(hot) } else { hot + random.below(blocks - hot) }
}

#[test]
fn hot_and_cold_under_fifo() {
    for (over_provisioning, pages, writes) in [(0.07, 0.2, 0.8), (0.07, 0.1, 0.9), (0.28, 0.2, 0.8), (0.28, 0.1, 0.9)] {
        let mut drive = page_mapped(16_384, 32, over_provisioning, Policy::Fifo);
        let blocks = drive.logical_blocks();
        let hot = (f64::from(blocks) * pages) as u32;
        let mut random = Random::new(3);
        ageing::fill(&mut drive, 1.0, |_| 4096).unwrap();
        let value = measured(&mut drive, 6.0, 6.0, || (hot_cold(&mut random, hot, blocks, writes), 4096));
        let classes = [Class { pages, writes }, Class { pages: 1.0 - pages, writes: 1.0 - writes }];
        let theory = independent::write_amplification(1.0 + over_provisioning, &classes);
        assert_within(value, theory, BOUND, &format!("{pages}/{writes} at {over_provisioning}"));
    }
}

#[test]
fn zipf_under_fifo() {
    for (over_provisioning, exponent) in [(0.07, 0.8), (0.07, 1.1), (0.28, 0.8), (0.28, 1.1)] {
        let mut drive = page_mapped(16_384, 32, over_provisioning, Policy::Fifo);
        let blocks = drive.logical_blocks();
        let mut input = Input::whole_drive(blocks, Pattern::Zipf { exponent }, Sizes::incompressible(), 3).unwrap();
        ageing::fill(&mut drive, 1.0, |_| 4096).unwrap();
        input.apply(&mut drive, 6 * u64::from(blocks)).unwrap();
        let before = drive.counters();
        input.apply(&mut drive, 6 * u64::from(blocks)).unwrap();
        let value = drive.counters().since(&before).write_amplification().unwrap();
        let alpha = 1.0 + over_provisioning;
        let theory = independent::write_amplification(alpha, &independent::zipf(blocks.into(), exponent));
        assert_within(value, theory, BOUND, &format!("Zipf {exponent} at {over_provisioning}"));
        // What an input says about itself is the same law.
        let share = |class: &PopularityClass| Class { pages: class.blocks / f64::from(blocks), writes: class.writes };
        let classes: Vec<Class> = input.popularity(1).unwrap().iter().map(share).collect();
        assert_within(independent::write_amplification(alpha, &classes), theory, 1e-4, "the input's own classes");
    }
}

#[test]
fn what_is_trimmed_or_never_written_is_spare_flash() {
    let theory = fifo::write_amplification(1.07 / 0.5);
    let mut drive = page_mapped(16_384, 32, 0.07, Policy::Fifo);
    let half = drive.logical_blocks() / 2;
    ageing::fill(&mut drive, 1.0, |_| 4096).unwrap();
    drive.trim(half, half).unwrap();
    let mut random = Random::new(3);
    let value = measured(&mut drive, 3.0, 3.0, || (random.below(half), 4096));
    assert_within(value, theory, BOUND, "half of the drive trimmed");

    let mut drive = page_mapped(16_384, 32, 0.07, Policy::Fifo);
    let live = ageing::LiveShare::new(Policy::Fifo, 1.07 / 0.5, 32).unwrap();
    ageing::mean_field(&mut drive, &live, 0.5, |_| 4096, 5).unwrap();
    let value = measured(&mut drive, 1.0, 3.0, || (random.below(half), 4096));
    assert_within(value, theory, BOUND, "half of the drive in use");
}

#[test]
fn separate_pools() {
    let (pages, writes) = (0.2, 0.8);
    let classes = [Class { pages, writes }, Class { pages: 1.0 - pages, writes: 1.0 - writes }];
    let best = |alpha| separation::optimal_alphas(alpha, &classes);
    for alphas in [best(1.07), best(1.28), vec![1.28, 1.28], vec![1.5, 1.225]] {
        let pool = |blocks, alpha: f64| {
            let config = page_mapped_config(capacity(blocks, 32, alpha - 1.0, 1), Policy::Fifo, Streams::ONE);
            PageMapped::new(config).unwrap()
        };
        let mut drive = Pools::new(vec![pool(3277, alphas[0]), pool(13_107, alphas[1])]).unwrap();
        let blocks = drive.logical_blocks();
        let hot = drive.drives()[0].logical_blocks();
        let mut random = Random::new(3);
        ageing::fill(&mut drive, 1.0, |_| 4096).unwrap();
        let value = measured(&mut drive, 6.0, 6.0, || (hot_cold(&mut random, hot, blocks, writes), 4096));
        let theory = separation::write_amplification(&classes, &alphas);
        assert_within(value, theory, 0.01, &format!("pools with {alphas:?}"));
    }
}

#[test]
fn hot_and_cold_streams_beat_one_stream() {
    let simulated = |streams| {
        let config = page_mapped_config(capacity(4096, 32, 0.28, 1), Policy::Greedy, streams);
        let mut drive = PageMapped::new(config).unwrap();
        let blocks = drive.logical_blocks();
        let hot = blocks / 10;
        let mut random = Random::new(3);
        ageing::fill(&mut drive, 1.0, |_| 4096).unwrap();
        let mut write = |drive: &mut PageMapped, count: u32| {
            for _ in 0..count {
                let lba = hot_cold(&mut random, hot, blocks, 0.9);
                let handle = u8::from(lba < hot) % streams.handles();
                drive.write_placed(lba, 4096, handle).unwrap();
            }
        };
        write(&mut drive, 6 * blocks);
        let before = drive.counters();
        write(&mut drive, 6 * blocks);
        drive.counters().since(&before).write_amplification().unwrap()
    };
    let (one, hot_cold) = (simulated(Streams::ONE), simulated(Streams::HOT_COLD));
    let classes = [Class { pages: 0.1, writes: 0.9 }, Class { pages: 0.9, writes: 0.1 }];
    let fixed_shares = separation::write_amplification(&classes, &[1.28, 1.28]);
    // Greedy over both streams gives the hot one more flash than its share, though less than would be best.
    let best = separation::write_amplification(&classes, &separation::optimal_alphas(1.28, &classes));
    assert!(
        best < hot_cold && hot_cold < fixed_shares && fixed_shares < one,
        "{hot_cold} in two streams, {one} in one"
    );
}

#[test]
fn cost_benefit_is_greedy_for_uniform_writes_and_better_for_hot_and_cold() {
    let mut drive = page_mapped(2048, 64, 0.28, Policy::CostBenefit);
    let value = uniform(&mut drive, Policy::CostBenefit, 64);
    let (best, worst) = (greedy::write_amplification(1.28, 64), fifo::write_amplification(1.28));
    assert!(value > 0.995 * best && value < 1.005 * worst, "{value} is not between {best} and {worst}");

    // What garbage collection moves is cold; in a stream of its own it can be told from what the host writes.
    let heated = |policy| {
        let config = page_mapped_config(capacity(2048, 64, 0.28, 1), policy, Streams::TWO);
        let mut drive = PageMapped::new(config).unwrap();
        let blocks = drive.logical_blocks();
        let mut random = Random::new(3);
        ageing::fill(&mut drive, 1.0, |_| 4096).unwrap();
        measured(&mut drive, 6.0, 4.0, || (hot_cold(&mut random, blocks / 10, blocks, 0.9), 4096))
    };
    let (greedy, cost_benefit) = (heated(Policy::Greedy), heated(Policy::CostBenefit));
    assert!(cost_benefit < 0.95 * greedy, "{cost_benefit} against {greedy} of greedy");
}
