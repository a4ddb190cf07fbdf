//! Which places of a kind of transaction have the same value each time: the customer's number in two statements of it.
//!
//! Constants that are the same in every transaction (`LIMIT 1`) say nothing, and two flags may agree by chance in a
//! few samples: places are called one where equality is less likely than 1 in 64 if they were drawn apart.

use std::collections::{BTreeMap, HashSet};

use crate::seen::Values;

const BITS_LEAST: f64 = 6.0;

/// Groups of two places or more, each as (statement, place in it), in order.
pub fn shared(samples: &[Vec<Values>]) -> Vec<Vec<(usize, usize)>> {
    let mut alike: BTreeMap<Vec<&str>, Vec<(usize, usize)>> = BTreeMap::new();
    for (statement, values) in samples.first().into_iter().flatten().enumerate() {
        for place in 0..values.len() {
            let seen: Option<Vec<&str>> =
                samples.iter().map(|each| each.get(statement)?.get(place)?.as_deref()).collect();
            if let Some(seen) = seen {
                alike.entry(seen).or_default().push((statement, place));
            }
        }
    }
    let mut groups: Vec<_> = alike
        .into_iter()
        .filter(|(seen, places)| places.len() > 1 && bits(seen) >= BITS_LEAST)
        .map(|it| it.1)
        .collect();
    groups.sort_unstable();
    groups
}

/// How unlikely it is, as a power of two, that other values drawn from the same ones are equal each time.
fn bits(seen: &[&str]) -> f64 {
    let distinct = seen.iter().collect::<HashSet<_>>().len();
    seen.len().saturating_sub(1) as f64 * (distinct.max(1) as f64).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: [&str; 5]) -> Vec<Values> {
        let some = |text: &str| Some(text.to_owned());
        vec![vec![some(values[0]), some(values[1])], vec![], vec![some(values[2]), some(values[3]), some(values[4])]]
    }

    #[test]
    fn equal_values_are_shared_and_constants_are_not() {
        let samples: Vec<_> = (0..8)
            .map(|n| {
                let (customer, item) = (format!("{}", 100 + n), format!("{}", n * n));
                sample([&customer, "1", "1", &customer, &item])
            })
            .collect();
        assert_eq!(shared(&samples), [vec![(0, 0), (2, 1)]]);
    }

    #[test]
    fn few_samples_and_two_flags_say_nothing() {
        let flags = |on| sample([on, "1", on, "2", "3"]);
        assert!(shared(&[flags("t"), flags("f"), flags("t")]).is_empty());
        assert!(shared(&[flags("7")]).is_empty());
        assert!(shared(&[]).is_empty());
        let longer: Vec<_> = (0..8).map(|n| flags(if n % 3 == 0 { "t" } else { "f" })).collect();
        assert_eq!(shared(&longer), [vec![(0, 0), (2, 0)]]);
    }

    #[test]
    fn one_sample_that_differs_is_enough() {
        let mut samples: Vec<_> = (0..8)
            .map(|n| {
                let it = n.to_string();
                sample([&it, "1", &it, "2", "3"])
            })
            .collect();
        assert_eq!(shared(&samples).len(), 1);
        samples.push(sample(["9", "1", "10", "2", "3"]));
        assert!(shared(&samples).is_empty());
    }
}
