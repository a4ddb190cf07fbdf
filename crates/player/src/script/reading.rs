//! From the text of an expression to its tree: a scanner for its words, then one function a level of precedence.
//!
//! The levels, from the loosest: OR, AND, NOT, IS, comparisons, bit operators, sums, products, signs.

use super::expression::{Expression, Operation, Operator};
use super::functions::Function;
use super::value::Value;

#[derive(Clone, Debug, PartialEq)]
enum Word {
    Number(Value),
    Variable(String),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 20] = [
    "<>", "!=", "<=", ">=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "|", "#", "&", "~",
    "(", ")",
];
const LEVELS: [&[(&str, Operator)]; 3] = [
    &[
        ("|", Operator::BitOr),
        ("#", Operator::BitXor),
        ("&", Operator::BitAnd),
        ("<<", Operator::ShiftLeft),
        (">>", Operator::ShiftRight),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Modulo),
    ],
];

/// Read one expression; `variable` gives a name's number.
///
/// # Errors
/// What is wrong with the text, without its place.
pub fn read(text: &str, variable: &mut dyn FnMut(&str) -> usize) -> Result<Expression, String> {
    let mut reader = Reader {
        words: scan(text)?,
        next: 0,
        variable,
    };
    let expression = reader.either()?;
    match reader.words.get(reader.next) {
        None => Ok(expression),
        Some(word) => Err(format!("{word:?} was not expected")),
    }
}

fn scan(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            let length = number_length(rest);
            let read = rest[..length].parse().map(Value::Integer);
            let value = read.or_else(|_| rest[..length].parse().map(Value::Double));
            words.push(Word::Number(
                value.map_err(|_| format!("\"{}\" is no number", &rest[..length]))?,
            ));
            length
        } else if first == ':' {
            let length = 1 + name_length(&rest[1..]);
            words.push(Word::Variable(rest[1..length].to_owned()));
            length
        } else if name_length(rest) > 0 {
            let length = name_length(rest);
            words.push(Word::Name(rest[..length].to_ascii_lowercase()));
            length
        } else if first == ',' {
            words.push(Word::Sign(","));
            1
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign =
                sign.ok_or_else(|| format!("\"{first}\" has no meaning in an expression"))?;
            words.push(Word::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(words)
}

/// How many bytes of `text` are a name, from its beginning.
pub(super) fn name_length(text: &str) -> usize {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c| !part(c)).unwrap_or(text.len())
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        if bytes.len() > length + 1 + sign && digits(length + 1 + sign) > 0 {
            length += 1 + sign + digits(length + 1 + sign);
        }
    }
    length
}

struct Reader<'a> {
    words: Vec<Word>,
    next: usize,
    variable: &'a mut dyn FnMut(&str) -> usize,
}

type Read = Result<Expression, String>;

impl Reader<'_> {
    fn takes_sign(&mut self, sign: &str) -> bool {
        let there = self
            .words
            .get(self.next)
            .is_some_and(|word| matches!(word, Word::Sign(found) if *found == sign));
        self.next += usize::from(there);
        there
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let there = self
            .words
            .get(self.next)
            .is_some_and(|word| matches!(word, Word::Name(found) if found == name));
        self.next += usize::from(there);
        there
    }

    fn either(&mut self) -> Read {
        let mut left = self.all()?;
        while self.takes_name("or") {
            left = both(left, Operator::Or, self.all()?);
        }
        Ok(left)
    }

    fn all(&mut self) -> Read {
        let mut left = self.negated()?;
        while self.takes_name("and") {
            left = both(left, Operator::And, self.negated()?);
        }
        Ok(left)
    }

    fn negated(&mut self) -> Read {
        if self.takes_name("not") {
            return Ok(Expression::Not(Box::new(self.negated()?)));
        }
        let mut left = self.compared()?;
        loop {
            let (negated, wanted) = if self.takes_name("isnull") {
                (false, Value::Null)
            } else if self.takes_name("notnull") {
                (true, Value::Null)
            } else if self.takes_name("is") {
                (self.takes_name("not"), self.one_of_is()?)
            } else {
                return Ok(left);
            };
            left = Expression::Is(Box::new(left), wanted);
            if negated {
                left = Expression::Not(Box::new(left));
            }
        }
    }

    fn one_of_is(&mut self) -> Result<Value, String> {
        for (name, value) in [
            ("null", Value::Null),
            ("true", Value::Boolean(true)),
            ("false", Value::Boolean(false)),
        ] {
            if self.takes_name(name) {
                return Ok(value);
            }
        }
        Err("IS takes NULL, TRUE or FALSE".into())
    }

    fn compared(&mut self) -> Read {
        let left = self.level(0)?;
        for (sign, operator, swapped) in [
            ("=", Operator::Equal, false),
            ("<>", Operator::Different, false),
            ("!=", Operator::Different, false),
            ("<=", Operator::AtMost, false),
            (">=", Operator::AtMost, true),
            ("<", Operator::Less, false),
            (">", Operator::Less, true),
        ] {
            if self.takes_sign(sign) {
                let right = self.level(0)?;
                return Ok(if swapped {
                    both(right, operator, left)
                } else {
                    both(left, operator, right)
                });
            }
        }
        Ok(left)
    }

    fn level(&mut self, level: usize) -> Read {
        let Some(operators) = LEVELS.get(level) else {
            return self.signed();
        };
        let mut left = self.level(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes_sign(sign)) {
            left = both(left, *operator, self.level(level + 1)?);
        }
        Ok(left)
    }

    fn signed(&mut self) -> Read {
        if self.takes_sign("-") {
            return Ok(both(
                Expression::Constant(Value::Integer(0)),
                Operator::Subtract,
                self.signed()?,
            ));
        }
        if self.takes_sign("~") {
            return Ok(both(
                Expression::Constant(Value::Integer(-1)),
                Operator::BitXor,
                self.signed()?,
            ));
        }
        if self.takes_sign("+") {
            return self.signed();
        }
        self.single()
    }

    fn single(&mut self) -> Read {
        if self.takes_sign("(") {
            let inner = self.either()?;
            return if self.takes_sign(")") {
                Ok(inner)
            } else {
                Err("a \")\" is missing".into())
            };
        }
        let word = self
            .words
            .get(self.next)
            .cloned()
            .ok_or("something is missing at the end")?;
        self.next += 1;
        match word {
            Word::Number(value) => Ok(Expression::Constant(value)),
            Word::Variable(name) if name.is_empty() => {
                Err("a variable's name is missing after \":\"".into())
            }
            Word::Variable(name) => Ok(Expression::Variable((self.variable)(&name))),
            Word::Name(name) => match name.as_str() {
                "null" => Ok(Expression::Constant(Value::Null)),
                "true" => Ok(Expression::Constant(Value::Boolean(true))),
                "false" => Ok(Expression::Constant(Value::Boolean(false))),
                "case" => self.case(),
                _ => self.call(&name),
            },
            Word::Sign(sign) => Err(format!("\"{sign}\" was not expected")),
        }
    }

    fn case(&mut self) -> Read {
        let mut branches = Vec::new();
        while self.takes_name("when") {
            let condition = self.either()?;
            if !self.takes_name("then") {
                return Err("THEN is missing in a CASE".into());
            }
            branches.push((condition, self.either()?));
        }
        let otherwise = if self.takes_name("else") {
            self.either()?
        } else {
            Expression::Constant(Value::Null)
        };
        if branches.is_empty() || !self.takes_name("end") {
            return Err("a CASE needs WHEN … THEN … and END".into());
        }
        Ok(Expression::Case(branches, Box::new(otherwise)))
    }

    fn call(&mut self, name: &str) -> Read {
        if !self.takes_sign("(") {
            return Err(format!("\"{name}\" has no meaning in an expression"));
        }
        let mut arguments = Vec::new();
        if !self.takes_sign(")") {
            loop {
                arguments.push(self.either()?);
                if self.takes_sign(")") {
                    break;
                }
                if !self.takes_sign(",") {
                    return Err(format!("the arguments of \"{name}\" do not end"));
                }
            }
        }
        if matches!(name, "hash" | "hash_fnv1a" | "hash_murmur2") && arguments.len() == 1 {
            arguments.push(Expression::Variable((self.variable)("default_seed")));
        }
        let function = Function::find(name, arguments.len())?;
        Ok(Expression::Call(function, arguments))
    }
}

fn both(left: Expression, operator: Operator, right: Expression) -> Expression {
    Expression::Both(Box::new((left, Operation(operator), right)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::functions::Source;

    fn value(text: &str) -> Result<Value, String> {
        let mut names = vec!["scale".to_owned()];
        let expression = read(text, &mut |name| {
            names
                .iter()
                .position(|known| known == name)
                .unwrap_or_else(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                })
        })?;
        expression.evaluate(&[Some(Value::Integer(3))], &mut Source::new(7))
    }

    #[test]
    fn precedence_and_meaning_are_those_of_pgbench() {
        for (text, found) in [
            ("1 + 2 * 3", Value::Integer(7)),
            ("(1 + 2) * 3", Value::Integer(9)),
            ("7 / 2", Value::Integer(3)),
            ("7 / 2.0", Value::Double(3.5)),
            ("-7 % 3", Value::Integer(-1)),
            ("100000 * :scale", Value::Integer(300_000)),
            ("1 | 2 + 4", Value::Integer(7)),
            ("~5", Value::Integer(-6)),
            ("1 << 4", Value::Integer(16)),
            ("NOT 1 = 2 AND 3 >= 3", Value::Boolean(true)),
            ("NULL IS NULL OR FALSE", Value::Boolean(true)),
            ("NULL IS NOT NULL", Value::Boolean(false)),
            (
                "CASE WHEN :scale > 5 THEN 1 WHEN :scale = 3 THEN 2 ELSE 3 END",
                Value::Integer(2),
            ),
            ("greatest(1, 4, 2) - least(3, 2)", Value::Integer(2)),
            ("1e3", Value::Double(1000.0)),
            ("random(4, 4)", Value::Integer(4)),
            ("5 - 2 - 1", Value::Integer(2)),
        ] {
            assert_eq!(value(text), Ok(found), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_or_evaluated_is_named() {
        for (text, what) in [
            ("1 +", "missing at the end"),
            ("(1", "\")\" is missing"),
            ("1 2", "was not expected"),
            ("1 / 0", "division by zero"),
            ("9223372036854775807 + 1", "out of range"),
            ("permute(1, 2)", "permute"),
            ("$1", "no meaning"),
            ("CASE WHEN 1 THEN 2", "END"),
            ("random(1)", "arguments"),
            (":nothing + 1", "no value"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
