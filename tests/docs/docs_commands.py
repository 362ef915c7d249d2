"""The options of commands that pages speak of: our own, torchrun's, and those of Ray."""

from __future__ import annotations

import typer
from torch.distributed.run import get_args_parser

from tailcut import cli
from tailcut.engines.servers.cluster import load_ray

COMMANDS = (
    *("compare", "backtest", "fit", "table", "policies", "clusters", "tasks", "study", "report", "reproduce"),
    *("train", "watch", "launch"),
)


def options(*commands: str) -> set[str]:
    """The long options of these commands; those of the program itself where none is named."""
    cli.load(())
    program = typer.main.get_command(cli.app)
    found = program.commands  # type: ignore[attr-defined]
    parameters = [each for name in commands for each in found[name].params] if commands else program.params
    every = (option for each in parameters for option in (*each.opts, *each.secondary_opts))
    return {option for option in every if option.startswith("--")}


def torchrun_options() -> set[str]:
    """The long options of torchrun."""
    return {option for action in get_args_parser()._actions for option in action.option_strings}


def ray_options() -> set[str]:
    """The long options of `ray start` and `ray get-auth-token`."""
    load_ray()
    from ray.scripts import scripts

    both = (*scripts.start.params, *scripts.get_auth_token.params)
    return {option for parameter in both for option in parameter.opts}
