//! The parser of system calls: `0.1...0.2 read(4, ..., 1000) = -1 EAGAIN (Resource temporarily
//! unavailable)`.

use super::{DEPTH, Parser};
use crate::error::Error;
use crate::lexer::Token;
use crate::script::{Argument, Call};

impl Parser {
    pub(super) fn call(&mut self) -> Result<Call, Error> {
        let end = if *self.peek() == Token::Ellipsis {
            self.next();
            Some(self.time()?)
        } else {
            None
        };
        let Token::Word(name) = self.peek().clone() else { return self.expected("a system call") };
        self.next();
        self.expect('(')?;
        let arguments = self.arguments(')', 0)?;
        self.expect('=')?;
        let result = self.argument(0)?;
        let error = match self.peek().clone() {
            Token::Word(error) => {
                self.next();
                Some(error)
            }
            _ => None,
        };
        // The text in parentheses explains the error, and is free.
        if self.accept('(') {
            while !self.accept(')') {
                if *self.peek() == Token::End {
                    return self.expected("\")\"");
                }
                self.next();
            }
        }
        Ok(Call { name, arguments, result, error, end })
    }

    fn arguments(&mut self, close: char, depth: usize) -> Result<Vec<Argument>, Error> {
        let mut arguments = Vec::new();
        if self.accept(close) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument(depth)?);
            if !self.accept(',') {
                self.expect(close)?;
                return Ok(arguments);
            }
        }
    }

    fn argument(&mut self, depth: usize) -> Result<Argument, Error> {
        if depth > DEPTH {
            return self.expected("fewer arguments inside arguments");
        }
        let argument = match self.peek().clone() {
            Token::Ellipsis => Argument::Ellipsis,
            Token::Integer(number) => Argument::Integer(number),
            Token::Text(text) => {
                self.next();
                if *self.peek() == Token::Ellipsis {
                    self.next();
                }
                return Ok(Argument::Text(text));
            }
            Token::Sign('[') => {
                self.next();
                return Ok(Argument::List(self.arguments(']', depth + 1)?));
            }
            Token::Sign('{') => {
                self.next();
                return self.fields(depth);
            }
            Token::Word(word) => {
                self.next();
                if self.accept('(') {
                    return Ok(Argument::Function(word, self.arguments(')', depth + 1)?));
                }
                let mut words = vec![word];
                while self.accept('|') {
                    let Token::Word(word) = self.peek().clone() else { return self.expected("a word") };
                    self.next();
                    words.push(word);
                }
                return Ok(Argument::Words(words));
            }
            _ => return self.expected("an argument"),
        };
        self.next();
        Ok(argument)
    }

    fn fields(&mut self, depth: usize) -> Result<Argument, Error> {
        let mut fields = Vec::new();
        loop {
            let mut name = String::new();
            if let Token::Word(word) = self.peek().clone()
                && matches!(self.lexemes[self.at + 1].token, Token::Sign('=' | '('))
            {
                name = word;
                self.next();
            }
            if self.accept('=') || name.is_empty() {
                fields.push((name, self.argument(depth + 1)?));
            } else {
                // `msg_name(...)=...`
                self.expect('(')?;
                self.arguments(')', depth + 1)?;
                self.expect('=')?;
                fields.push((name, self.argument(depth + 1)?));
            }
            if !self.accept(',') {
                self.expect('}')?;
                return Ok(Argument::Fields(fields));
            }
        }
    }
}
