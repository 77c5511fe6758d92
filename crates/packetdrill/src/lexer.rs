//! The lexer, with the tokens of packetdrill's.

use crate::error::{Error, Place};

/// A token with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    pub token: Token,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// `--name`, without the dashes.
    Option(String),
    /// The text of a number with a decimal point.
    Decimal(String),
    Integer(i64),
    Word(String),
    /// Text in double quotes.
    Text(String),
    /// A command in back quotes.
    Command(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// `...`
    Ellipsis,
    Sign(char),
    End,
}

impl Token {
    /// The token's name in errors.
    pub fn name(&self) -> String {
        match self {
            Self::Option(name) => format!("\"--{name}\""),
            Self::Decimal(text) | Self::Word(text) => format!("\"{text}\""),
            Self::Integer(number) => format!("\"{number}\""),
            Self::Text(_) => "a string".into(),
            Self::Command(_) => "a command".into(),
            Self::Code(_) => "code".into(),
            Self::Ellipsis => "\"...\"".into(),
            Self::Sign(sign) => format!("\"{sign}\""),
            Self::End => "the end of the script".into(),
        }
    }
}

pub fn lex(text: &str) -> Result<Vec<Lexeme>, Error> {
    let mut lexer = Lexer { rest: text, place: Place { line: 1, column: 1 } };
    let mut lexemes = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let place = lexer.place;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        lexemes.push(Lexeme { token, place });
        if is_end {
            return Ok(lexemes);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    place: Place,
}

impl<'a> Lexer<'a> {
    fn take(&mut self, octets: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(octets);
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        taken
    }

    /// Takes the text between two delimiters; the rest starts with the first one.
    fn enclosed(&mut self, open: &str, close: &str) -> Result<String, Error> {
        let place = self.place;
        let inside = &self.rest[open.len()..];
        let len =
            inside.find(close).ok_or_else(|| Error::expected(place, &format!("{close:?} after this")))?;
        self.take(open.len());
        let inside = self.take(len).to_owned();
        self.take(close.len());
        Ok(inside)
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.take(blanks);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            } else if self.rest.starts_with("/*") {
                self.enclosed("/*", "*/")?;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, Error> {
        let place = self.place;
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        if self.rest.starts_with("...") {
            self.take(3);
            return Ok(Token::Ellipsis);
        }
        if self.rest.starts_with("%{") {
            return Ok(Token::Code(self.enclosed("%{", "}%")?));
        }
        if first == '"' {
            return Ok(Token::Text(self.enclosed("\"", "\"")?));
        }
        if first == '`' {
            return Ok(Token::Command(self.enclosed("`", "`")?));
        }
        if let Some(name) = self.rest.strip_prefix("--")
            && let len = length_of(name, is_word)
            && len > 0
        {
            return Ok(Token::Option(self.take(2 + len)[2..].to_owned()));
        }
        let sign = usize::from(first == '-');
        let unsigned = &self.rest[sign..];
        let digits = length_of(unsigned, |c| c.is_ascii_digit());
        if let Some(fraction) = unsigned[digits..].strip_prefix('.')
            && let decimals = length_of(fraction, |c| c.is_ascii_digit())
            && decimals > 0
        {
            return Ok(Token::Decimal(self.take(sign + digits + 1 + decimals).to_owned()));
        }
        let word = length_of(unsigned, is_word);
        if digits > 0 && (digits == word || sign == 1) {
            let text = self.take(sign + digits);
            return text
                .parse()
                .map(Token::Integer)
                .map_err(|_| Error::expected(place, "a number of 64 bits"));
        }
        if let Some(hex) = unsigned.strip_prefix("0x")
            && sign == 0
        {
            let number = i64::from_str_radix(&hex[..word - 2], 16);
            let number = number.map_err(|_| Error::expected(place, "a hexadecimal number"))?;
            self.take(word);
            return Ok(Token::Integer(number));
        }
        if word > 0 && sign == 0 {
            return Ok(Token::Word(self.take(word).to_owned()));
        }
        self.take(first.len_utf8());
        Ok(Token::Sign(first))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn length_of(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}
