#!/usr/bin/env python3
"""A transfer of checked octets: `serve` sends 4 MB per second to whoever connects, until there is a file /mnt/enough;
`fetch ADDRESS` receives them."""
import hashlib
import os
import socket
import sys
import time

PIECE = hashlib.sha256(b"lasthop").digest() * 1000
EVERY_S = 0.008
END = b"end"


def serve():
    listener = socket.create_server(("", 8080))
    while True:
        connection, _ = listener.accept()
        with connection:
            while not os.path.exists("/mnt/enough"):
                connection.sendall(PIECE)
                time.sleep(EVERY_S)
            connection.sendall(END)


def fetch(address):
    connection = socket.create_connection((address, 8080), timeout=30)
    received = bytearray()
    longest_s = 0
    while True:
        before = time.monotonic()
        octets = connection.recv(1 << 16)
        longest_s = max(longest_s, time.monotonic() - before)
        if not octets:
            break
        received += octets
    pieces = len(received) // len(PIECE)
    if received != PIECE * pieces + END:
        sys.exit(f"FAILED: the {len(received)} octets that arrived are not those that were sent")
    print(f"a transfer of {len(received)} octets arrived whole; its longest wait was {longest_s * 1000:.0f} ms")


serve() if sys.argv[1] == "serve" else fetch(sys.argv[2])
