//! The octets of messages on the time socket: operation (4), sequence number (4), time in nanoseconds (8), little endian.

/// Octets of a message.
pub const LENGTH: usize = 16;

/// A message on the time socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub operation: Operation,
    /// The sequence number, which the answer repeats.
    pub sequence: u32,
    /// Nanoseconds; what they mean depends on the operation.
    pub time: u64,
}

/// The operations of the time socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Either way: the answer to a message.
    Ack = 0,
    /// From the guest, first: its time is an identifier of the guest's choice.
    Start = 1,
    /// From the guest: it asks to run at this time. Only the last request counts.
    Request = 2,
    /// From the guest: it stands still until it may run.
    Wait = 3,
    /// From the guest: the answer carries the time.
    Get = 4,
    /// From the guest: its clock has reached this time.
    Update = 5,
    /// To the guest: it is this time, and the guest may run.
    Run = 6,
    /// To the guest: it may advance its clock by itself as long as it stays below this time.
    FreeUntil = 7,
    /// From the guest: the answer carries the time of day at the start, since 1970.
    TimeOfDay = 8,
    /// Either way: a number for all guests. It has no meaning for time.
    Broadcast = 9,
}

/// A message that is not of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation {0} on the time socket; there are 0 to 9")]
pub struct UnknownOperation(pub u32);

impl Message {
    /// Parses a message.
    pub fn parse(octets: [u8; LENGTH]) -> Result<Self, UnknownOperation> {
        let number = u128::from_le_bytes(octets);
        let operation = match number as u32 {
            0 => Operation::Ack,
            1 => Operation::Start,
            2 => Operation::Request,
            3 => Operation::Wait,
            4 => Operation::Get,
            5 => Operation::Update,
            6 => Operation::Run,
            7 => Operation::FreeUntil,
            8 => Operation::TimeOfDay,
            9 => Operation::Broadcast,
            other => return Err(UnknownOperation(other)),
        };
        Ok(Self { operation, sequence: (number >> 32) as u32, time: (number >> 64) as u64 })
    }

    /// The octets of a message.
    pub const fn emit(self) -> [u8; LENGTH] {
        let number = self.operation as u128 | (self.sequence as u128) << 32 | (self.time as u128) << 64;
        number.to_le_bytes()
    }

    /// The answer to a message.
    #[must_use]
    pub const fn ack(self, time: u64) -> Self {
        Self { operation: Operation::Ack, sequence: self.sequence, time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_16_octets_in_little_endian() {
        let message = Message { operation: Operation::Update, sequence: 0x0102, time: 0x0304_0506 };
        let octets = [5, 0, 0, 0, 2, 1, 0, 0, 6, 5, 4, 3, 0, 0, 0, 0];
        assert_eq!(message.emit(), octets);
        assert_eq!(Message::parse(octets), Ok(message));
    }

    #[test]
    fn every_operation_is_read_as_it_was_written() {
        for number in 0..10 {
            let mut octets = [7; LENGTH];
            octets[..4].copy_from_slice(&[number, 0, 0, 0]);
            assert_eq!(Message::parse(octets).expect("it exists").emit(), octets);
        }
    }

    #[test]
    fn an_unknown_operation_is_refused() {
        let mut octets = [0; LENGTH];
        octets[0] = 10;
        assert_eq!(Message::parse(octets), Err(UnknownOperation(10)));
    }

    #[test]
    fn an_answer_has_the_sequence_number_of_its_message() {
        let get = Message { operation: Operation::Get, sequence: 9, time: u64::MAX };
        assert_eq!(get.ack(5), Message { operation: Operation::Ack, sequence: 9, time: 5 });
    }
}
