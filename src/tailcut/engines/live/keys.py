"""The key of a run: only processes that hold it can connect to each other.

One CURVE key pair per run, held by the controller and by every worker. Servers prove that they hold it and
admit only clients that prove it too; all traffic between them is encrypted. The cryptography is ZeroMQ's own.
Without a key nothing is secured: that is for a machine without other users.

    launcher ── TAILCUT_KEY, or TAILCUT_KEY_FILE ──▶ found_key ─▶ secured_server, secured_client
"""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import zmq
from zmq.auth.thread import ThreadAuthenticator

from tailcut.bounded_files import open_file
from tailcut.errors import InputError

NAME, FILE_NAME = "TAILCUT_KEY", "TAILCUT_KEY_FILE"
"""Environment variables: the key itself, or the path of a file that holds it."""
DOMAIN = "tailcut"
"""ZAP domain of the sockets. With a domain they refuse every client while no authenticator runs."""
SEALED = 64
"""Bytes that encryption may add to a frame."""
LETTERS = 40
"""Characters in a Z85-encoded key."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@final
@dataclass(frozen=True, slots=True)
class Key:
    """A key pair, encoded in Z85.

    Attributes:
        public: public key, by which clients know servers.
        secret: secret key, which admits its holder to the run. It is never shown.

    Example:
        >>> key = Key.new()
        >>> Key.of(key.secret.decode()) == key, key.secret.decode() in repr(key)
        (True, False)
    """

    public: bytes
    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> Key:
        """Make a new key.

        Raises:
            InputError: this ZeroMQ was built without cryptography.
        """
        try:
            public, secret = zmq.curve_keypair()
        except zmq.ZMQError as problem:
            raise InputError(
                f"No key can be made: {problem}. Install pyzmq as it comes from PyPI, which has CURVE."
            ) from None
        return cls(public, secret)

    @classmethod
    def of(cls, secret: str, where: str = "the text") -> Key:
        """Return the key pair that a secret belongs to.

        Args:
            secret: 40 characters; white space around them does not count.
            where: source of the secret, for the error message.

        Raises:
            InputError: the secret is no key. The message does not repeat it.
        """
        letters = secret.strip()
        try:
            raw = letters.encode("ascii")
            return cls(zmq.curve_public(raw), raw)
        except (UnicodeEncodeError, ValueError, zmq.ZMQError):
            raise InputError(
                f"What {where} holds is no key: one has {LETTERS} letters of Z85, this has {len(letters)} letters or "
                "others. Make one with `tailcut key FILE`."
            ) from None


def found_key(environment: Mapping[str, str] | None = None) -> Key | None:
    """Return the key that the environment gives; None if it gives none.

    Args:
        environment: environment to look into; by default the process's own.

    Raises:
        InputError: it gives two, or something that is no key, or a file that others may read.
    """
    given = os.environ if environment is None else environment
    word, path = given.get(NAME), given.get(FILE_NAME)
    if word is not None and path is not None:
        raise InputError(f"Both {NAME} and {FILE_NAME} are set, and one run has one key. Set one of them.")
    if word is not None:
        return Key.of(word, NAME)
    return None if path is None else read_key(Path(path))


def with_key(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for the processes of one run: this one, with a new key if it has none."""
    if found_key(environment) is not None:
        return dict(environment)
    return {**environment, NAME: Key.new().secret.decode()}


def open_to_all(address: str, key: Key | None) -> str | None:
    """Return a warning if other machines can connect without a key; None if they cannot.

    Args:
        address: address that the run listens on, as `tcp://host:port`.
        key: key of the run, if it has one.

    Example:
        >>> open_to_all("tcp://127.0.0.1:4242", None) is None
        True
    """
    host = address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    if key is not None or _is_loopback(host):
        return None
    return (
        f"This run has no key and listens on {address}: whoever reaches that port can join it, read it or end it. Make "
        f"a key with `tailcut key FILE` and set {FILE_NAME} everywhere, or let only its machines reach each other."
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def write_key(path: Path, key: Key) -> None:
    """Write a key to a new file that other users cannot read at any moment.

    Raises:
        InputError: the file is there already, or cannot be made.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise InputError(f"{path} is there already. Give another name, or remove it first.") from None
    except OSError as problem:
        raise InputError(f"The key cannot be written to {path} ({problem.strerror}).") from None
    with os.fdopen(file, "wb") as opened:
        opened.write(key.secret + b"\n")


def read_key(path: Path) -> Key:
    """Return the key in a file.

    Raises:
        InputError: it cannot be read, others may read it, or it holds no key.
    """
    try:
        with open_file(path) as file:
            # Checked after the file was opened, so that no other file can take its place in between.
            why = _unfit(os.fstat(file.fileno()))
            if why is not None:
                raise InputError(f"The key file {path} {why}.")
            text = file.read(4 * LETTERS).decode("ascii", errors="replace")
    except OSError as problem:
        raise InputError(
            f"The key file {path} cannot be read ({problem.strerror}). Set {FILE_NAME} to a file with the run's key."
        ) from None
    return Key.of(text, str(path))


def _unfit(facts: os.stat_result) -> str | None:
    """Return why a file cannot hold a key; None if it can."""
    if facts.st_uid != os.geteuid():
        return (
            f"belongs to user {facts.st_uid}, not to user {os.geteuid()}, who wants it. Give each user a copy"
        )
    mode = stat.S_IMODE(facts.st_mode)
    return (
        f"has mode {mode:04o}: others may have read it. Use a new key, in mode 0600"
        if mode & OTHERS
        else None
    )


@contextmanager
def secured_server(socket: zmq.Socket[bytes], key: Key | None) -> Iterator[None]:
    """Let only holders of the key connect to a socket that is not bound yet; with None any client may.

    A thread of the socket's context authenticates clients. It ends with this context manager, which must end
    before the socket's context does.
    """
    if key is None:
        yield
        return
    authenticator = ThreadAuthenticator(socket.context)
    authenticator.configure_curve_callback(domain=DOMAIN, credentials_provider=_Holders(key.public))
    authenticator.start()
    try:
        socket.setsockopt(zmq.ZAP_DOMAIN, DOMAIN.encode())
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, key.public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, key.secret)
        yield
    finally:
        authenticator.stop()


def secured_client(socket: zmq.Socket[bytes], key: Key | None) -> None:
    """Make a client prove that it holds the key, and require that of the server; call before connecting."""
    if key is None:
        return
    socket.setsockopt(zmq.CURVE_SERVERKEY, key.public)
    socket.setsockopt(zmq.CURVE_PUBLICKEY, key.public)
    socket.setsockopt(zmq.CURVE_SECRETKEY, key.secret)


@final
@dataclass(frozen=True, slots=True)
class _Holders:
    """The clients that may connect: those that have proved to hold the secret of this public key."""

    public: bytes

    def callback(self, domain: str, proved: bytes) -> bool:
        """Return whether a client may connect; called by the authenticator."""
        return domain == DOMAIN and proved == self.public
