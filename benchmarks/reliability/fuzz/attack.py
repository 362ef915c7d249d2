"""Carry out the whole attack, and judge its result."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import zmq

from benchmarks.claims import Claim
from benchmarks.reliability.fuzz import strangers
from benchmarks.reliability.fuzz.controlled import WORKERS, Controlled
from benchmarks.reliability.fuzz.honest import Worked, chain_of
from benchmarks.reliability.fuzz.insiders import Insiders
from benchmarks.reliability.fuzz.letters import Forger, Letter
from benchmarks.reliability.fuzz.watched import Vitals, Watched, running
from tailcut.engines.live.data.serving import MOST_REQUEST
from tailcut.engines.live.keys import Key
from tailcut.engines.live.messages import Copy, Pull
from tailcut.engines.live.wire import MOST_BYTES, encode

WAYS = {
    "with the key": 0.4,
    "with the key, at once": 0.1,
    "no key": 0.2,
    "handshake left out": 0.15,
    "no ZMTP": 0.1,
    "overheard, replayed": 0.05,
}
"""Kinds of attackers, and the share of the messages that each sends."""
BATCH = {"with the key": 16, "with the key, at once": 512}
"""Messages over one connection: as many as a client that sends garbage may send, and many more."""
BATCH_OF_STRANGERS = 64
OVERHEARD = 20
ALLOWED = {"controller": {"Refused"}, "updates": {"NotYet", "update", "state"}}
"""Answers that a holder of the key that is no worker may get, by port."""
MOST_GROWTH = 0.05
WARM_UP = 0.3


@dataclass
class Sent:
    """Counts for one kind of attacker at one port."""

    letters: int = 0
    connections: int = 0
    closed: int = 0
    more: int = 0
    answers: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Report:
    """The measurements of an attack.

    Attributes:
        kinds: number of messages by kind.
        sent: counts by kind of attacker and port.
        turned_away: ZeroMQ clients without the key that got no answer, and all of them.
        before, after: memory and files of controller and workers, before and after the attack.
        quiet, attacked: rounds per second without and under attack.
        controlled, worked: final states of controller and workers.
    """

    kinds: Counter[str]
    sent: dict[tuple[str, str], Sent]
    turned_away: tuple[int, int]
    before: tuple[Vitals, Vitals]
    after: tuple[Vitals, Vitals]
    quiet: float
    attacked: float
    controlled: Controlled
    worked: Worked

    def claims(self, messages: int) -> list[Claim]:
        """Return the claims: the properties that must hold, and that all requested messages were sent."""
        served, worked = self.controlled.served, self.worked
        strange = [
            f"{name} from {port}"
            for (_, port), sent in self.sent.items()
            for name in sent.answers
            if name not in ALLOWED[port]
        ]
        raw = [sent for (way, _), sent in self.sent.items() if way not in BATCH]
        connections, closed = sum(each.connections for each in raw), sum(each.closed for each in raw)
        growth = [
            after.kilobytes / before.kilobytes - 1.0
            for before, after in zip(self.before, self.after, strict=True)
        ]
        files = [after.files - before.files for before, after in zip(self.before, self.after, strict=True)]
        expected = [chain_of(worked.version)] * WORKERS
        state = (self.controlled.epoch, self.controlled.members, served.version, served.why)
        away, tried = self.turned_away
        more = sum(each.more for each in raw)
        letters = sum(each.letters for each in self.sent.values())
        return [
            Claim(f"≥ {messages:,} messages", f"{letters:,}", letters >= messages),
            Claim(
                "the run goes on to its end: its epoch, members and version are those of an undisturbed one",
                f"{state}",
                state == (1, list(range(WORKERS)), worked.version, None) and not self.controlled.said,
            ),
            Claim(
                "every worker's log is that of an undisturbed run",
                f"{worked.version} updates",
                worked.chains == expected,
            ),
            Claim(
                "late workers get updates and states, all of them right",
                f"{worked.pulled} and {worked.copied}, wrong: {worked.wrong or 'none'}",
                worked.pulled > 0 and worked.copied > 0 and not worked.wrong,
            ),
            Claim(
                "holders of the key who are no workers get refusals alone",
                ", ".join(strange) or "no other",
                not strange,
            ),
            Claim(
                "strangers get nothing but a closed connection",
                f"{closed} of {connections} closed, {more} bytes beyond the handshake, {away} of {tried} clients away",
                closed == connections and more == 0 and away == tried,
            ),
            Claim(
                f"memory grows by at most {MOST_GROWTH:.0%}",
                ", ".join(f"{each:+.1%}" for each in growth),
                max(growth) <= MOST_GROWTH,
            ),
            Claim("no file is left open", ", ".join(f"{each:+d}" for each in files), max(files) <= 0),
        ]


def fuzz(messages: int, seed: int = 0, look: float = 1.0) -> Report:
    """Attack a run, let it end, and report.

    Args:
        messages: number of messages to send.
        seed: of all random draws.
        look: seconds over which the pace of the undisturbed run is measured.
    """
    key, random = Key.new(), np.random.default_rng(seed)
    with running(key) as run:
        quiet = run.rounds_per_second(look)
        attack = Attack(run, random)
        attack.send(round(WARM_UP * messages))
        before = run.settled()
        began, first = time.monotonic(), run.version
        attack.send(messages - round(WARM_UP * messages))
        turned_away = attack.knock()
        attacked = (run.version - first) / (time.monotonic() - began)
        after = run.settled()
        controlled, worked = run.end()
    return Report(attack.kinds, attack.sent, turned_away, before, after, quiet, attacked, controlled, worked)


class Attack:
    """All kinds of attackers, at every port.

    Attributes:
        kinds: number of messages by kind.
        sent: counts by kind of attacker and port.
    """

    def __init__(self, run: Watched, random: np.random.Generator) -> None:
        self.kinds: Counter[str] = Counter()
        self.sent = {(way, port): Sent() for way in WAYS for port in run.ports}
        self._run, self._random = run, random
        # Some versions have left the log; others are in it or come later during the attack.
        versions = [*range(50), *range(run.version, run.version + 6000, 5)]
        asked = [encode(Copy(1, 1, 0)), *(encode(Pull(1, 1, version)) for version in versions)]
        self._said = {"controller": run.said, "updates": asked}
        most = {"controller": MOST_BYTES, "updates": MOST_REQUEST}
        self._forgers = {port: Forger(port, said, most[port], random) for port, said in self._said.items()}
        self._overheard = {
            port: strangers.overheard(address, key=run.key, frames=self._said[port][:OVERHEARD])
            for port, address in run.ports.items()
        }

    def send(self, letters: int) -> None:
        """Send at least `letters` messages, a few more where the last batch is full."""
        with zmq.Context() as context:
            insiders = {
                port: Insiders(context, port, it, self._run.key) for port, it in self._run.ports.items()
            }
            for (way, port), sent in self.sent.items():
                until = sent.letters + round(letters * WAYS[way] / len(self._run.ports))
                while sent.letters < until:
                    made = self._made(way, port)
                    self._note(sent, made)
                    if way in BATCH:
                        insiders[port].send(made)
                    else:
                        self._say(way, port, made)
            for port, each in insiders.items():
                each.close()
                self.sent["with the key", port].answers += each.answers

    def knock(self) -> tuple[int, int]:
        """Connect as ZeroMQ clients without the key; return how many got no answer, and their number."""
        key, other = self._run.key, Key.new()
        # One client has no key, one knows the server's public key, one expects another server's public key.
        pairs = [(None, None), (key, other), (other, other)]
        results = [
            strangers.refused(address, self._forgers[port].letters(8), *pair)
            for port, address in self._run.ports.items()
            for pair in pairs
        ]
        return sum(results), len(results)

    def _made(self, way: str, port: str) -> list[Letter]:
        if way == "overheard, replayed":
            return [Letter("replayed", (each,)) for each in self._said[port][:OVERHEARD]]
        return self._forgers[port].letters(BATCH.get(way, BATCH_OF_STRANGERS))

    def _say(self, way: str, port: str, made: list[Letter]) -> None:
        match way:
            case "no key":
                what = strangers.without_key(made)
            case "handshake left out":
                what = strangers.as_if_known(made)
            case "no ZMTP":
                what = strangers.garbage(made, self._random)
            case _:
                what = self._overheard[port]
        heard = strangers.say(self._run.ports[port], what)
        self.sent[way, port].closed += heard.closed
        self.sent[way, port].more += heard.more

    def _note(self, sent: Sent, made: list[Letter]) -> None:
        sent.letters += len(made)
        sent.connections += 1
        self.kinds.update(letter.kind for letter in made)
