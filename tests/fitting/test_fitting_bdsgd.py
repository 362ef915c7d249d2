"""Training of the published model: it learns what there is to learn, and can be interrupted and resumed."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tailcut.clusters import GroupsInTurn  # noqa: E402
from tailcut.errors import ModelFileError, ParameterError  # noqa: E402
from tailcut.fitting.bdsgd import BdsgdSettings, BdsgdTraining  # noqa: E402
from tailcut.fitting.bdsgd_file import KIND, read_bdsgd, write_bdsgd  # noqa: E402
from tailcut.fitting.loop import Arrays, fit  # noqa: E402
from tailcut.forecast.bdsgd.model import BdsgdModel  # noqa: E402
from tailcut.forecast.bdsgd.networks import named, network, principal_components  # noqa: E402
from tailcut.modelfile import read_model, write_model  # noqa: E402
from tailcut.names import entrant  # noqa: E402

CLUSTER = GroupsInTurn(n=12, groups=3, period=15)
ROWS = CLUSTER.sample(160, np.random.default_rng(0)).table.seconds
SMALL = BdsgdSettings(window=4, hidden=16, latent=4)


def same(one: Arrays, other: Arrays) -> bool:
    return set(one) == set(other) and all(np.array_equal(one[name], other[name]) for name in one)


def scores(model: BdsgdModel, rows: np.ndarray) -> tuple[float, float]:
    """Mean log density per worker of the next round: of the model, and of each worker's own normal."""
    scaled = torch.tensor(np.minimum(rows / model.scale, model.ceiling), dtype=torch.float32)
    module, window = network(model.sizes, named(model.sizes, model.weights)), model.sizes.window
    plain = torch.distributions.Normal(module.inference.centre, module.inference.spread)
    generator, ours, theirs = torch.Generator().manual_seed(0), [], []
    with torch.no_grad():
        for t in range(window, len(scaled)):
            log_p = module.log_prob_next(scaled[t - window : t], scaled[t], 64, generator)
            ours.append(float(log_p) / len(scaled[t]))
            theirs.append(float(plain.log_prob(scaled[t]).mean()))
    # The round in which a group turns slow cannot be foreseen; the median is about all other rounds.
    return float(np.median(ours)), float(np.median(theirs))


def test_it_learns_to_forecast_better_than_each_workers_own_mean() -> None:
    training = BdsgdTraining(ROWS, SMALL, seed=0)
    report = fit(training, epochs=20, patience=20)
    assert report.losses[-1] < report.losses[0] - 0.3
    ours, theirs = scores(training.model(), CLUSTER.sample(90, np.random.default_rng(1)).table.seconds)
    assert ours > theirs + 0.8


def test_the_same_seed_gives_the_same_model_and_another_seed_another() -> None:
    one, other, third = (BdsgdTraining(ROWS, SMALL, seed) for seed in (0, 0, 1))
    for training in (one, other, third):
        fit(training, epochs=2, patience=2)
    assert same(one.arrays(), other.arrays())
    assert not same(one.model_arrays(), third.model_arrays())


def test_resuming_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = BdsgdTraining(ROWS, SMALL, seed=0)
    straight = fit(whole, epochs=5, patience=5)
    first = BdsgdTraining(ROWS, SMALL, seed=0)
    begun = fit(first, epochs=2, patience=5)
    write_model(tmp_path / "fit", "bdsgd-fit", first.arrays(), {})
    second = BdsgdTraining(ROWS, SMALL, seed=0)
    second.restore(dict(read_model(tmp_path / "fit", "bdsgd-fit").arrays))
    rest = fit(second, epochs=5, patience=5)
    assert begun.losses + rest.losses == straight.losses
    assert same(second.arrays(), whole.arrays())


def test_an_interrupt_in_mid_epoch_leaves_the_last_whole_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    straight = BdsgdTraining(ROWS, SMALL, seed=0)
    fit(straight, epochs=3, patience=3)
    training, steps = BdsgdTraining(ROWS, SMALL, seed=0), [0]
    step = training._step

    def interrupted(windows: torch.Tensor, kl_weight: float) -> None:
        steps[0] += 1
        if steps[0] == 7:
            raise KeyboardInterrupt
        step(windows, kl_weight)

    monkeypatch.setattr(training, "_step", interrupted)
    report = fit(training, epochs=3, patience=3)
    assert report.interrupted
    assert 0 < report.standing.epochs < 3
    assert not fit(training, epochs=3, patience=3).interrupted
    assert same(training.arrays(), straight.arrays())


def test_an_untrained_state_can_be_kept_too() -> None:
    training = BdsgdTraining(ROWS, SMALL, seed=0)
    other = BdsgdTraining(ROWS, SMALL, seed=3)
    other.restore(training.arrays())
    assert other.standing() == training.standing()
    assert training.epoch() != BdsgdTraining(ROWS, SMALL, seed=3).epoch()


def test_principal_components_rebuild_rows_of_low_rank() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 7))
    rows -= rows.mean(axis=0)
    reading, loadings, found = principal_components(rows, 4)
    assert np.allclose(rows @ reading, found)
    assert np.allclose(found @ loadings, rows)
    assert np.allclose((found**2).mean(axis=0), [1, 1, 0, 0])


@pytest.mark.parametrize("n", [1, 3])
def test_few_workers_of_equal_run_times_do_no_harm(n: int) -> None:
    training = BdsgdTraining(np.ones((30, n)), BdsgdSettings(window=4), seed=0)
    assert np.isfinite(fit(training, epochs=2, patience=2).losses).all()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS[:9], "at least 10 rounds"),
        (np.where(np.arange(160)[:, None] == 7, np.nan, ROWS), "finite"),
        (-ROWS, "> 0"),
    ],
)
def test_rows_that_cannot_be_trained_on_are_refused(rows: np.ndarray, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        BdsgdTraining(rows, SMALL, seed=0)


@pytest.mark.parametrize("wrong", [{"window": 0}, {"latent": 0}, {"batch": 0}, {"gaps": 1.0}, {"gaps": -0.1}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        BdsgdSettings(**wrong)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    training = BdsgdTraining(ROWS[:, :3], BdsgdSettings(window=4, hidden=4, latent=2), 0, np.array([1, 4, 9]))
    write_bdsgd(tmp_path / "m", training.model(), {"source": "groups"})
    return tmp_path / "m"


def test_a_model_is_read_back_as_it_was_written(path: Path) -> None:
    model = BdsgdTraining(
        ROWS[:, :3], BdsgdSettings(window=4, hidden=4, latent=2), 0, np.array([1, 4, 9])
    ).model()
    found = read_bdsgd(path)
    assert (found.sizes, found.scale, found.floor, found.ceiling) == (
        model.sizes,
        model.scale,
        model.floor,
        model.ceiling,
    )
    assert np.array_equal(found.workers, [1, 4, 9])
    assert np.array_equal(found.weights, model.weights)
    assert read_model(path, KIND).about == {"source": "groups"}
    assert entrant(f"bdsgd:model={path}").policy.forecaster.model.sizes == model.sizes  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sizes", np.array([3, 2, 4, 0]), "impossible sizes"),
        ("sizes", np.array([3, 2, 4, 2**40]), "impossible sizes"),
        ("sizes", np.array([3, 2, 5, 4]), "shape"),
        ("sizes", np.array([3, 2, 4]), "shape"),
        ("workers", np.array([1, 1, 9]), "twice"),
        ("workers", np.array([1.0, 4.0, 9.0]), "float64"),
        ("units", np.array([0.0, 0.5, 2.0]), "impossible units"),
        ("units", np.array([1.0, 3.0, 2.0]), "impossible units"),
        ("units", np.array([np.nan, 0.5, 2.0]), "not finite"),
        ("emission.mean.bias", np.full(3, np.nan, dtype=np.float32), "not finite"),
        ("emission.mean.bias", np.zeros(4, dtype=np.float32), "shape"),
        ("emission.mean.bias", np.zeros(3), "float64"),
        ("inference.spread", np.zeros(3, dtype=np.float32), "spread"),
        ("extra", np.zeros(1), "'extra'"),
        ("emission.mean.bias", None, "no array"),
    ],
)
def test_wrong_arrays_are_refused(path: Path, name: str, value: np.ndarray | None, words: str) -> None:
    arrays = dict(read_model(path, KIND).arrays) | {name: value}
    write_model(path, KIND, {key: array for key, array in arrays.items() if array is not None}, {})
    with pytest.raises(ModelFileError, match=words):
        read_bdsgd(path)


def test_wrong_bytes_are_a_sentence_or_a_model(path: Path) -> None:
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for trial in range(300):
        data = bytearray(whole)
        if trial % 2:
            del data[int(rng.integers(len(data))) :]
        else:
            # Most of the file is weights; its header is where a byte does harm.
            data[int(rng.integers(2500))] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        with contextlib.suppress(ModelFileError):
            assert isinstance(read_bdsgd(path), BdsgdModel)
