"""Tasks by name."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from tailcut import names
from tailcut.errors import InputError
from tailcut.learning.tasks.logistic import Logistic
from tailcut.learning.tasks.presets import TASKS, about
from tailcut.learning.tasks.quadratic import Quadratic


@pytest.mark.parametrize("name", TASKS)
def test_every_parameter_has_a_default_and_every_task_its_line(name: str) -> None:
    parameters = inspect.signature(TASKS[name]).parameters.values()
    assert parameters
    assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters)
    assert 10 < len(about(name)) < 110


def test_parameters_are_read_from_names() -> None:
    found = names.task("quadratic:noise=curvature:dimension=3:sigma=0.5")
    assert isinstance(found, Quadratic)
    assert (found.noise, found.dimension, found.sigma) == ("curvature", 3, 0.5)
    found = names.task("logistic:skew=0.5:of=4:batch=2")
    assert isinstance(found, Logistic)
    assert (found.skew, found.of, found.batch) == (0.5, 4, 2)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("digit", "Unknown task 'digit'. Did you mean 'digits'"),
        ("digits:hiden=3", "Unknown parameter of digits 'hiden'. Did you mean 'hidden'"),
        ("digits:hidden=many", "hidden in .* must be a whole number"),
        ("quadratic:noise=pink", "noise in .* must be"),
        ("quadratic:optimum=1", "Unknown parameter of quadratic 'optimum'"),
    ],
)
def test_bad_names_are_told(spec: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        names.task(spec)


def test_tasks_need_torch_and_numpy_alone_until_they_are_made() -> None:
    barred = ("scipy", "sklearn", "gymnasium", "PIL", "pyarrow", "typer", "rich")
    code = (
        "import sys\n"
        f"for name in {barred}: sys.modules[name] = None\n"
        "from tailcut.learning.tasks.presets import TASKS\n"
        "TASKS['quadratic'](); TASKS['logistic'](); TASKS['uneven'](); TASKS['text'](limit=10000)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
