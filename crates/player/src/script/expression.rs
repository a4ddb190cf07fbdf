//! The expressions of `\set` and `\if`: read into a tree once, then evaluated for each client.
//!
//! Operators, their precedence and their meaning are those of pgbench (manual, "pgbench", "Built-in Operators").
//! Variables are numbers by then: a name is looked up when a script is read, never when it runs.

use super::functions::{Function, Source};
use super::value::Value;

/// Operators of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Different,
    Less,
    AtMost,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A tree of operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    Constant(Value),
    /// The variable of that number.
    Variable(usize),
    /// `a OPERATOR b`.
    Both(Box<(Self, Operation, Self)>),
    /// `NOT a`.
    Not(Box<Self>),
    /// `a IS b` for NULL, TRUE, FALSE.
    Is(Box<Self>, Value),
    /// Conditions with their values, then what holds otherwise.
    Case(Vec<(Self, Self)>, Box<Self>),
    /// A function of its arguments.
    Call(Function, Vec<Self>),
}

/// An operator of two sides, opaque outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation(pub(super) Operator);

type Evaluated = Result<Value, String>;

impl Expression {
    /// Its value, with these variables and this source of chance.
    ///
    /// # Errors
    /// What pgbench refuses: overflow, division by zero, a boolean where a number is needed.
    pub fn evaluate(&self, variables: &[Option<Value>], source: &mut Source) -> Evaluated {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Variable(number) => variables
                .get(*number)
                .cloned()
                .flatten()
                .ok_or_else(|| "a variable has no value yet".to_owned()),
            Self::Not(inner) => match inner.evaluate(variables, source)? {
                Value::Null => Ok(Value::Null),
                value => Ok(Value::Boolean(!boolean(&value)?)),
            },
            Self::Is(inner, wanted) => Ok(Value::Boolean(
                inner.evaluate(variables, source)? == *wanted,
            )),
            Self::Case(branches, otherwise) => {
                for (condition, value) in branches {
                    let met = condition.evaluate(variables, source)?;
                    if met.truth().ok_or("a text is no condition")? {
                        return value.evaluate(variables, source);
                    }
                }
                otherwise.evaluate(variables, source)
            }
            Self::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(argument.evaluate(variables, source)?);
                }
                function.call(&values, source)
            }
            Self::Both(parts) => {
                let (left, operation, right) = parts.as_ref();
                let left = left.evaluate(variables, source)?;
                match operation.0 {
                    Operator::And if left == Value::Boolean(false) => return Ok(left),
                    Operator::Or if left == Value::Boolean(true) => return Ok(left),
                    _ => {}
                }
                operate(operation.0, &left, &right.evaluate(variables, source)?)
            }
        }
    }
}

fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Boolean(value) => Ok(*value),
        other => Err(format!("{other:?} is no boolean")),
    }
}

pub(super) fn integer(value: &Value) -> Result<i64, String> {
    match value {
        Value::Integer(value) => Ok(*value),
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        Value::Double(value) if value.round().abs() < i64::MAX as f64 => Ok(value.round() as i64),
        other => Err(format!("{other:?} is no integer")),
    }
}

/// A number as a double.
///
/// # Errors
/// The value is no number.
pub fn double(value: &Value) -> Result<f64, String> {
    match value {
        #[allow(clippy::cast_precision_loss)]
        Value::Integer(value) => Ok(*value as f64),
        Value::Double(value) => Ok(*value),
        other => Err(format!("{other:?} is no number")),
    }
}

fn operate(operator: Operator, left: &Value, right: &Value) -> Evaluated {
    use Operator::{Add, And, Divide, Modulo, Multiply, Or, Subtract};
    if matches!(operator, And | Or) {
        return logical(operator, left, right);
    }
    if *left == Value::Null || *right == Value::Null {
        return Ok(Value::Null);
    }
    if let (Operator::Equal | Operator::Different, Value::Boolean(left), Value::Boolean(right)) =
        (operator, left, right)
    {
        return Ok(Value::Boolean(
            (left == right) == (operator == Operator::Equal),
        ));
    }
    let doubles = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
    match operator {
        Operator::Equal | Operator::Different | Operator::Less | Operator::AtMost => {
            let (left, right) = (double(left)?, double(right)?);
            #[allow(clippy::float_cmp)]
            Ok(Value::Boolean(match operator {
                Operator::Equal => left == right,
                Operator::Different => left != right,
                Operator::Less => left < right,
                _ => left <= right,
            }))
        }
        Add | Subtract | Multiply | Divide if doubles => {
            let (left, right) = (double(left)?, double(right)?);
            Ok(Value::Double(match operator {
                Add => left + right,
                Subtract => left - right,
                Multiply => left * right,
                _ if right == 0.0 => return Err("division by zero".into()),
                _ => left / right,
            }))
        }
        _ => {
            let (left, right) = (integer(left)?, integer(right)?);
            if matches!(operator, Divide | Modulo) && right == 0 {
                return Err("division by zero".into());
            }
            let value = match operator {
                Add => left.checked_add(right),
                Subtract => left.checked_sub(right),
                Multiply => left.checked_mul(right),
                Divide => left.checked_div(right),
                Modulo => Some(left.wrapping_rem(right)),
                Operator::BitOr => Some(left | right),
                Operator::BitXor => Some(left ^ right),
                Operator::BitAnd => Some(left & right),
                Operator::ShiftLeft => u32::try_from(right)
                    .ok()
                    .and_then(|by| left.checked_shl(by)),
                _ => u32::try_from(right)
                    .ok()
                    .and_then(|by| left.checked_shr(by)),
            };
            value
                .map(Value::Integer)
                .ok_or_else(|| "an integer is out of range".into())
        }
    }
}

fn logical(operator: Operator, left: &Value, right: &Value) -> Evaluated {
    let decided = Value::Boolean(operator == Operator::Or);
    if *left == decided || *right == decided {
        return Ok(decided);
    }
    if *left == Value::Null || *right == Value::Null {
        return Ok(Value::Null);
    }
    let (left, right) = (boolean(left)?, boolean(right)?);
    Ok(Value::Boolean(if operator == Operator::Or {
        left || right
    } else {
        left && right
    }))
}
