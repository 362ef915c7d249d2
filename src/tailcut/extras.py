"""Optional packages: which extra of tailcut installs each of them, and one sentence when some are missing.

Code that needs an optional package calls `require` before it imports the package. A package of tailcut that is useless
without one calls `require` in its `__init__.py`.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import combinations

from tailcut.errors import MissingExtraError

EXTRAS: dict[str, tuple[str, ...]] = {
    "train": ("torch", "sklearn"),
    "live": ("torch", "zmq", "msgspec"),
    "ray": ("torch", "ray"),
    "report": ("matplotlib",),
    "gym": ("gymnasium",),
    "images": ("PIL",),
    "tensorboard": ("tensorboard",),
    "testing": ("pytest",),
}
"""The modules that each extra installs. Where several extras would do, the first is suggested."""
DISTRIBUTIONS = {"sklearn": "scikit-learn", "zmq": "pyzmq", "PIL": "Pillow"}
"""Names on PyPI that differ from the module's name."""
LIVE = EXTRAS["live"]
"""Modules that live training needs in every process."""


def require(purpose: str, *modules: str) -> None:
    """Check that optional modules are installed, without importing them.

    Args:
        purpose: what needs the modules; the subject of the error message.
        modules: names of top-level modules, each of them in `EXTRAS`.

    Raises:
        MissingExtraError: some are not installed. The sentence names them all, and the extras that install them all.
    """
    missing = [module for module in dict.fromkeys(modules) if not _is_installed(module)]
    if missing:
        raise MissingExtraError(
            purpose, [DISTRIBUTIONS.get(module, module) for module in missing], _extras(missing)
        )


def _is_installed(module: str) -> bool:
    spec = find_spec(module)
    # A folder that happens to have the name is also found, as a namespace package without a file.
    return spec is not None and spec.origin is not None


def _extras(missing: list[str]) -> tuple[str, ...]:
    """Return the fewest extras that together install all missing modules."""
    return next(
        some
        for size in range(1, len(EXTRAS) + 1)
        for some in combinations(EXTRAS, size)
        if set(missing) <= {module for extra in some for module in EXTRAS[extra]}
    )
