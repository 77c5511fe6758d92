//! Code: assertions over the endpoint's variables, in the subset of Python that scripts use.

use crate::error::{Error, Place};

/// `assert expression`, or `name = expression`.
#[derive(Clone, Debug)]
pub struct Statement {
    pub text: String,
    pub place: Place,
    /// The name in an assignment.
    pub assigned: Option<String>,
    expression: Expression,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Integer(i64),
    Text(String),
}

#[derive(Clone, Debug)]
enum Expression {
    Value(Value),
    Variable(String),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    /// A chain of comparisons, such as `a < b < c`.
    Comparison(Box<Expression>, Vec<(Operator, Expression)>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Arithmetic(Box<Expression>, Vec<(Operator, Expression)>),
}

type Operator = &'static str;

const COMPARISONS: [Operator; 6] = ["==", "!=", "<=", ">=", "<", ">"];
const SUMS: [Operator; 2] = ["+", "-"];
const PRODUCTS: [Operator; 3] = ["*", "//", "/"];
/// The maximum nesting depth of operators.
const DEPTH: usize = 16;

/// Parses the statements of code that starts at `place`. Calls of `print` are ignored.
pub fn parse(code: &str, place: Place) -> Result<Vec<Statement>, Error> {
    let mut statements = Vec::new();
    let code = code.replace("\\\n", " ");
    for (at, line) in code.lines().enumerate() {
        let place = Place { line: place.line + at, column: if at == 0 { place.column } else { 1 } };
        let line = line.split('#').next().unwrap_or_default();
        for text in line.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            if text.starts_with("print") {
                continue;
            }
            let asserted = text.strip_prefix("assert").filter(|rest| rest.starts_with([' ', '(']));
            let (assigned, rest) = match (asserted, text.split_once('=')) {
                (Some(rest), _) => (None, rest),
                (None, Some((name, rest))) if is_name(name.trim()) && !rest.starts_with('=') => {
                    (Some(name.trim().to_owned()), rest)
                }
                _ => return Err(Error::not_understood(place, format!("the code {text:?}"))),
            };
            let mut reader = Reader { rest, place };
            let expression = reader.any(0)?;
            // A comma starts the message of the assertion.
            let is_end = reader.rest.trim_start().is_empty() || reader.rest.trim_start().starts_with(',');
            if !is_end {
                return Err(Error::not_understood(place, format!("{:?} in code", reader.rest)));
            }
            statements.push(Statement { text: text.to_owned(), place, assigned, expression });
        }
    }
    Ok(statements)
}

impl Statement {
    /// Evaluates the expression with the values of variables. The error names an unknown variable.
    pub fn value(&self, variable: &dyn Fn(&str) -> Option<Value>) -> Result<Value, Error> {
        let value = self.expression.value(variable);
        value.map_err(|unknown| Error::not_understood(self.place, format!("{unknown} in code")))
    }

    /// The variables of the expression with their values, as text.
    pub fn values(&self, variable: &dyn Fn(&str) -> Option<Value>) -> String {
        let mut names = Vec::new();
        self.expression.variables(&mut names);
        names.dedup();
        let values = names.iter().filter_map(|name| match variable(name)? {
            Value::Integer(number) => Some(format!("{name} = {number}")),
            Value::Text(text) => Some(format!("{name} = {text:?}")),
        });
        values.collect::<Vec<_>>().join(", ")
    }
}

impl Value {
    pub fn is_true(&self) -> bool {
        *self != Self::Integer(0) && *self != Self::Text(String::new())
    }

    fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            Self::Text(_) => 0,
        }
    }
}

impl Expression {
    /// Evaluates the expression. The error is the name of an unknown variable.
    fn value(&self, variable: &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> {
        let truth = |is_true: bool| Value::Integer(i64::from(is_true));
        Ok(match self {
            Self::Value(value) => value.clone(),
            Self::Variable(name) => variable(name).ok_or_else(|| name.clone())?,
            Self::Not(inner) => truth(!inner.value(variable)?.is_true()),
            Self::Negative(inner) => Value::Integer(inner.value(variable)?.integer().saturating_neg()),
            Self::All(parts) => {
                let mut all = true;
                for part in parts {
                    all &= part.value(variable)?.is_true();
                }
                truth(all)
            }
            Self::Any(parts) => {
                let mut any = false;
                for part in parts {
                    any |= part.value(variable)?.is_true();
                }
                truth(any)
            }
            Self::Comparison(first, others) => {
                let mut left = first.value(variable)?;
                let mut all = true;
                for (operator, right) in others {
                    let right = right.value(variable)?;
                    all &= match *operator {
                        "==" => left == right,
                        "!=" => left != right,
                        "<" => left.integer() < right.integer(),
                        ">" => left.integer() > right.integer(),
                        "<=" => left.integer() <= right.integer(),
                        _ => left.integer() >= right.integer(),
                    };
                    left = right;
                }
                truth(all)
            }
            Self::Arithmetic(first, others) => {
                let mut left = first.value(variable)?.integer();
                for (operator, right) in others {
                    let right = right.value(variable)?.integer();
                    left = match *operator {
                        "+" => left.saturating_add(right),
                        "-" => left.saturating_sub(right),
                        "*" => left.saturating_mul(right),
                        _ => left.checked_div(right).unwrap_or(0),
                    };
                }
                Value::Integer(left)
            }
        })
    }

    fn variables<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Value(_) => {}
            Self::Variable(name) => names.push(name),
            Self::Not(inner) | Self::Negative(inner) => inner.variables(names),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.variables(names)),
            Self::Comparison(first, others) | Self::Arithmetic(first, others) => {
                first.variables(names);
                for (_, other) in others {
                    other.variables(names);
                }
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Reader<'a> {
    rest: &'a str,
    place: Place,
}

impl Reader<'_> {
    fn any(&mut self, depth: usize) -> Result<Expression, Error> {
        let mut parts = vec![self.all(depth)?];
        while self.accept_word("or") {
            parts.push(self.all(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
    }

    fn all(&mut self, depth: usize) -> Result<Expression, Error> {
        let mut parts = vec![self.negated(depth)?];
        while self.accept_word("and") {
            parts.push(self.negated(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
    }

    fn negated(&mut self, depth: usize) -> Result<Expression, Error> {
        if self.accept_word("not") {
            self.limit(depth)?;
            return Ok(Expression::Not(Box::new(self.negated(depth + 1)?)));
        }
        let first = self.sum(depth)?;
        let mut others = Vec::new();
        while let Some(operator) = self.accept(&COMPARISONS) {
            others.push((operator, self.sum(depth)?));
        }
        Ok(if others.is_empty() { first } else { Expression::Comparison(Box::new(first), others) })
    }

    fn sum(&mut self, depth: usize) -> Result<Expression, Error> {
        let first = self.product(depth)?;
        let mut others = Vec::new();
        while let Some(operator) = self.accept(&SUMS) {
            others.push((operator, self.product(depth)?));
        }
        Ok(if others.is_empty() { first } else { Expression::Arithmetic(Box::new(first), others) })
    }

    fn product(&mut self, depth: usize) -> Result<Expression, Error> {
        let first = self.atom(depth)?;
        let mut others = Vec::new();
        while let Some(operator) = self.accept(&PRODUCTS) {
            others.push((operator, self.atom(depth)?));
        }
        Ok(if others.is_empty() { first } else { Expression::Arithmetic(Box::new(first), others) })
    }

    fn atom(&mut self, depth: usize) -> Result<Expression, Error> {
        self.limit(depth)?;
        if self.accept(&["-"]).is_some() {
            return Ok(Expression::Negative(Box::new(self.atom(depth + 1)?)));
        }
        if self.accept(&["("]).is_some() {
            let inner = self.any(depth + 1)?;
            return match self.accept(&[")"]) {
                Some(_) => Ok(inner),
                None => self.fail(),
            };
        }
        self.rest = self.rest.trim_start();
        for quote in ['"', '\''] {
            if let Some(inside) = self.rest.strip_prefix(quote) {
                let Some((text, rest)) = inside.split_once(quote) else { return self.fail() };
                self.rest = rest;
                return Ok(Expression::Value(Value::Text(text.to_owned())));
            }
        }
        let word = self.word();
        if word.is_empty() {
            return self.fail();
        }
        let number = word.strip_prefix("0x").map_or_else(|| word.parse(), |hex| i64::from_str_radix(hex, 16));
        let expression = match number {
            Ok(number) => Expression::Value(Value::Integer(number)),
            Err(_) if word.starts_with(|c: char| c.is_ascii_digit()) => return self.fail(),
            Err(_) => Expression::Variable(word.to_owned()),
        };
        self.rest = &self.rest[word.len()..];
        Ok(expression)
    }

    fn limit(&self, depth: usize) -> Result<(), Error> {
        if depth < DEPTH { Ok(()) } else { self.fail() }
    }

    fn fail<T>(&self) -> Result<T, Error> {
        Err(Error::not_understood(self.place, format!("{:?} in code", self.rest)))
    }

    fn word(&self) -> &str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    fn accept_word(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        let is_there = self.word() == word;
        if is_there {
            self.rest = &self.rest[word.len()..];
        }
        is_there
    }

    fn accept(&mut self, operators: &[Operator]) -> Option<Operator> {
        self.rest = self.rest.trim_start();
        let operator = operators.iter().find(|operator| self.rest.starts_with(**operator))?;
        self.rest = &self.rest[operator.len()..];
        Some(operator)
    }
}
