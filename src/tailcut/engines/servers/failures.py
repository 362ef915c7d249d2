"""Translate Ray's exceptions into what they mean here; no other module names them."""

from __future__ import annotations

from collections.abc import Iterator

from tailcut.errors import TailcutError


class ShardLostError(TailcutError):
    """A shard cannot get what it needs any more: all shards must go back to a checkpoint."""


class GradientsLostError(TailcutError):
    """Gradients that an update needs are gone with their node: nothing of it is added to the parameters."""


class ServersError(TailcutError):
    """The cluster does not do what is asked of it; the message says what to do."""


def _caused(error: BaseException) -> BaseException:
    """Return the underlying error: inside a task, Ray wraps the errors of its arguments."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error


def is_actor_gone(error: BaseException) -> bool:
    """Return whether a call failed because its actor died or is being restarted."""
    from ray.exceptions import OutOfMemoryError, RayActorError

    # Ray's memory monitor also kills actors, and reports it by an error of its own.
    return isinstance(error, RayActorError | OutOfMemoryError)


def is_restarting(error: BaseException) -> bool:
    """Return whether an actor is only unavailable for now, which does not count as another death."""
    from ray.exceptions import ActorUnavailableError

    return isinstance(error, ActorUnavailableError)


def never_began(error: BaseException) -> bool:
    """Return whether an actor died in its constructor, where it would die again."""
    return "creation task" in str(error) or "__init__" in str(error)


def is_object_lost(error: BaseException) -> bool:
    """Return whether a call failed because an object is lost."""
    from ray.exceptions import ObjectLostError

    return isinstance(_caused(error), ObjectLostError)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors that it came from."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _is_refused(error: BaseException) -> bool:
    """Return whether the cluster did not accept a token."""
    from ray import exceptions

    return any(
        isinstance(each, exceptions.AuthenticationError) or "InvalidAuthToken" in str(each)
        for each in _chain(error)
    )


def _has_no_token(error: BaseException) -> bool:
    """Return whether this process found no token to present."""
    return any(
        "no authentication token was found" in str(each)
        or "couldn't find an authentication token" in str(each)
        or "RAY_AUTH_TOKEN_PATH is set but" in str(each)
        for each in _chain(error)
    )


def sentence_of(error: BaseException) -> str | None:
    """Return the message to the user for an error of Ray's; None for an unexpected error."""
    from ray import exceptions

    cause = _caused(error)
    if isinstance(cause, exceptions.ObjectStoreFullError | exceptions.OutOfDiskError):
        return (
            "Ray's object store is full: parameters, optimiser state and the gradients of a round must fit into it. "
            "Start a cluster with `ray start --head --object-store-memory BYTES` and name it by --address, or take "
            "fewer workers."
        )
    if _has_no_token(cause):
        return (
            "This process has no token to show to the cluster. Put the cluster's, which `ray get-auth-token` prints on "
            "its head, into RAY_AUTH_TOKEN, into ~/.ray/auth_token or into the file of RAY_AUTH_TOKEN_PATH; where the "
            "cluster asks for none, set RAY_AUTH_MODE=disabled."
        )
    if _is_refused(cause):
        return (
            "The cluster did not accept this process's token. Give it the token of the cluster in RAY_AUTH_TOKEN or "
            "the file of RAY_AUTH_TOKEN_PATH."
        )
    if isinstance(cause, exceptions.ObjectLostError):
        return "The newest parameters are gone with their node. Start again: it goes on from the newest checkpoint."
    if isinstance(cause, exceptions.OutOfMemoryError):
        return (
            "A node of the cluster has run out of memory. Take fewer workers on it, or smaller mini-batches."
        )
    if isinstance(error, exceptions.RayTaskError | exceptions.RayActorError):
        last = str(error).strip().splitlines()[-1].strip()
        return f"A process of the run failed: {last}. Its own words are in Ray's logs; mend the task and start again."
    if isinstance(cause, exceptions.RuntimeEnvSetupError):
        return f"The cluster could not set up a worker's environment: {cause}."
    return None
