"""Every command and public name, with the optional modules that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from tailcut.extras import LIVE

TRAIN = ("train", "--task", "quadratic", "--workers", "1", "--updates", "2")
SMALL = ("demo8", "--seeds", "1", "--rounds", "12")
FEW = ("--policies", "wait-all")

STUDY = """
tasks = ["TASK"]
clusters = ["demo8"]
seeds = 1
rounds = 3
batch = 4
rates = [0.3]

[[arms]]
name = "wait for all"
policy = "wait-all"
"""
SCRIPT = """
import torch, tailcut
net = torch.nn.Linear(2, 1)
opt = tailcut.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1), net, policy="wait-all", total=2)
for batch in opt.rounds([torch.ones(1, 2)] * 4):
    opt.zero_grad()
    net(batch).sum().backward()
    opt.step()
print("version", opt.version)
"""
FILES = {
    "quadratic.toml": STUDY.replace("TASK", "quadratic"),
    "digits.toml": STUDY.replace("TASK", "digits"),
    "cartpole.toml": STUDY.replace("TASK", "cartpole"),
    "script.py": SCRIPT,
}
"""Files that the rows use, in the folder where they are tried."""
ENVIRONMENT = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
"""Makes `--show-completion` print for the shell that is named; otherwise it looks among the ancestors."""


@dataclass(frozen=True, slots=True)
class Row:
    """One action of a user: a command or a piece of Python code.

    Attributes:
        title: label in the table.
        needs: optional modules that it needs, beside those of `pip install tailcut`.
        arguments: arguments of the command `tailcut`; empty for Python code.
        code: Python code that a user could write; empty for a command.
        code_of_success: exit code where all modules are installed.
        takes_long: whether it takes more than a few seconds where all modules are installed.
    """

    title: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    code: str = ""
    code_of_success: int = 0
    takes_long: bool = False


def _command(
    *arguments: str, needs: tuple[str, ...] = (), code: int = 0, takes_long: bool = False, title: str = ""
) -> Row:
    named = title or " ".join(arguments)
    return Row(f"tailcut {named}", needs, arguments, code_of_success=code, takes_long=takes_long)


def _import(what: str, *needs: str) -> Row:
    module, _, name = what.rpartition(".")
    return Row(what, needs, code=f"from {module} import {name}")


ROWS = (
    _command("--version"),
    _command("--help"),
    _command("--show-completion", "bash"),
    _command("policies"),
    _command("clusters"),
    _command("tasks", needs=("torch",)),
    _command("table", "demo8", "-o", "t.csv", "--rounds", "12"),
    _command("compare", *SMALL),
    _command("compare", *SMALL, *FEW, "--report", "page.html", needs=("matplotlib",)),
    _command("compare", *SMALL, "--policies", "bdsgd:train=30", needs=("torch",)),
    _command("backtest", *SMALL, "--policies", "trend"),
    _command("backtest", *SMALL, "--policies", "trend", "--report", "b.html", needs=("matplotlib",)),
    _command(
        "fit",
        "demo8",
        "-o",
        "m.safetensors",
        "--rounds",
        "30",
        "--epochs",
        "1",
        needs=("torch",),
        takes_long=True,
    ),
    _command("pretrain", "-o", "p.safetensors", "--clusters", "12", needs=("torch",), takes_long=True),
    _command("study", "quadratic.toml", "-o", "out", "--processes", "1", needs=("torch",), takes_long=True),
    _command("study", "digits.toml", "-o", "digits", needs=("torch", "sklearn"), takes_long=True),
    _command("study", "cartpole.toml", "-o", "cartpole", needs=("torch", "gymnasium"), takes_long=True),
    _command("report", "none", "--json", code=2),
    _command("reproduce", "chen2016", needs=("torch", "sklearn", "matplotlib"), takes_long=True),
    _command("key", "run.key", needs=("zmq",)),
    _command("launch", "-n", "1", "script.py", needs=LIVE, takes_long=True),
    _command(*TRAIN, needs=LIVE, takes_long=True),
    _command("train", "--workers", "2", "--updates", "2", needs=(*LIVE, "sklearn"), takes_long=True),
    _command(*TRAIN, "--report", "t.html", needs=(*LIVE, "matplotlib"), takes_long=True),
    _command(*TRAIN, "--engine", "ray", needs=("torch", "ray"), takes_long=True),
    _command(*TRAIN, "--engine", "ray", "--slow", "none", needs=("torch", "ray"), code=2),
    _command("watch", "none", "--once", code=2),
    _command("controller", "--workers", "1", "--max-wait", "1", needs=("zmq", "msgspec")),
    _command("controller", "--workers", "1", "--tensorboard", "s", needs=("zmq", "msgspec", "tensorboard")),
    _import("tailcut.Optimizer", *LIVE),
    _import("tailcut.Outcome"),
    _import("tailcut.clusters.Preset"),
    _import("tailcut.engines.live.checkpoints.Order", "torch"),
    _import("tailcut.engines.servers.train.train", "torch", "ray"),
    _import("tailcut.engines.simulated.replay"),
    _import("tailcut.engines.simulated.training.train", "torch"),
    _import("tailcut.fitting.bdsgd.BdsgdTraining", "torch"),
    _import("tailcut.fitting.loop.fit"),
    _import("tailcut.forecast.Bayes"),
    _import("tailcut.learning.recipe.Recipe", "torch"),
    _import("tailcut.learning.tasks.own.task_of", "torch"),
    _import("tailcut.names.entrant"),
    _import("tailcut.optimal.optimal_stopping"),
    _import("tailcut.policy.Policy"),
    _import("tailcut.rules.Stopping"),
    _import("tailcut.study.compare.compare"),
    _import("tailcut.table.Table"),
    _import("tailcut.testing.RuleSuite", "pytest"),
    _import("tailcut.testing.tasks.TaskSuite", "torch", "pytest"),
    _import("tailcut.traces.read_table"),
)
