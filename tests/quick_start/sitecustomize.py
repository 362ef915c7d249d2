"""Python imports this when a process starts that a test has started: torch's compiler is loaded where it is used only.

The first optimizer of a process, and its first step, make torch import its compiler, `torch._dynamo`, although nothing
is compiled: a second of a core in each of the hundreds of processes that tests start. torch does so to exclude its own
functions from what is compiled. As long as the compiler is not loaded nothing is being compiled, and the functions can
be called as they are. Once a script has loaded it, torch's own way is taken.
"""

import functools
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder

COMPILER = "torch._dynamo"


def change_exclusion(module):
    """Change the decorator that excludes a function from what is compiled."""
    exclude = getattr(module, "_disable_dynamo", None)
    if exclude is None:  # Another version of torch: its own way is taken.
        return

    def disable(function=None, recursive=True):
        if function is None:
            return functools.partial(disable, recursive=recursive)
        return choosing(exclude(function, recursive), function)

    module._disable_dynamo = disable


def change_step(module):
    """Change the decorator of the steps of optimizers, which switches autograd off."""
    inner = getattr(module, "_use_grad_for_differentiable", None)
    if inner is None:
        return

    def decorate(function):
        def step(*args, **kwargs):
            before = module.torch.is_grad_enabled()
            try:
                module.torch.set_grad_enabled(args[0].defaults["differentiable"])
                return function(*args, **kwargs)
            finally:
                module.torch.set_grad_enabled(before)

        return choosing(inner(function), step)

    module._use_grad_for_differentiable = decorate


def choosing(with_compiler, without):
    """Return a function that calls the first as soon as the compiler is loaded, and the second before."""

    @functools.wraps(with_compiler)
    def call(*args, **kwargs):
        return (with_compiler if COMPILER in sys.modules else without)(*args, **kwargs)

    return call


CHANGES = {"torch._compile": change_exclusion, "torch.optim.optimizer": change_step}


class LazyCompiler(MetaPathFinder):
    """Changes two modules of torch right after they were executed."""

    def find_spec(self, name, path=None, target=None):
        """Find a module as usual."""
        if name not in CHANGES:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and found.loader is not None:
            execute = found.loader.exec_module

            def changing(module):
                execute(module)
                CHANGES[name](module)

            found.loader.exec_module = changing
        return found


sys.meta_path.insert(0, LazyCompiler())
