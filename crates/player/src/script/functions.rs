//! The functions of pgbench's expressions, and the source of chance that they draw from (xoshiro256++).
//!
//! Distributions as the manual describes them ("pgbench", "Built-In Functions"); zipfian by rejection (Devroye 1986,
//! chapter X.6). The numbers drawn are not pgbench's own for the same seed; their distribution is.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::expression::{double, integer};
use super::value::Value;

/// A client's source of chance.
pub struct Source(Xoshiro256PlusPlus);

impl Source {
    /// The source of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From 0 up to, not including, 1.
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// A whole number from `least` to `most`, both included.
    pub fn whole(&mut self, least: i64, most: i64) -> i64 {
        self.0.random_range(least..=most)
    }

    /// One of these places, each as likely as its weight.
    pub fn place(&mut self, weights: &[u32]) -> usize {
        let total: i64 = weights.iter().map(|weight| i64::from(*weight)).sum();
        let mut left = self.whole(0, total - 1);
        for (number, weight) in weights.iter().enumerate() {
            left -= i64::from(*weight);
            if left < 0 {
                return number;
            }
        }
        weights.len() - 1
    }
}

/// A function by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Function {
    Abs,
    Double,
    Int,
    Exp,
    Ln,
    Sqrt,
    Pi,
    Power,
    Modulo,
    Greatest,
    Least,
    Debug,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    HashFnv1a,
    HashMurmur2,
}

const KNOWN: [(&str, Function, usize, usize); 20] = [
    ("abs", Function::Abs, 1, 1),
    ("double", Function::Double, 1, 1),
    ("int", Function::Int, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("ln", Function::Ln, 1, 1),
    ("sqrt", Function::Sqrt, 1, 1),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("mod", Function::Modulo, 2, 2),
    ("greatest", Function::Greatest, 1, usize::MAX),
    ("least", Function::Least, 1, usize::MAX),
    ("debug", Function::Debug, 1, 1),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("hash", Function::HashMurmur2, 2, 2),
    ("hash_murmur2", Function::HashMurmur2, 2, 2),
    ("hash_fnv1a", Function::HashFnv1a, 2, 2),
];

type Called = Result<Value, String>;

impl Function {
    /// The function of that name with so many arguments.
    ///
    /// # Errors
    /// No such function, or not with so many.
    pub fn find(name: &str, arguments: usize) -> Result<Self, String> {
        let found = KNOWN.iter().find(|known| known.0 == name);
        let (_, function, least, most) =
            found.ok_or_else(|| format!("the function \"{name}\" is not offered"))?;
        if arguments < *least || arguments > *most {
            return Err(format!("\"{name}\" does not take {arguments} arguments"));
        }
        Ok(*function)
    }

    /// Its value for these arguments.
    ///
    /// # Errors
    /// What pgbench refuses: empty ranges, parameters out of bounds, text where a number is needed.
    pub fn call(self, values: &[Value], source: &mut Source) -> Called {
        if values.contains(&Value::Null) && !matches!(self, Self::Debug) {
            return Ok(Value::Null);
        }
        match self {
            Self::Debug => Ok(values[0].clone()),
            Self::Pi => Ok(Value::Double(std::f64::consts::PI)),
            Self::Abs => match &values[0] {
                Value::Double(value) => Ok(Value::Double(value.abs())),
                value => integer(value)?
                    .checked_abs()
                    .map(Value::Integer)
                    .ok_or_else(|| "out of range".into()),
            },
            Self::Double => Ok(Value::Double(double(&values[0])?)),
            Self::Int => Ok(Value::Integer(integer(&values[0])?)),
            Self::Exp => Ok(Value::Double(double(&values[0])?.exp())),
            Self::Ln => Ok(Value::Double(double(&values[0])?.ln())),
            Self::Sqrt => Ok(Value::Double(double(&values[0])?.sqrt())),
            Self::Power => Ok(Value::Double(double(&values[0])?.powf(double(&values[1])?))),
            Self::Modulo => match integer(&values[1])? {
                0 => Err("division by zero".into()),
                by => Ok(Value::Integer(integer(&values[0])?.wrapping_rem(by))),
            },
            Self::Greatest | Self::Least => extreme(values, self == Self::Greatest),
            Self::Random => {
                let (least, most) = range(values)?;
                Ok(Value::Integer(source.whole(least, most)))
            }
            Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian => {
                skewed(self, values, source)
            }
            Self::HashFnv1a => Ok(Value::Integer(fnv1a(
                integer(&values[0])?,
                integer(&values[1])?,
            ))),
            Self::HashMurmur2 => Ok(Value::Integer(murmur2(
                integer(&values[0])?,
                integer(&values[1])?,
            ))),
        }
    }
}

fn extreme(values: &[Value], greatest: bool) -> Called {
    let mut best = values[0].clone();
    for value in &values[1..] {
        if (double(value)? > double(&best)?) == greatest {
            best = value.clone();
        }
    }
    let doubles = values.iter().any(|value| matches!(value, Value::Double(_)));
    if doubles {
        double(&best).map(Value::Double)
    } else {
        Ok(best)
    }
}

fn range(values: &[Value]) -> Result<(i64, i64), String> {
    let (least, most) = (integer(&values[0])?, integer(&values[1])?);
    if least > most {
        return Err("a random range is empty".into());
    }
    Ok((least, most))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn skewed(function: Function, values: &[Value], source: &mut Source) -> Called {
    let (least, most) = range(values)?;
    let parameter = double(&values[2])?;
    let width = most
        .checked_sub(least)
        .and_then(|width| width.checked_add(1))
        .ok_or("a random range is too wide")?;
    let at = |share: f64| Value::Integer(least + ((width as f64 * share) as i64).min(width - 1));
    match function {
        Function::RandomExponential if parameter > 0.0 => {
            let cut = (-parameter).exp();
            let share = -(cut + (1.0 - cut) * (1.0 - source.uniform())).ln() / parameter;
            Ok(at(share))
        }
        Function::RandomGaussian if parameter >= 2.0 => loop {
            let (radius, angle) = (1.0 - source.uniform(), 1.0 - source.uniform());
            let deviation =
                (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).sin();
            if deviation.abs() < parameter {
                return Ok(at((deviation + parameter) / (2.0 * parameter)));
            }
        },
        Function::RandomZipfian if (1.001..=1000.0).contains(&parameter) => Ok(Value::Integer(
            least - 1 + zipfian(source, width, parameter),
        )),
        _ => Err(format!(
            "{parameter} is out of the bounds of this distribution's parameter"
        )),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn zipfian(source: &mut Source, width: i64, exponent: f64) -> i64 {
    if width <= 1 {
        return 1;
    }
    let bound = 2.0_f64.powf(exponent - 1.0);
    loop {
        let (first, second) = (1.0 - source.uniform(), source.uniform());
        let drawn = first.powf(-1.0 / (exponent - 1.0)).floor();
        let ratio = (1.0 + 1.0 / drawn).powf(exponent - 1.0);
        if second * drawn * (ratio - 1.0) / (bound - 1.0) <= ratio / bound && drawn <= width as f64
        {
            return drawn as i64;
        }
    }
}

/// 64-bit FNV-1a over the eight bytes, the seed folded into the offset.
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)]
fn fnv1a(value: i64, seed: i64) -> i64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let start = OFFSET ^ seed as u64;
    value.to_le_bytes().iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    }) as i64
}

/// 64-bit MurmurHash2 (Appleby) of the eight bytes.
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)]
fn murmur2(value: i64, seed: i64) -> i64 {
    const MIX: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut hash = seed as u64 ^ 8_u64.wrapping_mul(MIX);
    let mut part = (value as u64).wrapping_mul(MIX);
    part = (part ^ (part >> SHIFT)).wrapping_mul(MIX);
    hash = (hash ^ part).wrapping_mul(MIX);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(MIX);
    (hash ^ (hash >> SHIFT)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(function: Function, parameter: Option<f64>, times: usize) -> Vec<i64> {
        let mut source = Source::new(3);
        let mut values = vec![Value::Integer(1), Value::Integer(10)];
        values.extend(parameter.map(Value::Double));
        let draw = |_| integer(&function.call(&values, &mut source).unwrap()).unwrap();
        (0..times).map(draw).collect()
    }

    fn share(drawn: &[i64], value: i64) -> f64 {
        drawn.iter().filter(|each| **each == value).count() as f64 / drawn.len() as f64
    }

    #[test]
    fn distributions_have_the_shares_of_the_manual() {
        let flat = drawn(Function::Random, None, 50_000);
        assert!((1..=10).all(|value| (share(&flat, value) - 0.1).abs() < 0.01));
        // Manual: value i is drawn with probability (exp(-p(i-min)/n) - exp(-p(i+1-min)/n)) / (1 - exp(-p)).
        let exponential = drawn(Function::RandomExponential, Some(2.5), 50_000);
        let first = (1.0 - (-0.25_f64).exp()) / (1.0 - (-2.5_f64).exp());
        assert!((share(&exponential, 1) - first).abs() < 0.01);
        let gaussian = drawn(Function::RandomGaussian, Some(2.5), 50_000);
        assert!(
            (share(&gaussian, 5) - share(&gaussian, 6)).abs() < 0.015 && share(&gaussian, 1) < 0.03
        );
        let zipfian = drawn(Function::RandomZipfian, Some(2.0), 50_000);
        assert!((share(&zipfian, 1) / share(&zipfian, 2) - 4.0).abs() < 0.25);
    }

    #[test]
    fn the_hash_of_eight_zero_bytes_is_fnvs_own() {
        assert_eq!(fnv1a(0, 0) as u64, 0xa8c7_f832_281a_39c5);
        assert_ne!(murmur2(1, 0), murmur2(2, 0));
    }

    #[test]
    fn bounds_are_kept() {
        let mut source = Source::new(1);
        let one = [Value::Integer(3), Value::Integer(2)];
        assert!(Function::Random.call(&one, &mut source).is_err());
        let narrow = [Value::Integer(1), Value::Integer(2), Value::Double(1.0)];
        assert!(Function::RandomGaussian.call(&narrow, &mut source).is_err());
        assert!(Function::RandomZipfian.call(&narrow, &mut source).is_err());
    }
}
