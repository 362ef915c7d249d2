"""Attackers without the run's key: by hand over TCP, and as clients of ZeroMQ with no key or another."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import zmq

from benchmarks.reliability.fuzz.letters import Letter
from tailcut.engines.live.keys import Key, secured_client

GREETING = 64
"""First bytes of a ZMTP connection, from either side."""
HANDSHAKE = (b"\x07WELCOME", b"\x05ERROR")
"""First bytes of the frames that a server may send before a client has authenticated."""
COMMAND, LARGE, MORE = 4, 2, 1
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Heard:
    """The answer to a stranger: bytes beyond greeting and handshake, and whether the server hung up."""

    more: int
    closed: bool


def greeting(mechanism: bytes) -> bytes:
    """Return a ZMTP 3.1 greeting for a security mechanism."""
    return b"\xff" + bytes(8) + b"\x7f\x03\x01" + mechanism.ljust(20, b"\0") + bytes(32)


def frame(body: bytes, flags: int = 0) -> bytes:
    """Return `body` as a ZMTP frame."""
    if len(body) > 255:
        return bytes((flags | LARGE,)) + struct.pack(">Q", len(body)) + body
    return bytes((flags, len(body))) + body


def ready() -> bytes:
    """Return the READY command that a client without a key sends after the greeting."""
    return frame(b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER", COMMAND)


def spoken(letter: Letter) -> bytes:
    """A letter as frames."""
    *first, last = letter.parts
    return b"".join(frame(part, MORE) for part in first) + frame(last)


def without_key(letters: Sequence[Letter]) -> bytes:
    """A client that has no key, and says all it has to say."""
    return greeting(b"NULL") + ready() + b"".join(map(spoken, letters))


def as_if_known(letters: Sequence[Letter]) -> bytes:
    """A client that leaves the handshake out."""
    return greeting(b"CURVE") + b"".join(map(spoken, letters))


def garbage(letters: Sequence[Letter], random: np.random.Generator) -> bytes:
    """No ZMTP at all, or a greeting and then a frame that claims to be immense."""
    said = b"".join(b"".join(letter.parts) for letter in letters)
    if random.random() < 0.5:
        return greeting(b"CURVE") + bytes((LARGE,)) + struct.pack(">Q", 1 << 62) + said
    return random.bytes(GREETING) + said


def say(address: str, what: bytes) -> Heard:
    """Say it over a connection of its own, and hear until that is closed."""
    heard = b""
    with socket.create_connection(_place(address), PATIENCE_S) as line:
        with suppress(OSError):  # closed in the midst of it: what was heard until then is there to be read
            line.sendall(what)
        try:
            while more := line.recv(1 << 16):
                heard += more
        except TimeoutError:
            return Heard(_beyond(heard), closed=False)
        except OSError:
            pass
    return Heard(_beyond(heard), closed=True)


def _beyond(heard: bytes) -> int:
    """Bytes that are neither the greeting nor a command of the handshake."""
    rest = heard[GREETING:]
    while len(rest) > 2 and rest[0] == COMMAND and rest[2:].startswith(HANDSHAKE):
        rest = rest[2 + rest[1] :]
    return len(rest)


def _place(address: str) -> tuple[str, int]:
    host, port = address.removeprefix("tcp://").split(":")
    return host, int(port)


def overheard(address: str, key: Key, frames: Sequence[bytes]) -> bytes:
    """Return the bytes that a client with the key sends to the server, recorded by a proxy in between."""
    said: list[bytes] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as door,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as client,
    ):
        secured_client(client, key)
        client.setsockopt(zmq.LINGER, 0)
        client.connect(f"tcp://127.0.0.1:{door.getsockname()[1]}")
        for each in frames:
            client.send(each)
        near, _ = door.accept()
        with near, socket.create_connection(_place(address)) as far:
            back = threading.Thread(target=_pass_on, args=(far, near, []))
            there = threading.Thread(target=_pass_on, args=(near, far, said))
            back.start()
            there.start()
            if client.poll(int(1000 * PATIENCE_S)):
                client.recv()
            for side in (near, far):
                side.shutdown(socket.SHUT_RDWR)
            back.join()
            there.join()
    return b"".join(said)


def _pass_on(source: socket.socket, sink: socket.socket, said: list[bytes]) -> None:
    with suppress(OSError):
        while some := source.recv(1 << 16):
            said.append(some)
            sink.sendall(some)


def refused(address: str, letters: Sequence[Letter], server: Key | None, own: Key | None) -> bool:
    """Return whether a ZeroMQ client without the key gets no handshake and no message.

    Args:
        address: address of the server.
        letters: messages that the client tries to send.
        server: key pair whose public key the client expects of the server; None for a client without keys.
        own: the client's own key pair; None for a client without keys.
    """
    with zmq.Context() as context, context.socket(zmq.DEALER) as client:
        client.setsockopt(zmq.LINGER, 0)
        if server is not None and own is not None:
            client.setsockopt(zmq.CURVE_SERVERKEY, server.public)
            client.setsockopt(zmq.CURVE_PUBLICKEY, own.public)
            client.setsockopt(zmq.CURVE_SECRETKEY, own.secret)
        events = client.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        client.connect(address)
        for letter in letters:
            client.send_multipart(letter.parts)
        nothing = not client.poll(300) and not events.poll(0)
        client.disable_monitor()
        events.close()
    return nothing
