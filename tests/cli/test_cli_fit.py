"""`tailcut fit`: models from run times, interrupted and taken up again, and what is refused."""

from __future__ import annotations

import os
import pickle
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import HEARING, Cli, Ended, Refused
from waiting import limit

pytest.importorskip("torch", reason="training needs it")

from tailcut.cli.fit_command import SEED
from tailcut.fitting.bayes import BayesTraining
from tailcut.fitting.bayes_file import read_bayes
from tailcut.fitting.bdsgd import BdsgdTraining
from tailcut.fitting.bdsgd_file import read_bdsgd
from tailcut.modelfile import read_model, write_model

MODEL, UNFINISHED = "model.safetensors", "model.safetensors.unfinished"
TRAININGS: dict[str, type[Any]] = {"bayes": BayesTraining, "bdsgd": BdsgdTraining}
KINDS = list(TRAININGS)
QUICK = ("--rounds", "60", "--seconds", "600")


def fit(cli: Cli, kind: str, *more: str, output: str = MODEL) -> Ended:
    return cli("fit", "demo8", "-o", output, "--kind", kind, *QUICK, *more)


def arrays(path: str, kind: str) -> dict[str, bytes]:
    file = read_model(path, kind)
    return {name: array.tobytes() for name, array in file.arrays.items()}


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Make Ctrl-C come in the midst of an epoch, after so many whole ones of a run."""

    def after(kind: str, epochs: int) -> None:
        usual = TRAININGS[kind].epoch
        done = [0]

        def epoch(self: Any) -> float:
            loss: float = usual(self)
            if done[0] == epochs:
                raise KeyboardInterrupt  # Weights have moved already; they must be taken back.
            done[0] += 1
            return loss

        monkeypatch.setattr(TRAININGS[kind], "epoch", epoch)

    return after


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_fitted_and_a_comparison_takes_it(kind: str, cli: Cli, folder: Path) -> None:
    ended = fit(cli, kind, "--epochs", "3")
    assert (ended.code, ended.err) == (0, "")
    first, second, *_, where, use = ended.out.splitlines()
    assert first.startswith(f"{kind} fitted to 60 rounds of 8 workers of demo8 in ")
    assert first.endswith(" s: all epochs done.")
    assert second.startswith("3 epochs; best ")
    assert "held-out loss" in second
    assert "untrained" in second
    assert where == f"File: {MODEL}"
    assert use == f"Use:  tailcut compare demo8 --policies {kind}:model={MODEL}"
    assert {path.name for path in folder.iterdir()} == {MODEL}
    about = read_model(MODEL, kind).about
    assert (about["source"], about["rounds"], about["workers"], about["epochs"]) == ("demo8", "60", "8", "3")
    assert about["seed"] == str(SEED)
    policy = use.partition("--policies ")[2]
    compared = cli("compare", "demo8", "--policies", policy, "--rounds", "30", "--seeds", "1")
    assert compared.code == 0
    assert policy in compared.out.replace("\n", "")


def test_the_default_is_bayes_and_its_model_changes_forecasts(cli: Cli) -> None:
    assert cli("fit", "demo8", "-o", MODEL, *QUICK, "--epochs", "2").code == 0
    fitted = read_bayes(MODEL)
    from tailcut.fitting.bayes_file import read_prior

    assert any((new != old).any() for new, old in zip(fitted.weights, read_prior().weights, strict=True))


def test_the_default_seed_is_none_that_a_comparison_draws(cli: Cli) -> None:
    assert SEED >= 5
    assert "compare draws seeds 0 to 4" in " ".join(cli("fit", "--help").out.replace("│", " ").split())


def test_a_recorded_table_will_do(cli: Cli, folder: Path) -> None:
    assert cli("table", "demo8", "-o", "t.csv", "--rounds", "60").code == 0
    for kind in KINDS:
        ended = cli("fit", "t.csv", "-o", f"{kind}.safetensors", "--kind", kind, "--epochs", "1")
        assert ended.code == 0, ended
    assert read_bdsgd("bdsgd.safetensors").sizes.n == 8


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_command_gives_the_same_model(kind: str, cli: Cli) -> None:
    for output in ("one", "other"):
        assert fit(cli, kind, "--epochs", "2", output=output).code == 0
    assert arrays("one", kind) == arrays("other", kind)
    assert fit(cli, kind, "--epochs", "2", "--seed", "7", output="seven").code == 0
    assert arrays("seven", kind) != arrays("one", kind)


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_and_resumed_equals_uninterrupted(
    kind: str, cli: Cli, folder: Path, interrupt: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fit(cli, kind, "--epochs", "5", output="whole").code == 0
    usual = TRAININGS[kind].epoch
    for before, done in ((2, 2), (1, 3)):
        interrupt(kind, before)
        ended = fit(cli, kind, "--epochs", "5")
        monkeypatch.setattr(TRAININGS[kind], "epoch", usual)
        assert (ended.code, ended.out) == (130, "")
        assert ended.err == (
            f"tailcut: Interrupted after {done} epochs, which are kept in {UNFINISHED}; "
            "the same command goes on from there.\n"
        )
        assert not Path(MODEL).exists()
        assert read_model(UNFINISHED, f"{kind}-training").arrays["epochs"][0] == done
    ended = fit(cli, kind, "--epochs", "5")
    assert ended.code == 0
    assert "5 epochs, 3 of them before the interrupt; best" in ended.out
    assert arrays(MODEL, kind) == arrays("whole", kind)
    assert {path.name for path in folder.iterdir()} == {MODEL, "whole"}
    assert read_model(MODEL, kind).about == read_model("whole", kind).about


def test_an_interrupt_before_the_first_epoch_leaves_nothing(
    cli: Cli, folder: Path, interrupt: Callable[[str, int], None]
) -> None:
    interrupt("bayes", 0)
    ended = fit(cli, "bayes")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "tailcut: Interrupted before the first epoch was done; nothing was written.\n"
    assert list(folder.iterdir()) == []


def test_an_interrupt_while_rounds_are_read_leaves_nothing(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tailcut.study.deep_samples.samples_of", interrupted)
    ended = fit(cli, "bayes")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "tailcut: Interrupted before the training began; nothing was written.\n"
    assert list(folder.iterdir()) == []


def test_an_interrupt_keeps_the_model_of_an_earlier_fit(
    cli: Cli, interrupt: Callable[[str, int], None]
) -> None:
    assert fit(cli, "bdsgd", "--epochs", "1").code == 0
    before = Path(MODEL).read_bytes()
    interrupt("bdsgd", 1)
    assert fit(cli, "bdsgd", "--epochs", "4").code == 130
    assert Path(MODEL).read_bytes() == before


@pytest.mark.parametrize(
    "other", [("--seed", "5"), ("--rounds", "61"), ("--kind", "bayes")], ids=lambda pair: " ".join(pair)
)
def test_another_training_is_not_taken_up(
    other: tuple[str, str], cli: Cli, refused: Refused, interrupt: Callable[[str, int], None]
) -> None:
    interrupt("bdsgd", 1)
    assert fit(cli, "bdsgd").code == 130
    sentence = refused("fit", "demo8", "-o", MODEL, "--kind", "bdsgd", *QUICK, *other)
    assert UNFINISHED in sentence
    assert f"Delete {UNFINISHED} to begin anew" in sentence


def test_more_epochs_or_patience_do_not_make_it_another_training(
    cli: Cli, interrupt: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = BdsgdTraining.epoch
    interrupt("bdsgd", 1)
    assert fit(cli, "bdsgd").code == 130
    monkeypatch.setattr(BdsgdTraining, "epoch", usual)
    assert fit(cli, "bdsgd", "--epochs", "2", "--patience", "3").code == 0


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(bytes(data))


def _pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps({"epochs": 3}))


@pytest.mark.parametrize("spoil", [_cut_off, _one_bit, _pickled])
def test_a_damaged_unfinished_training_is_refused(
    spoil: Callable[[Path], None], cli: Cli, refused: Refused, interrupt: Callable[[str, int], None]
) -> None:
    interrupt("bdsgd", 1)
    assert fit(cli, "bdsgd").code == 130
    spoil(Path(UNFINISHED))
    sentence = refused("fit", "demo8", "-o", MODEL, "--kind", "bdsgd", *QUICK)
    assert f"Delete {UNFINISHED} to begin anew" in sentence


def test_it_stops_when_nothing_gets_better(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = BayesTraining.epoch

    def worse_and_worse(self: BayesTraining) -> float:
        usual(self)
        self._standing = type(self._standing)(self._standing.epochs, 1, 1.0)
        return 2.0

    monkeypatch.setattr(BayesTraining, "epoch", worse_and_worse)
    ended = fit(cli, "bayes", "--patience", "2")
    assert ended.code == 0
    assert "nothing got better any more" in ended.out
    assert "3 epochs; best 1 with held-out loss 1.0000" in ended.out


def test_it_stops_when_time_is_up(cli: Cli) -> None:
    ended = cli("fit", "demo8", "-o", MODEL, "--rounds", "60", "--seconds", "0.001")
    assert ended.code == 0
    assert "time was up (--seconds)" in ended.out
    assert "1 epoch; best 1" in ended.out


def test_a_model_that_is_no_better_is_said_to_be(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = BayesTraining.__init__

    def perfect(self: BayesTraining, *given: Any) -> None:
        usual(self, *given)
        self.untrained = 0.0

    monkeypatch.setattr(BayesTraining, "__init__", perfect)
    ended = fit(cli, "bayes", "--epochs", "1")
    assert ended.code == 0
    assert "no better than the network that comes with the package: this model will not help" in ended.out


def test_a_training_that_never_has_a_loss_writes_nothing(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverged(self: BayesTraining) -> float:
        self._standing = self._standing.after(float("nan"))
        return float("nan")

    monkeypatch.setattr(BayesTraining, "epoch", diverged)
    ended = fit(cli, "bayes", "--epochs", "2")
    assert (ended.code, ended.out) == (1, "")
    assert "No epoch had a held-out loss that is a number" in ended.err
    assert list(folder.iterdir()) == []


BAD: list[tuple[tuple[str, ...], str]] = [
    (("--kind", "baies"), "Unknown kind of model 'baies'. Did you mean 'bayes'? Known: bayes, bdsgd."),
    (("--rounds", "1"), "--rounds must be at least 2, but got 1."),
    (("--seed", "-1"), "--seed must be at least 0, but got -1."),
    (("--epochs", "0"), "--epochs must be at least 1, but got 0."),
    (("--patience", "0"), "--patience must be at least 1, but got 0."),
    (("--seconds", "0"), "--seconds must be more than 0, but got 0.0."),
    (("--seconds", "nan"), "--seconds must be more than 0, but got nan."),
    (
        ("--kind", "bdsgd", "--rounds", "21"),
        "needs at least 22 rounds in which every worker was observed, but got 21",
    ),
    (("--rounds", "4"), "Training needs at least 100 run times"),
]


@pytest.mark.parametrize(("given", "sentence"), BAD, ids=[" ".join(given) for given, _ in BAD])
def test_an_impossible_argument_is_refused(given: tuple[str, ...], sentence: str, refused: Refused) -> None:
    assert sentence in refused("fit", "demo8", "-o", MODEL, *given)


def test_an_unknown_source_is_refused(refused: Refused) -> None:
    assert "demo8" in refused("fit", "demo9", "-o", MODEL)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing run times would be work."""

    def drawn(*_: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("tailcut.names.source", drawn)


@pytest.mark.usefixtures("no_work")
def test_a_folder_is_found_out_before_the_work(folder: Path, refused: Refused) -> None:
    (folder / "there").mkdir()
    assert "--output there is a folder. Name a file in it" in refused("fit", "demo8", "-o", "there")


@pytest.mark.usefixtures("no_work")
def test_a_missing_folder_is_found_out_before_the_work(refused: Refused) -> None:
    assert "does not exist. Create it first" in refused("fit", "demo8", "-o", "nowhere/m.safetensors")


@pytest.mark.usefixtures("no_work")
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_to_is_found_out_before_the_work(refused: Refused) -> None:
    assert "/proc/self/m cannot be written" in refused("fit", "demo8", "-o", "/proc/self/m")


@pytest.mark.usefixtures("no_work")
def test_the_source_is_not_replaced_by_its_model(folder: Path, refused: Refused) -> None:
    (folder / "t.csv").write_text("round,worker,seconds\n0,0,1\n")
    assert "--output t.csv is the source itself" in refused("fit", "./t.csv", "-o", "t.csv")


def written(folder: Path, holes: bool, cuts: bool) -> str:
    rng = np.random.default_rng(0)
    lines = ["round,worker,seconds,observed"]
    for row in range(60):
        for worker in range(4):
            if holes and worker == 3 and row % 10 == 0:
                continue
            cut = cuts and worker == 2 and row % 5 == 0
            lines.append(
                f"{row},{worker},{np.exp(0.2 * rng.standard_normal()):.4f},{'false' if cut else 'true'}"
            )
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return "t.csv"


@pytest.mark.parametrize(
    ("holes", "cuts", "words"),
    [(True, False, "6 missing and 0 censored"), (False, True, "0 missing and 12 censored")],
)
def test_the_published_model_wants_everybody_seen(
    holes: bool, cuts: bool, words: str, folder: Path, refused: Refused
) -> None:
    sentence = refused("fit", written(folder, holes, cuts), "-o", MODEL, "--kind", "bdsgd")
    assert "rounds in which every worker was seen, but t.csv has" in sentence
    assert words in sentence
    assert "--kind bayes" in sentence


def test_ours_takes_bounds_and_gaps(folder: Path, cli: Cli) -> None:
    source = written(folder, holes=True, cuts=True)
    ended = cli("fit", source, "-o", MODEL, "--epochs", "1")
    assert ended.code == 0, ended


def test_without_torch_the_extra_is_named(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "torch" or name in ("tailcut.fitting.bayes", "tailcut.fitting.bdsgd"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    for kind in KINDS:
        ended = fit(cli, kind)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == (
            'tailcut: tailcut fit needs torch, which is not installed: pip install "tailcut[train]".\n'
        )
    assert list(folder.iterdir()) == []


def _nan(path: Path, kind: str) -> None:
    file = read_model(path, kind)
    spoilt = {name: array.copy() for name, array in file.arrays.items()}
    name = next(name for name in sorted(spoilt) if spoilt[name].dtype == np.float32)
    spoilt[name].flat[0] = np.nan
    write_model(path, kind, spoilt, {})


def _shape(path: Path, kind: str) -> None:
    file = read_model(path, kind)
    spoilt = dict(file.arrays)
    name = next(name for name in sorted(spoilt) if spoilt[name].ndim == 2)
    spoilt[name] = spoilt[name][:-1]
    write_model(path, kind, spoilt, {})


def _extra(path: Path, kind: str) -> None:
    write_model(path, kind, {**read_model(path, kind).arrays, "more": np.zeros(2, np.float32)}, {})


def _other_version(path: Path, kind: str) -> None:
    path.write_bytes(path.read_bytes().replace(b'"version":"1"', b'"version":"9"'))


def _other_kind(path: Path, kind: str) -> None:
    write_model(path, "bdsgd" if kind == "bayes" else "bayes", read_model(path, kind).arrays, {})


def _folder(path: Path, kind: str) -> None:
    path.unlink()
    path.mkdir()


def _gone(path: Path, kind: str) -> None:
    path.unlink()


SPOILT: dict[str, tuple[Callable[[Path, str], object], str]] = {
    "cut off": (lambda path, _: _cut_off(path), "damaged or cut off"),
    "cut off in its header": (
        lambda path, _: path.write_bytes(path.read_bytes()[:40]),
        "cut off within its header",
    ),
    "empty": (lambda path, _: path.write_bytes(b""), "no safetensors file"),
    "a pickle": (lambda path, _: _pickled(path), "is a pickle, which could run anything"),
    "not a number": (_nan, "that are not finite"),
    "another shape": (_shape, "of shape"),
    "an array too many": (_extra, "has an array 'more'"),
    "another version": (_other_version, "is of version '9' of this format"),
    "another kind": (_other_kind, "holds no tailcut"),
    "not there": (_gone, "cannot be read"),
    "a folder": (_folder, "cannot be read"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A sound model file of each kind."""
    from tailcut.cli import main

    folder, found = tmp_path_factory.mktemp("models"), {}
    for kind in KINDS:
        path = folder / kind
        with pytest.raises(SystemExit) as end:
            main(["fit", "demo8", "-o", str(path), "--kind", kind, *QUICK, "--epochs", "1"])
        assert end.value.code == 0
        found[kind] = path.read_bytes()
    return found


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_model_file_is_refused_in_a_sentence(
    kind: str, how: str, models: dict[str, bytes], folder: Path, refused: Refused
) -> None:
    path = folder / MODEL
    path.write_bytes(models[kind])
    spoil, words = SPOILT[how]
    spoil(path, kind)
    sentence = refused(
        "compare", "demo8", "--policies", f"{kind}:model={MODEL}", "--rounds", "30", "--seeds", "1"
    )
    assert MODEL in sentence
    assert words in sentence


@pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")
def test_a_real_interrupt_ends_the_process_with_130_and_keeps_the_training(tmp_path: Path) -> None:
    """The command runs in a terminal, where the bar shows epochs and the held-out loss."""
    endless = ("--epochs", "100000", "--patience", "100000", "--seconds", "1000")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [
            *HEARING,
            "fit",
            "demo8",
            "-o",
            MODEL,
            "--kind",
            "bdsgd",
            "--rounds",
            "60",
            *endless,
        ],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    try:
        shown, until = b"", time.monotonic() + limit(100.0)
        while b"held-out loss" not in shown and time.monotonic() < until:
            ready, _, _ = select.select([ours], [], [], 0.1)
            shown += os.read(ours, 65536) if ready else b""
            assert process.poll() is None, shown
        assert b"held-out loss" in shown
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=limit(60.0))
        while select.select([ours], [], [], 0.1)[0]:
            shown += os.read(ours, 65536)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 130
    assert out == ""
    assert b"Interrupted after" in shown
    assert b"Traceback" not in shown
    assert {path.name for path in tmp_path.iterdir()} == {UNFINISHED}
