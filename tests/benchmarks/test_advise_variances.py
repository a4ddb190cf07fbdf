"""An advice whose process is told how noisy each configuration is, beside one that counts all as equally noisy."""

from benchmarks.advise import LIMITS, space_with
from benchmarks.advise_samplers import proposer_of
from benchmarks.advise_variances import Uneven, walked
from pgassay.advise.smoothing import smoothed


def test_the_process_that_is_told_the_variances_sees_the_usual_noise() -> None:
    server = Uneven(space_with(6), 0.1, 1, factor=4.0)
    batches = []
    for seed in range(12):
        batch = proposer_of("random", server.space, LIMITS, seed).batch()
        noises = [(each, server.chance.gauss(0, server.noise_of(each))) for each in batch]
        start = server.chance.gauss(0, server.noise_of(server.space.start))
        batches.append([(each, noise - start) for each, noise in noises])
    told, common = smoothed(server.space, batches, server.variance), smoothed(server.space, batches)
    assert told is not None
    assert common is not None
    assert 0.05 < told.noise < 0.2 < common.noise


def test_an_advice_is_walked_both_ways() -> None:
    assert walked(Uneven(space_with(4), 0.05, 1, factor=1.7), 700.0, told=True).search < 0.5
    even, told = (walked(Uneven(space_with(4), 0.05, 1), 700.0, told=told) for told in (False, True))
    assert even == told, "where all are as noisy there is nothing to tell"
