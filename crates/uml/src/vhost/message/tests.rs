use super::*;

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    [[request, flags, payload.len() as u32].map(u32::to_le_bytes).as_flattened(), payload].concat()
}

fn parsed(request: u32, payload: &[u8]) -> Result<Request, MessageError> {
    Message::parse(&message(request, 9, payload)).map(|whole| whole.expect("it is whole").request)
}

#[test]
fn a_message_is_incomplete_until_its_last_octet() {
    let kick = message(35, 9, &[1, 0, 0, 0, 0, 0, 0, 0]);
    for length in 0..kick.len() {
        assert_eq!(Message::parse(&kick[..length]), Ok(None));
    }
    let expected = Message { request: Request::Kick { queue: 1 }, needs_reply: true, length: 20 };
    assert_eq!(Message::parse(&[kick, vec![7; 9]].concat()), Ok(Some(expected)));
}

#[test]
fn a_memory_table_has_a_region_for_each_descriptor() {
    let words = [2, 0x1000, 0x2000, 9, 0x3000, 0x8000, 0x1000, 9, 0];
    let table: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    let request = parsed(5, &table).expect("a rightful table");
    assert_eq!(request.descriptors(), 2);
    let first = Region { address: 0x1000, size: 0x2000, offset: 0x3000 };
    let second = Region { address: 0x8000, size: 0x1000, offset: 0 };
    assert_eq!(request, Request::SetMemoryTable(vec![first, second]));
}

#[test]
fn a_table_of_fewer_regions_than_it_says_is_refused() {
    let table: Vec<u8> = [2, 1, 2, 3, 4].into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(parsed(5, &table), Err(MessageError::Size { request: 5, size: 40 }));
    for number in [0, 9] {
        let table = u64::to_le_bytes(number);
        assert_eq!(parsed(5, &table), Err(MessageError::Regions(number as u32)));
    }
}

#[test]
fn a_payload_of_another_size_is_refused() {
    for request in [1, 2, 3, 5, 8, 9, 10, 15, 16, 18, 21, 24, 25, 35] {
        let payload = [0; 7];
        assert_eq!(parsed(request, &payload), Err(MessageError::Size { request, size: 7 }));
    }
    let long = message(2, 1, &[0; 513]);
    assert_eq!(Message::parse(&long[..HEADER]), Err(MessageError::Size { request: 2, size: 513 }));
}

#[test]
fn replies_other_versions_and_unknown_requests_are_refused() {
    for flags in [0, 2, 3, 5] {
        let refused = Message::parse(&message(1, flags, &[]));
        assert_eq!(refused, Err(MessageError::Flags { request: 1, flags }));
    }
    assert_eq!(parsed(12, &[0; 8]), Err(MessageError::Request(12)));
}

#[test]
fn a_configuration_is_read_within_its_bounds() {
    let words = |words: [u32; 3]| words.map(u32::to_le_bytes).concat();
    let whole = [words([0, 6, 1]), vec![0; 6]].concat();
    assert_eq!(parsed(24, &whole), Ok(Request::GetConfiguration { offset: 0, size: 6, flags: 1 }));
    let beyond = words([u32::MAX, 2, 0]);
    assert_eq!(parsed(24, &beyond), Err(MessageError::Configuration { offset: u32::MAX, size: 2 }));
}

#[test]
fn an_interrupt_is_a_request_of_20_octets() {
    assert_eq!(call(1), [4, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        done(&Request::Kick { queue: 1 }),
        [35, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(reply(&Request::SetOwner, &[7]), [3, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 7]);
}
