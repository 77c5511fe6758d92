//! Packets: `< [ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`.

use lasthop_packet::Ecn;

use super::Parser;
use crate::error::Error;
use crate::lexer::Token;
use crate::script::{Action, IcmpError, Options, Segment};

/// packetdrill's names of the codes of "destination unreachable" (RFC 792), by code.
const UNREACHABLE: [&str; 6] = [
    "net_unreachable",
    "host_unreachable",
    "protocol_unreachable",
    "port_unreachable",
    "frag_needed",
    "source_route_failed",
];

impl Parser {
    pub(super) fn packet(&mut self) -> Result<Action, Error> {
        let is_inbound = self.accept('<');
        if !is_inbound {
            self.expect('>')?;
        }
        let ecn = self.ecn()?;
        let place = self.place();
        for unknown in ["udp", "ipv4", "ipv6", "gre", "GREv0", "mpls", "encap"] {
            if self.accept_word(unknown) {
                return Err(Error::not_understood(place, format!("{unknown} in a packet")));
            }
        }
        if self.accept_word("icmp") {
            let error = self.icmp()?;
            return if is_inbound {
                Ok(Action::Icmp(error))
            } else {
                Err(Error::not_understood(place, "an ICMP message that the endpoint sends"))
            };
        }
        if let Token::Integer(_) = self.peek() {
            return Err(Error::not_understood(place, "ports in a packet"));
        }
        let segment = self.segment(ecn)?;
        if is_inbound && segment.options.is_none() {
            return Err(Error::expected(place, "options: <...> is for outbound packets"));
        }
        Ok(if is_inbound { Action::Inbound(segment) } else { Action::Outbound(segment) })
    }

    fn ecn(&mut self) -> Result<Option<Ecn>, Error> {
        let close = if self.accept('[') {
            ']'
        } else if self.accept('(') {
            ')'
        } else {
            return Ok(None);
        };
        let place = self.place();
        let Token::Word(word) = self.peek().clone() else { return self.expected("an ECN field") };
        let ecn = match word.as_str() {
            "noecn" => Ecn::NotEct,
            "ect0" => Ecn::Ect0,
            "ect1" => Ecn::Ect1,
            "ce" => Ecn::Ce,
            "ect01" | "tos" | "flowlabel" | "ttl" => return Err(Error::not_understood(place, word)),
            _ => return self.expected("noecn, ect0, ect1 or ce"),
        };
        self.next();
        self.expect(close)?;
        Ok(Some(ecn))
    }

    fn segment(&mut self, ecn: Option<Ecn>) -> Result<Segment, Error> {
        let place = self.place();
        let flags = self.flags()?;
        let (from, len) = self.range()?;
        let ack = if self.accept_word("ack") { self.number("an ACK number")? } else { 0 };
        let window = if self.accept_word("win") { Some(self.number("a window")?) } else { None };
        if self.accept_word("urg") {
            return Err(Error::not_understood(place, "urgent data"));
        }
        let bits = if self.accept_word("bits") { Some(self.number("reserved bits")?) } else { None };
        if bits.is_some_and(|bits| bits > 7) {
            return Err(Error::expected(place, "reserved bits up to 7"));
        }
        let options = if self.accept('<') { self.options()? } else { Some(Options::default()) };
        Ok(Segment { ecn, flags, from, len, ack, window, bits, options })
    }

    fn flags(&mut self) -> Result<String, Error> {
        let place = self.place();
        let mut flags = String::new();
        if self.accept('-') {
            return Ok(flags);
        }
        if let Token::Word(word) = self.peek().clone() {
            if !word.chars().all(|c| "FSRPEWUAC0123456789".contains(c)) {
                return self.expected("flags");
            }
            if word.contains(|c: char| !"FSRPEW".contains(c)) {
                return Err(Error::not_understood(place, format!("the flags {word}")));
            }
            flags = word;
            self.next();
        }
        if let Token::Decimal(text) = self.peek() {
            return Err(Error::not_understood(place, format!("the flags {flags}{text} (AccECN)")));
        }
        if self.accept('.') {
            flags.push('.');
        }
        if flags.is_empty() { self.expected("flags") } else { Ok(flags) }
    }

    /// Parses `1:1001(1000)`. Returns the first sequence number and the length.
    fn range(&mut self) -> Result<(u32, u32), Error> {
        let from: u32 = self.number("a sequence number")?;
        self.expect(':')?;
        let place = self.place();
        let to: u32 = self.number("a sequence number")?;
        self.expect('(')?;
        let len: u32 = self.number("a length")?;
        self.expect(')')?;
        if len > 1 << 30 {
            return Err(Error::expected(place, "a length up to 2^30"));
        }
        if to != from.wrapping_add(len) {
            return Err(Error::expected(place, &format!("{}: the length is {len}", from.wrapping_add(len))));
        }
        Ok((from, len))
    }

    /// Parses options after `<`.
    fn options(&mut self) -> Result<Option<Options>, Error> {
        if *self.peek() == Token::Ellipsis {
            self.next();
            self.expect('>')?;
            return Ok(None);
        }
        let mut options = Options::default();
        loop {
            self.option(&mut options)?;
            if !self.accept(',') {
                self.expect('>')?;
                return Ok(Some(options));
            }
        }
    }

    fn option(&mut self, options: &mut Options) -> Result<(), Error> {
        let place = self.place();
        let Token::Word(name) = self.peek().clone() else { return self.expected("a TCP option") };
        match name.as_str() {
            "nop" | "eol" => self.next(),
            "sackOK" => {
                self.next();
                options.sack_permitted = true;
            }
            "mss" => {
                self.next();
                options.mss = Some(self.number("a segment size")?);
            }
            "wscale" => {
                self.next();
                options.window_scale = Some(self.number("a shift")?);
            }
            "TS" => {
                self.next();
                if !self.accept_word("val") {
                    return self.expected("\"val\"");
                }
                let value = self.number("a timestamp")?;
                if !self.accept_word("ecr") {
                    return self.expected("\"ecr\"");
                }
                options.timestamps = Some((value, self.number("a timestamp")?));
            }
            "sack" => {
                self.next();
                while let Token::Integer(_) = self.peek() {
                    let left = self.number("a sequence number")?;
                    self.expect(':')?;
                    let right = self.number("a sequence number")?;
                    options.sack.push((left, right));
                }
                if options.sack.is_empty() {
                    return self.expected("a block");
                }
                // 40 octets of options have room for at most four blocks.
                if options.sack.len() > 4 {
                    return Err(Error::expected(place, "four blocks at most"));
                }
            }
            "FO" | "FOEXP" | "md5" | "ECN" => {
                return Err(Error::not_understood(place, format!("the option {name}")));
            }
            _ => return self.expected("a TCP option"),
        }
        Ok(())
    }

    /// Parses `icmp unreachable frag_needed mtu 1000 [1:1001(1000)]` after `icmp`.
    fn icmp(&mut self) -> Result<IcmpError, Error> {
        let place = self.place();
        if !self.accept_word("unreachable") {
            return Err(Error::not_understood(place, format!("ICMP {}", self.peek().name())));
        }
        let Token::Word(name) = self.peek().clone() else { return self.expected("a code") };
        let Some(code) = UNREACHABLE.iter().position(|known| *known == name) else {
            return Err(Error::not_understood(place, format!("ICMP unreachable {name}")));
        };
        self.next();
        let mtu = if self.accept_word("mtu") { Some(self.number("an MTU")?) } else { None };
        self.expect('[')?;
        let (from, len) = self.range()?;
        self.expect(']')?;
        Ok(IcmpError { code: code as u8, mtu, from, len })
    }
}
