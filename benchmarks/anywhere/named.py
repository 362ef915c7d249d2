"""Every named cluster and every trace: shares of the clairvoyant, of the informed bound and of hindsight; coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.anywhere.draws import LAWS
from benchmarks.anywhere.options import Options
from benchmarks.anywhere.play import spread, spread_cell
from benchmarks.claims import Claim, print_table
from benchmarks.forecast import coverage, sources
from tailcut import names
from tailcut.study.compare import CLAIRVOYANT, DEADLINE, INFORMED, STATIC, Setting, compare
from tailcut.study.parallel import Job
from tailcut.traces import write_table

ROUNDS = 300
FEWER = {"knl2175": 60}
SPECS = {"sudden-change": "sudden-change:at=150"}
"""Clusters that are played with other parameters than their own, so that the change is in the run."""
OF_INFORMED = 0.99
OF_HINDSIGHT = {"trap10": 0.98, "demo8": 0.985}
STRAIGHT, OF_WAIT_ALL = 0.995, 0.995
"""The policy needs `OF_WAIT_ALL` of wait-all's rate where wait-all has `STRAIGHT` of the clairvoyant's."""
WAIT_ALL = "wait-all"
COVERED_WORKERS, COVERED_ROUNDS = 32, 200


@dataclass(frozen=True, slots=True)
class Found:
    """Throughput of policies and bounds on one sample of one source, after the warm-up."""

    rates: Mapping[str, float]

    def share(self, policy: str, bound: str) -> float:
        """Return a share of one bound."""
        return self.rates[policy] / self.rates[bound]

    def of_hindsight(self, policy: str) -> float:
        """Return the share of the better of the fixed choices."""
        return self.rates[policy] / max(self.rates[name] for name in (STATIC, DEADLINE, WAIT_ALL))


def one_sample(source: str, seed: int, policies: Sequence[str], rounds: int | None) -> Found:
    """Compare policies and bounds on one sample."""
    inner = sources.opened(source)
    every = dict.fromkeys((*policies, WAIT_ALL))
    facts = compare(
        sources.OneSeed(inner.name, inner.about, inner, seed),
        [names.entrant(name) for name in every],
        Setting(seeds=1, rounds=rounds),
    )
    return Found({one.policy: one.throughput.mean for one in facts.policies})


def rounds_of(source: str, options: Options) -> int | None:
    """Return how many rounds of a source are played; None for all that a trace has."""
    if sources.is_trace(source.split(":")[0]):
        return options.rounds
    return min(FEWER.get(source, ROUNDS), options.rounds or ROUNDS)


def main(options: Options) -> list[Claim]:
    """Measure, print and judge."""
    traces = sources.traces()
    chosen = [*(SPECS.get(name, name) for name in names.clusters()), sources.EQUAL, *traces]
    done = spread(
        "named clusters and traces",
        [
            Job((source, seed), one_sample, (source, seed, options.policies, rounds_of(source, options)))
            for source in chosen
            for seed in (options.seeds[:1] if _is_trace(source) else options.seeds)
            if options.takes(f"{source} seed={seed}")
        ],
        options.jobs,
    )
    found: dict[str, list[Found]] = {}
    for (source, _), one in done.results.items():
        found.setdefault(source, []).append(one)
    if found:
        show(found, options)
    done.or_stop()
    return [*claims_of(found, options.policy), *covered(traces, options)]


def _is_trace(source: str) -> bool:
    return sources.is_trace(source.split(":")[0])


def show(found: Mapping[str, Sequence[Found]], options: Options) -> None:
    """Print a row for each source and policy, its limit beside it."""
    rows = []
    for source, some in found.items():
        informed = INFORMED in some[0].rates
        for policy in options.policies:
            rows.append(
                [
                    Path(source).stem if _is_trace(source) else source,
                    policy,
                    spread_cell([one.share(policy, CLAIRVOYANT) for one in some]),
                    spread_cell([one.share(policy, INFORMED) for one in some]) if informed else "",
                    spread_cell([one.of_hindsight(policy) for one in some]),
                    spread_cell([one.share(policy, WAIT_ALL) for one in some]),
                    _limits(source, some),
                ]
            )
    print_table(
        f"named clusters and traces; {options.said_seeds()}: geometric mean (worst). Limits are of the mean over seeds",
        ("source", "policy", "of clairvoyant", "of informed", "of hindsight", "of wait-all", "limits"),
        rows,
    )


def _limits(source: str, some: Sequence[Found]) -> str:
    said = [f"informed ≥ {OF_INFORMED:g}"] if _is_named(source) else []
    said += [f"hindsight ≥ {OF_HINDSIGHT[source]:g}"] if source in OF_HINDSIGHT else []
    said += [f"wait-all ≥ {OF_WAIT_ALL:g}"] if _is_straight(some) else []
    return ", ".join(said)


def _is_named(source: str) -> bool:
    return not _is_trace(source) and source != sources.EQUAL


def _is_straight(some: Sequence[Found]) -> bool:
    return _mean(some, lambda one: one.share(WAIT_ALL, CLAIRVOYANT)) >= STRAIGHT


def _mean(some: Sequence[Found], figure: Callable[[Found], float]) -> float:
    return sum(map(figure, some)) / len(some)


def claims_of(found: Mapping[str, Sequence[Found]], policy: str) -> list[Claim]:
    """Return the claims that these sources can show, all of means over the seeds."""
    informed = {
        source: _mean(some, lambda one: one.share(policy, INFORMED))
        for source, some in found.items()
        if _is_named(source)
    }
    out = _least(f"named: {policy} has at least {OF_INFORMED:g} of the informed bound", informed, OF_INFORMED)
    for source, limit in OF_HINDSIGHT.items():
        if source in found:
            share = _mean(found[source], lambda one: one.of_hindsight(policy))
            text = f"named: {policy} has at least {limit:g} of the better bound in hindsight on {source}"
            out.append(Claim(text, f"{share:.4f}", share >= limit))
    straight = {
        source: _mean(some, lambda one: one.share(policy, WAIT_ALL))
        for source, some in found.items()
        if _is_straight(some)
    }
    text = f"named: {policy} has at least {OF_WAIT_ALL:g} of wait-all's rate where nothing straggles"
    return [*out, *_least(text, straight, OF_WAIT_ALL)]


def _least(text: str, shares: Mapping[str, float], limit: float) -> list[Claim]:
    if not shares:
        return []
    worst = min(shares, key=lambda source: shares[source])
    below = sum(share < limit for share in shares.values())
    said = f"{shares[worst]:.4f}: {Path(worst).stem}, the worst of {len(shares)}; {below} are below"
    return [Claim(text, said, shares[worst] >= limit)]


def covered(traces: Sequence[str], options: Options) -> list[Claim]:
    """Measure the coverage of the 90 % interval on every long trace and law, as `benchmarks.forecast` does."""
    laws = [law for law in LAWS if options.takes(f"coverage {law.label} seed={options.seeds[0]}")]
    long = [
        trace
        for trace in traces
        if options.takes(f"coverage {trace}")
        and names.source(trace).draw(0, None).table.rounds >= coverage.LEAST_ROUNDS
    ]
    if not laws and not long:
        return []
    with TemporaryDirectory() as folder:
        files = []
        for law in laws:
            files.append(str(Path(folder, f"law {law.letter}.npz")))
            write_table(law.table(COVERED_ROUNDS, COVERED_WORKERS, options.seeds[0]), Path(files[-1]))
        return coverage.main([*long, *files], options.rounds, options.jobs)
