//! The zero of a monotone function, by bisection: slow, certain, and exact to the last bits of a double.

/// The x in [low, high] where `falling`, positive at `low` and negative at `high`, crosses zero.
pub(crate) fn bisect(mut low: f64, mut high: f64, falling: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if falling(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The x > `low` where `falling` crosses zero, searched outward in doubling steps.
pub(crate) fn bisect_above(low: f64, falling: impl Fn(f64) -> f64) -> f64 {
    let mut high = if low > 0.0 { 2.0 * low } else { 1.0 };
    while falling(high) > 0.0 && high < 1e300 {
        high *= 2.0;
    }
    bisect(low, high, falling)
}
