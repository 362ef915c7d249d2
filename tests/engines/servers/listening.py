"""Read from the kernel the addresses on which a process and its descendants listen."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from pathlib import Path

_LISTENING = "0A"


def listening(pid: int) -> dict[str, set[str]]:
    """Return, by command, the IP addresses of all listening TCP sockets of a process and its descendants."""
    addresses = _addresses_by_inode()
    found: dict[str, set[str]] = {}
    for process in _with_descendants(pid):
        # Ray ends processes at any time.
        with suppress(OSError):
            command = (process / "comm").read_text().strip()
            for inode in _socket_inodes(process):
                if inode in addresses:
                    found.setdefault(command, set()).add(addresses[inode])
    return found


def is_loopback(address: str) -> bool:
    """Return whether only processes of this machine can reach an address; 127.0.0.1 may be mapped into IPv6."""
    host = ipaddress.ip_address(address)
    mapped = getattr(host, "ipv4_mapped", None)
    return (mapped or host).is_loopback


def _addresses_by_inode() -> dict[str, str]:
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[9]: _address(row[1].partition(":")[0]) for row in rows if row[3] == _LISTENING}


def _address(digits: str) -> str:
    """Return the address that the kernel spells as hexadecimal words in the byte order of the machine."""
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def _with_descendants(pid: int) -> list[Path]:
    found, left = [], [pid]
    while left:
        process = Path(f"/proc/{left.pop()}")
        found.append(process)
        with suppress(OSError):
            left += [int(each) for task in (process / "task").iterdir() for each in _children(task)]
    return found


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:
        return []


def _socket_inodes(process: Path) -> set[str]:
    found = set()
    for descriptor in (process / "fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[len("socket:[") : -1])
    return found
