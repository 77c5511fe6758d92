"""The senders and the receiver of benches/linux-codel.sh."""

import socket
import sys
import time

# Port, octets of payload, packets per second: 8.3, 5.5 and 0.06 Mbit/s with headers.
FLOWS = [(5001, 1012, 1000), (5002, 312, 2000), (5003, 132, 50)]
SECONDS = 20


def send():
    sockets = []
    for port, _, _ in FLOWS:
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
        sender.connect(("10.9.0.2", port))
        sockets.append(sender)
    start = time.monotonic()
    sent = [0] * len(FLOWS)
    while (now := time.monotonic() - start) < SECONDS:
        for index, (_, size, rate) in enumerate(FLOWS):
            while sent[index] < now * rate:
                stamp = str(time.monotonic()).encode()
                sockets[index].send(stamp.ljust(size, b" "))
                sent[index] += 1
        time.sleep(0.0002)


def receive():
    sockets = []
    for port, _, _ in FLOWS:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
        receiver.bind(("10.9.0.2", port))
        receiver.setblocking(False)
        sockets.append(receiver)
    delays = [[] for _ in FLOWS]
    start = time.monotonic()
    while time.monotonic() - start < SECONDS + 3:
        for index, receiver in enumerate(sockets):
            try:
                while True:
                    delays[index].append(time.monotonic() - float(receiver.recv(2048)))
            except BlockingIOError:
                pass
        time.sleep(0.0002)
    for (port, size, rate), delay in zip(FLOWS, delays):
        delay.sort()
        share = 100 * len(delay) / (rate * SECONDS)
        median, p95 = delay[len(delay) // 2], delay[len(delay) * 95 // 100]
        print(f"Linux: port {port}: {len(delay)} of {rate * SECONDS} arrived ({share:.1f}%), "
              f"delay {1e3 * median:.1f} ms in the median, {1e3 * p95:.1f} ms at the 95th percentile")


send() if sys.argv[1] == "send" else receive()
