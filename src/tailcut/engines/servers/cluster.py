"""Connect to a Ray cluster, or start one on this machine; failures are told in a sentence."""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tailcut.engines.servers.failures import ServersError, sentence_of
from tailcut.engines.servers.reaching import check_reachable
from tailcut.extras import require

_TOKENS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def load_ray() -> Any:
    """Return the package `ray`, with token authentication on unless the environment says otherwise.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    require("Training with --engine ray", "torch", "ray")
    if "ray" not in sys.modules:
        # Ray reads this when it is imported; where it was imported before, the caller has decided.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        # tailcut reports a loss in a sentence; Ray would log a page for every lost object that is never read.
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    import ray

    return ray


def make_token() -> None:
    """Make a token for a cluster that this process starts, if tokens are on and none was given."""
    is_on = os.environ.get("RAY_AUTH_MODE") == "token"
    if is_on and not any(name in os.environ for name in _TOKENS):
        # For this run alone, and in no file: every user could read the file that Ray would make.
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def cluster(address: str | None, processors: int, store: int | None = None) -> Iterator[Any]:
    """Yield `ray`, connected to a cluster for as long as the block lasts; token authentication is on.

    Args:
        address: of a running cluster, as `host:port` or `auto`; None starts one on this machine, whose
            processes listen on the loopback address alone.
        processors: number that a cluster started here reports, whatever the machine has: actors ask for them.
        store: size of its object store in bytes; None for Ray's own choice.

    Raises:
        MissingExtraError: Ray is not installed.
        ParameterError: the address is not valid.
        InputError: no cluster answers there.
        ServersError: the cluster does not accept this process, or could not be started.
    """
    ray = load_ray()
    if address is None:
        make_token()
    if ray.is_initialized():
        # The caller has connected before, to the cluster of its choice.
        yield ray
        return
    check_reachable(address)
    check_reachable(_resolved(ray, address))
    try:
        if address is None:
            with _loopback_only(ray):
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
        if address is None:
            _refuse_open_ports(ray)
        yield ray
    finally:
        ray.shutdown()


def _resolved(ray: Any, address: str | None) -> str | None:
    """Return the `host:port` that Ray connects to for an address, as far as it can be told.

    Ray finds `auto` among the processes of this machine, and replaces a loopback address by another one of the machine.
    So it would try for minutes to reach the cluster of another local run, which listens on the loopback address alone.
    """
    try:
        found: str | None = ray._private.services.canonicalize_bootstrap_address(address or "local")
    except Exception:
        # `ray.init` fails in the same way, and its answer is the one to tell.
        return address
    return found


@contextmanager
def _loopback_only(ray: Any) -> Iterator[None]:
    """Make the Ray processes that start within the block listen on the loopback address alone.

    They do so if their node's address is 127.0.0.1, and on all addresses otherwise. `ray.init` replaces a loopback
    address in its arguments by another one of the machine, unless this switch is off, as it is on macOS and Windows.
    """
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _refuse_open_ports(ray: Any) -> None:
    """Raise if the switch of `_loopback_only` had no effect: it is internal to Ray and may change with its version."""
    host = ray.util.get_node_ip_address()
    if not ipaddress.ip_address(host).is_loopback:
        raise ServersError(
            f"Ray {ray.__version__} listens on all addresses of this machine, as {host}, and not on 127.0.0.1 alone. "
            "Install Ray 2.60, or start a cluster with ray start --head and give its --address."
        )


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
