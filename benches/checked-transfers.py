"""Transfers with checked octets, for the benches between the hosts of lossy-site.sh.

serve            answers downloads and uploads on port 5000
fetch N SECONDS  makes N transfers at once, half of them uploads, and prints one JSON object: how many were complete
                 ("whole"), how many were cut off with an error or without an answer, and how many seemed complete but
                 were not ("wrong"). A transfer that receives nothing for SECONDS is cut off.
"""

import asyncio
import json
import sys

ADDRESS, PORT = "10.88.1.2", 5000
LENGTH = 400_000
PIECE = 16_384
PATTERN = bytes(range(251)) * 300  # 251 is prime, so that a missing octet is detected


def piece(at, length):
    start = at % 251
    return PATTERN[start : start + length]


async def send(writer, patience):
    for at in range(0, LENGTH, PIECE):
        writer.write(piece(at, min(PIECE, LENGTH - at)))
        await asyncio.wait_for(writer.drain(), patience)
    writer.write_eof()


async def receive(reader, patience):
    """The number of octets until the end of the stream, and whether all are correct."""
    at, right = 0, True
    while octets := await asyncio.wait_for(reader.read(PIECE), patience):
        right = right and octets == piece(at, len(octets))
        at += len(octets)
    return at, right


async def serve():
    async def answer(reader, writer):
        try:
            if await reader.readexactly(1) == b"D":
                await send(writer, 120)
                await reader.read()
            else:
                at, right = await receive(reader, 120)
                writer.write(b"%d %d\n" % (at, right))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, ADDRESS, PORT, backlog=4096)
    await server.serve_forever()


async def transfer(upload, patience):
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(ADDRESS, PORT), patience)
        try:
            writer.write(b"U" if upload else b"D")
            if upload:
                await send(writer, patience)
                answer = await asyncio.wait_for(reader.read(), patience)
                if not answer:
                    return "cut off"
                at, right = map(int, answer.split())
            else:
                at, right = await receive(reader, patience)
            return "whole" if (at, bool(right)) == (LENGTH, True) else "wrong"
        finally:
            writer.close()
    except (OSError, asyncio.TimeoutError):
        return "cut off"


async def fetch(number, patience):
    print("started", flush=True)
    results = await asyncio.gather(*(transfer(index % 2 == 1, patience) for index in range(number)))
    print(json.dumps({kind: results.count(kind) for kind in ("whole", "cut off", "wrong")}))


if sys.argv[1] == "serve":
    asyncio.run(serve())
else:
    asyncio.run(fetch(int(sys.argv[2]), float(sys.argv[3])))
