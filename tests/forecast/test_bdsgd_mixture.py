"""Our variant of the published model: for each worker a mixture of normal laws. Densities, draws, training, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

torch = pytest.importorskip("torch")

from tailcut.errors import ModelFileError, ParameterError  # noqa: E402
from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining  # noqa: E402
from tailcut.fitting.bdsgd_file import read_bdsgd, write_bdsgd  # noqa: E402
from tailcut.fitting.loop import fit  # noqa: E402
from tailcut.forecast import Forecaster  # noqa: E402
from tailcut.forecast.bdsgd.forecaster import Bdsgd  # noqa: E402
from tailcut.forecast.bdsgd.model import BdsgdModel, Sizes  # noqa: E402
from tailcut.forecast.bdsgd.networks import first_weights, named, network  # noqa: E402
from tailcut.forecast.bdsgd.state_space import StateSpace, one_part  # noqa: E402
from tailcut.names import entrant  # noqa: E402
from tailcut.policies import PARTS  # noqa: E402
from tailcut.testing import ForecasterSuite  # noqa: E402

SIZES = Sizes(n=4, latent=3, hidden=8, window=4, parts=3)
SPIKED = BdsgdSettings(window=4, hidden=16, latent=4, parts=3)


def spiked(seed: int, rounds: int = 160) -> np.ndarray:
    """Six workers that need 1 s, or 5 s in one of eight rounds: no normal law is like that."""
    rng = np.random.default_rng(seed)
    return np.asarray(
        rng.lognormal(0.0, 0.05, (rounds, 6)) * np.where(rng.random((rounds, 6)) < 0.125, 5.0, 1.0)
    )


def trained(parts: int) -> BdsgdModel:
    settings = BdsgdSettings(window=4, hidden=16, latent=4, parts=parts)
    training = BdsgdTraining(spiked(0), settings, seed=0)
    fit(training, epochs=15, patience=15)
    return training.model()


@pytest.fixture(scope="module")
def neural() -> StateSpace:
    rng = np.random.default_rng(0)
    weights = first_weights(SIZES, rng.lognormal(0.0, 0.3, (60, SIZES.n)), rng)
    loud = {
        k: v + rng.normal(0, 0.3, v.shape).astype(np.float32) for k, v in weights.items() if "spread" not in k
    }
    return network(SIZES, weights | loud)


class TestMixtureSuite(ForecasterSuite):
    from_what_was_seen = False

    @pytest.fixture
    def forecaster(self) -> Forecaster[Any]:
        rows = np.random.default_rng(0).lognormal(0.0, 0.3, (40, 7))
        settings = BdsgdSettings(window=4, hidden=8, latent=3, parts=3)
        return Bdsgd(BdsgdTraining(rows, settings, seed=0).model(), samples=32)


def test_draws_follow_each_workers_mixture(neural: StateSpace) -> None:
    state = torch.zeros(20_000, SIZES.latent)
    with torch.no_grad():
        law = neural.emission(state)
        drawn = one_part(law, torch.Generator().manual_seed(0))
        values = drawn.mean + drawn.stddev * torch.randn(
            drawn.mean.shape, generator=torch.Generator().manual_seed(1)
        )
    odds, means, sds = (
        part[0].numpy()
        for part in (
            law.mixture_distribution.probs,
            law.component_distribution.mean,
            law.component_distribution.stddev,
        )
    )
    for worker in range(SIZES.n):
        for quantile in (0.1, 0.5, 0.9, 0.99):
            where = float(np.quantile(values[:, worker].numpy(), quantile))
            exact = (odds[worker] * norm.cdf(where, means[worker], sds[worker])).sum()
            assert exact == pytest.approx(quantile, abs=0.015)


def test_the_density_integrates_to_one() -> None:
    sizes = Sizes(n=1, latent=3, hidden=8, window=4, parts=3)
    rng = np.random.default_rng(0)
    model = network(sizes, first_weights(sizes, rng.lognormal(0.0, 0.3, (60, 1)), rng))
    grid = np.linspace(-4.0, 6.0, 2001, dtype=np.float32)[:, None]
    with torch.no_grad():
        logs = model.log_prob_next(
            torch.ones(4, 1), torch.tensor(grid), 200, torch.Generator().manual_seed(0)
        )
    assert np.trapezoid(np.exp(logs.numpy()), grid[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_how_a_round_was_foretold_is_the_density_of_the_next_round() -> None:
    rng = np.random.default_rng(0)
    model = network(SIZES, first_weights(SIZES, rng.lognormal(0.0, 0.3, (60, SIZES.n)), rng))
    rows = torch.tensor(rng.lognormal(0.0, 0.3, (1, 5, 4)), dtype=torch.float32)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        noise = model.noise(20_000, 1, 5, generator)
        one = float(model.foretold(rows, noise, rows))
        changed = rows.clone()
        changed[:, -1] += 7.0
        # Inference reads nothing of the round that is foretold.
        same = float(model.foretold(rows, noise, changed))
        other = float(model.log_prob_next(rows[0, :4], rows[0, 4], 20_000, generator))
    assert one == same
    assert one == pytest.approx(other, abs=0.1)


def test_spikes_are_foretold_better_than_by_one_normal_law() -> None:
    rows = spiked(1)
    scores = []
    for parts in (1, 3):
        model = trained(parts)
        module = network(model.sizes, named(model.sizes, model.weights))
        scaled = torch.tensor(np.minimum(rows / model.scale, model.ceiling), dtype=torch.float32)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            logs = [
                module.log_prob_next(scaled[t - 4 : t], scaled[t], 64, generator)
                for t in range(4, len(scaled))
            ]
        scores.append(float(torch.stack(logs).mean()) / 6)
    assert scores[1] > scores[0] + 0.5


def test_a_file_tells_the_parts_and_files_of_the_published_model_need_not(tmp_path: Path) -> None:
    for parts in (1, 3):
        path = tmp_path / f"m{parts}"
        model = BdsgdTraining(
            spiked(0), BdsgdSettings(window=4, hidden=8, latent=2, parts=parts), seed=0
        ).model()
        write_bdsgd(path, model, {})
        found = read_bdsgd(path)
        assert found.sizes == model.sizes
        assert np.array_equal(found.weights, model.weights)
        assert entrant(f"bdsgd:model={path}").policy.forecaster.model.sizes.parts == parts  # type: ignore[attr-defined]


def test_impossible_parts_in_a_file_are_refused(tmp_path: Path) -> None:
    from tailcut.fitting.bdsgd_file import KIND
    from tailcut.modelfile import read_model, write_model

    model = BdsgdTraining(spiked(0), SPIKED, seed=0).model()
    write_bdsgd(tmp_path / "m", model, {})
    arrays = dict(read_model(tmp_path / "m", KIND).arrays)
    for parts in (0, 4):
        write_model(tmp_path / "m", KIND, {**arrays, "parts": np.array([parts])}, {})
        with pytest.raises(ModelFileError, match=r"impossible sizes|shape"):
            read_bdsgd(tmp_path / "m")


def test_the_policy_names_its_emission() -> None:
    forecasters = [entrant(name).policy.forecaster for name in ("bdsgd", "bdsgd:emission=mixture")]
    assert [one.settings.parts for one in forecasters] == [1, PARTS]  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="Give one of the two"):
        entrant("bdsgd:emission=mixture:model=m.safetensors")
    with pytest.raises(ParameterError, match="emission"):
        entrant("bdsgd:emission=uniform")
