//! A guest's side of the protocols, as Linux's kernel for user mode has it.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use lasthop_uml::time::{LENGTH, Message, Operation};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The time socket, and what the guest knows of time.
pub struct Time {
    socket: UnixStream,
    sequence: u32,
    /// Until when it may run, in nanoseconds.
    pub free_until: Option<u64>,
    /// The memory of time, if the guest uses it, and its number there.
    shared: Option<(File, u64)>,
}

impl Time {
    /// Connects, and says nothing.
    pub fn connect() -> Self {
        let socket = UnixStream::connect("time").expect("a calendar");
        Self { socket, sequence: 0, free_until: None, shared: None }
    }

    /// Connects and starts.
    pub fn start() -> Self {
        let mut time = Self::connect();
        time.ask(Operation::Start, 1);
        time
    }

    /// Starts, and takes the memory that comes with the answer.
    pub fn start_shared() -> Self {
        let mut time = Self::connect();
        time.send(Operation::Start, 1);
        let mut octets = [0; LENGTH];
        let mut control = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut control);
        let buffer = &mut [IoSliceMut::new(&mut octets)];
        recvmsg(&time.socket, buffer, &mut control, RecvFlags::empty()).expect("an answer");
        let files = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files.collect::<Vec<OwnedFd>>()),
            _ => None,
        });
        let answer = Message::parse(octets).expect("an answer");
        let memory = File::from(files.expect("files").swap_remove(0));
        time.shared = Some((memory, answer.time & 0xffff));
        let place = 4096 + 128 * (answer.time & 0xffff);
        time.write(place, 1);
        assert_eq!(time.read(24) & 0xffff, answer.time, "the guest runs");
        time
    }

    fn read(&self, at: u64) -> u64 {
        let mut octets = [0; 8];
        self.shared.as_ref().expect("shared").0.read_exact_at(&mut octets, at).expect("a field");
        u64::from_le_bytes(octets)
    }

    fn write(&self, at: u64, value: u64) {
        self.shared.as_ref().expect("shared").0.write_all_at(&value.to_le_bytes(), at).expect("a field");
    }

    /// Sends a message.
    pub fn send(&mut self, operation: Operation, time: u64) {
        self.sequence += 1;
        let message = Message { operation, sequence: self.sequence, time };
        self.socket.write_all(&message.emit()).expect("a calendar");
    }

    /// Sends any octets.
    pub fn send_octets(&mut self, octets: &[u8]) {
        self.socket.write_all(octets).expect("a calendar");
    }

    fn receive(&mut self) -> Message {
        let mut octets = [0; LENGTH];
        self.socket.read_exact(&mut octets).expect("a calendar");
        Message::parse(octets).expect("a message")
    }

    /// Asks, and returns the time in the answer.
    pub fn ask(&mut self, operation: Operation, time: u64) -> u64 {
        self.send(operation, time);
        let answer = self.receive();
        assert_eq!((answer.operation, answer.sequence), (Operation::Ack, self.sequence));
        answer.time
    }

    /// Asks to run then.
    pub fn request(&mut self, time: u64) {
        if let Some((_, number)) = self.shared {
            let place = 4096 + 128 * number;
            self.write(place, 1 | 1 << 32);
            self.write(place + 8, time);
        } else {
            self.ask(Operation::Request, time);
        }
    }

    /// Says that its clock has reached this time.
    pub fn update(&mut self, time: u64) {
        if self.shared.is_some() {
            self.write(16, time);
        } else {
            self.ask(Operation::Update, time);
        }
    }

    /// The time.
    pub fn get(&mut self) -> u64 {
        if self.shared.is_some() { self.read(16) } else { self.ask(Operation::Get, 0) }
    }

    /// Until when it may run.
    pub fn limit(&mut self) -> Option<u64> {
        if self.shared.is_some() { Some(self.read(8)) } else { self.free_until }
    }

    /// Waits until it may run; returns the time. Interrupts come from the devices.
    pub fn wait(&mut self, devices: &mut [&mut Device]) -> u64 {
        self.free_until = None;
        if self.shared.is_some() {
            self.send(Operation::Wait, 0);
        } else {
            self.ask(Operation::Wait, 0);
        }
        loop {
            let ready = first_ready(self, devices);
            let Some(device) = ready else {
                let message = self.receive();
                let is_run = message.operation == Operation::Run;
                if let (true, Some((_, number))) = (is_run, &self.shared) {
                    let place = 4096 + 128 * number;
                    self.write(place, 1);
                } else {
                    self.obey(message);
                }
                if is_run {
                    return message.time;
                }
                continue;
            };
            let queue = devices[device].take_call();
            let now = self.get();
            self.request(now);
            devices[device].interrupts.push((now, queue));
            devices[device].answer_call();
        }
    }

    fn obey(&mut self, message: Message) {
        match message.operation {
            Operation::FreeUntil => self.free_until = Some(message.time),
            Operation::Run => {}
            other => panic!("{other:?}"),
        }
        self.socket.write_all(&message.ack(0).emit()).expect("a calendar");
    }
}

/// The first device with an interrupt; `None` for the time socket.
fn first_ready(time: &Time, devices: &[&mut Device]) -> Option<usize> {
    let mut polled = vec![PollFd::new(&time.socket, PollFlags::IN)];
    polled.extend(devices.iter().map(|device| PollFd::new(&device.calls, PollFlags::IN)));
    poll(&mut polled, None).expect("a calendar");
    polled.iter().position(|polled| !polled.revents().is_empty()).expect("one is ready").checked_sub(1)
}

/// A driver: two queues of 8 in the first page of the memory, buffers in the others.
pub struct Device {
    socket: UnixStream,
    calls: UnixStream,
    memory: File,
    available: [u16; 2],
    /// The times of interrupts, and their queues.
    pub interrupts: Vec<(u64, u32)>,
}

/// Where the memory starts for the guest.
pub const BASE: u64 = 0x10_0000;
/// Its octets.
pub const SIZE: u64 = 0x1_0000;
/// Where a queue's descriptors are; available and used ring follow.
const QUEUE: u64 = 0x400;
const AVAILABLE: u64 = 0x100;
const USED: u64 = 0x200;
/// The header of a frame.
pub const HEADER: u64 = 12;

impl Device {
    /// Connects to the device with this number.
    pub fn connect(number: usize) -> (Self, UnixStream) {
        let socket = UnixStream::connect(format!("device{number}")).expect("a device");
        let (calls, theirs) = UnixStream::pair().expect("sockets");
        let memory = memfd_create("memory", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&memory, SIZE).expect("memory");
        (Self { socket, calls, memory: memory.into(), available: [0; 2], interrupts: Vec::new() }, theirs)
    }

    /// Sets up all, as Linux does.
    pub fn set_up(time: &mut Time, number: usize) -> Self {
        let (mut device, calls) = Self::connect(number);
        device.negotiate(time, calls.as_fd());
        device.send(time, 2, &(1_u64 << 32 | 1 << 30 | 1 << 5).to_le_bytes(), &[]);
        let address = device.question(24, &[words(&[0, 6, 0]), vec![0; 6]].concat());
        assert_eq!(address[12..], [2, 0, 0, 0, 0, number as u8 + 1]);
        let memory = device.memory.try_clone().expect("memory");
        device.send(time, 5, &table(BASE, SIZE, 0), &[memory.as_fd()]);
        for queue in 0..2 {
            device.place(time, queue);
        }
        for queue in 0..2 {
            device.send(time, 18, &words(&[queue, 1]), &[]);
        }
        device
    }

    /// Up to where interrupts go.
    pub fn negotiate(&mut self, time: &mut Time, calls: BorrowedFd<'_>) {
        // The first request asks for no reply, so that two come together.
        self.write(3, 1, &[], &[]);
        assert_eq!(self.question(1, &[]), (1_u64 << 32 | 1 << 30 | 1 << 5).to_le_bytes());
        assert_eq!(self.question(15, &[]), 0x4228_u64.to_le_bytes());
        self.write(16, 1, &0x4228_u64.to_le_bytes(), &[]);
        self.send(time, 21, &[], &[calls]);
    }

    /// Size, base and addresses of a queue.
    pub fn place(&mut self, time: &mut Time, queue: u32) {
        self.send(time, 8, &words(&[queue, 8]), &[]);
        self.send(time, 10, &words(&[queue, 0]), &[]);
        let start = BASE + QUEUE * u64::from(queue);
        let addresses = [u64::from(queue), start, start + USED, start + AVAILABLE, u64::MAX];
        self.send(time, 9, &addresses.map(u64::to_le_bytes).concat(), &[]);
    }

    fn write(&mut self, request: u32, flags: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        let octets = [words(&[request, flags, payload.len() as u32]), payload.to_vec()].concat();
        let mut control = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut control);
        if !files.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(files));
        }
        sendmsg(&self.socket, &[IoSlice::new(&octets)], &mut control, SendFlags::empty()).expect("a device");
    }

    fn read(&mut self) -> (u32, Vec<u8>) {
        let mut header = [0; 12];
        self.socket.read_exact(&mut header).expect("a reply");
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four"));
        assert_eq!(word(4), 5, "a reply of version 1");
        let mut payload = vec![0; word(8) as usize];
        self.socket.read_exact(&mut payload).expect("a reply");
        (word(0), payload)
    }

    /// A request with an answer.
    pub fn question(&mut self, request: u32, payload: &[u8]) -> Vec<u8> {
        self.write(request, 1, payload, &[]);
        let (number, answer) = self.read();
        assert_eq!(number, request);
        answer
    }

    /// A request that is to be confirmed. The time socket is read meanwhile.
    pub fn send(&mut self, time: &mut Time, request: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        self.write(request, 9, payload, files);
        loop {
            let mut polled =
                [PollFd::new(&time.socket, PollFlags::IN), PollFd::new(&self.socket, PollFlags::IN)];
            poll(&mut polled, None).expect("a calendar");
            if polled[0].revents().is_empty() {
                break;
            }
            let message = time.receive();
            time.obey(message);
        }
        assert_eq!(self.read(), (request, vec![0; 8]));
    }

    /// Takes an interrupt; returns its queue.
    pub fn take_call(&mut self) -> u32 {
        let mut call = [0; 20];
        self.calls.read_exact(&mut call).expect("an interrupt");
        assert_eq!(call[..12], words(&[4, 9, 8]));
        u32::from_le_bytes(call[12..16].try_into().expect("four"))
    }

    fn answer_call(&mut self) {
        self.calls.write_all(&[words(&[4, 5, 8]), vec![0; 8]].concat()).expect("a device");
    }

    /// Writes a descriptor of a queue.
    pub fn describe(&mut self, queue: u64, number: u64, fields: (u64, u32, u16, u16)) {
        let (address, length, flags, next) = fields;
        let octets =
            [&address.to_le_bytes()[..], &length.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()]
                .concat();
        self.memory.write_all_at(&octets, QUEUE * queue + 16 * number).expect("memory");
    }

    /// Says that no interrupt is needed when a frame has left.
    pub fn suppress_interrupts(&mut self) {
        self.memory.write_all_at(&[1, 0], QUEUE + AVAILABLE).expect("memory");
    }

    /// Makes the buffer that starts with this descriptor available.
    pub fn offer(&mut self, queue: usize, head: u16) {
        let start = QUEUE * queue as u64 + AVAILABLE;
        let entry = u64::from(self.available[queue] % 8);
        self.memory.write_all_at(&head.to_le_bytes(), start + 4 + 2 * entry).expect("memory");
        self.set_available(queue, self.available[queue].wrapping_add(1));
    }

    /// Sets the index of available buffers.
    pub fn set_available(&mut self, queue: usize, index: u16) {
        self.available[queue] = index;
        let at = QUEUE * queue as u64 + AVAILABLE + 2;
        self.memory.write_all_at(&index.to_le_bytes(), at).expect("memory");
    }

    /// Offers a buffer for a frame of this length, at this page.
    pub fn offer_buffer(&mut self, page: u64, length: u64) {
        self.describe(0, page, (BASE + 0x1000 * page, (HEADER + length) as u32, 2, 0));
        self.offer(0, page as u16);
    }

    /// Puts a frame into the queue.
    pub fn put(&mut self, frame: &[u8]) {
        let octets = [&[0; HEADER as usize], frame].concat();
        self.memory.write_all_at(&octets, 0x8000).expect("memory");
        self.describe(1, 0, (BASE + 0x8000, octets.len() as u32, 0, 0));
        self.offer(1, 0);
    }

    /// Says that there is something new in a queue.
    pub fn kick(&mut self, time: &mut Time, queue: u32) {
        self.send(time, 35, &words(&[queue, 0]), &[]);
    }

    /// The index of used buffers, and the flags.
    pub fn used(&self, queue: u64) -> (u16, u16) {
        let mut octets = [0; 4];
        self.memory.read_exact_at(&mut octets, QUEUE * queue + USED).expect("memory");
        let [flags @ .., low, high] = octets;
        (u16::from_le_bytes([low, high]), u16::from_le_bytes(flags))
    }

    /// The frame in the buffer at this page.
    pub fn frame(&self, page: u64, length: usize) -> Vec<u8> {
        let mut octets = vec![0; length];
        self.memory.read_exact_at(&mut octets, 0x1000 * page + HEADER).expect("memory");
        octets
    }
}

/// Words, little endian.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A memory table of one region, in the space of two.
pub fn table(address: u64, size: u64, offset: u64) -> Vec<u8> {
    [1, address, size, address, offset, 0, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes).collect()
}
