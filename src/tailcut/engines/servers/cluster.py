"""Reaching a Ray cluster, or starting one on this machine; what goes wrong is a sentence."""

from __future__ import annotations

import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tailcut.engines.servers.failures import ServersError, sentence_of
from tailcut.engines.servers.reaching import check_reachable
from tailcut.errors import MissingExtraError

_TOKENS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def load_ray() -> Any:
    """The package, with token authentication switched on unless the environment says otherwise.

    Raises:
        MissingExtraError: it is not installed.
    """
    if "ray" not in sys.modules:
        # Read when it is imported; whoever has imported it before has decided.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        # What is lost is told in a sentence; Ray would write a page about every object that nobody asks for again.
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtraError("ray", "ray", "Training with --engine ray") from error
    return ray


def make_token() -> None:
    """A token for a cluster that this process starts, if tokens are asked for and it was given none."""
    is_on = os.environ.get("RAY_AUTH_MODE") == "token"
    if is_on and not any(name in os.environ for name in _TOKENS):
        # Of this run alone, and in no file: the one that Ray would make is everybody's to read.
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def cluster(address: str | None, processors: int, store: int | None = None) -> Iterator[Any]:
    """A cluster for as long as the block lasts; tokens are asked for.

    Args:
        address: of a running one, as `host:port` or `auto`; None starts one on this machine.
        processors: that one started here says it has: actors ask for them, whatever there is.
        store: bytes of its object store; None for Ray's own choice.

    Raises:
        MissingExtraError: Ray is not installed.
        ParameterError: the address is none.
        InputError: no cluster answers there.
        ServersError: it does not accept this process, or could not be started.
    """
    ray = load_ray()
    if address is None:
        make_token()
    if ray.is_initialized():
        # Whoever has connected before knows where to.
        yield ray
        return
    check_reachable(address)
    try:
        if address is None:
            ray.init(
                address="local",
                num_cpus=processors,
                object_store_memory=store,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise ServersError(_why(error, address)) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _why(error: BaseException, address: str | None) -> str:
    told = sentence_of(error)
    if told is not None:
        return told
    text = " ".join(str(error).split())
    if "ersion mismatch" in text:
        return (
            f"The cluster at {address} runs other versions than this process: {text} Install the same versions of Ray "
            "and Python on both sides."
        )
    where = "here" if address is None else f"at {address}"
    return f"Ray could not be started or reached {where}: {text}."
