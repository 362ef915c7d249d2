"""Describes steps in words, so that a person can follow a path of states."""

from __future__ import annotations

from tailcut.engines.live.messages import Close, FromController, FromWorker, Hello, New
from tailcut.testing.search.controllers import Facts
from tailcut.testing.search.logs import Logs
from tailcut.testing.search.scene import Scene
from tailcut.testing.search.steps import NOBODY, Step
from tailcut.testing.search.workers import Phase


def told(step: Step, before: Scene, after: Scene, facts: Facts, logs: Logs) -> str:
    """Return one step as a sentence, with the messages that the controller sends."""
    return f"{_deed(step, before, after, facts, logs)}{_answers(before, after)}."


def _deed(step: Step, before: Scene, after: Scene, facts: Facts, logs: Logs) -> str:
    number = step.worker
    if number == NOBODY:
        return _controllers_own(step, before, facts)
    me, then, who = before.workers[number], after.workers[number], f"Worker {number}"
    version = logs.length(then.log)
    where = "" if me.inside is None else f" of round {me.inside.version} in epoch {me.inside.epoch}"
    match step.what:
        case "hear":
            return f"The controller hears of worker {number}: {_said(me.outbox[0])}"
        case "notice":
            return f"The controller notices that worker {number} is gone"
        case "arrive":
            return f"{who} comes to step() with its gradient of version {version}"
        case "read":
            return f"{who} reads {_message(me.inbox[0])} and {_does(then.phase)}"
        case "complete" | "complete after all":
            late = ", which it had given up," if step.what != "complete" else ""
            return f"{who} completes the reduction{where}{late} and has version {version}"
        case "break off":
            return f"{who} breaks off the reduction{where}, at version {version}"
        case "stall":
            return f"The reduction{where} stalls: worker {number} breaks it off, at version {version}"
        case "pull":
            return f"{who} pulls an update and has version {version}"
        case "copy":
            return f"{who} has copied the holder's state, of version {version}"
        case "look up":
            return f"{who} is called away from what it fetches and {_does(then.phase)}"
        case "renew":
            return (
                f"{who} notices that its line was lost and is there again; it says Hello at version {version}"
            )
        case "hang up":
            return f"{who} finds no controller any more and {_does(then.phase)}"
        case "kill":
            lost = len(me.outbox) - step.number
            words = f", and {lost} of its messages with it" if lost else ""
            return f"Worker {number} is killed while it {_does(me.phase)}, at version {logs.length(me.log)}{words}"
        case "return":
            return f"Worker {number} is started again, and says Hello"
        case "cut":
            return f"The line of worker {number} breaks; the controller takes it for gone"
        case _:
            return f"{who}: {step.what}"


def _controllers_own(step: Step, before: Scene, facts: Facts) -> str:
    if step.what == "restart":
        return f"The controller is killed; one of term {facts.term + 1} is started"
    if step.what == "take over":
        return f"The controller has lost everybody; one of term {facts.term + 1} takes its place"
    if facts.epoch == 0:
        return "The controller has waited long enough for Hellos"
    if facts.asking:
        return "The controller has waited long enough for who was lost to come back"
    silent = ", ".join(map(str, facts.reducing))
    well = "who are well but silent" if step.what == "silence" else "who are dead"
    return f"The controller has waited long enough for {silent}, {well}"


def _answers(before: Scene, after: Scene) -> str:
    """Return the messages that the controller sends in a step, with their receivers, as text."""
    found: dict[FromController, list[int]] = {}
    for number, (old, new) in enumerate(zip(before.workers, after.workers, strict=True)):
        for message in new.inbox[len(old.inbox) :]:
            found.setdefault(message, []).append(number)
    said = [f"{_message(message)} to {', '.join(map(str, those))}" for message, those in found.items()]
    return f"; it says {'; '.join(said)}" if said else ""


def _does(phase: Phase) -> str:
    return str(phase)


def _message(message: FromController) -> str:
    where = f"term {message.term}, epoch {message.epoch}" if message.term > 1 else f"epoch {message.epoch}"
    match message:
        case New():
            joiners = f", joined by {_those(message.joiners)}" if message.joiners else ""
            members = f"{_those(message.members)} from version {message.base}, held by {message.holder}"
            return f"New({where}: {members}{joiners})"
        case Close():
            return f"Close({where}: round {message.version} of {_those(message.accepted)})"
        case _:
            version = getattr(message, "version", None)
            return f"{type(message).__name__}({where}{'' if version is None else f': version {version}'})"


def _said(message: FromWorker) -> str:
    version = getattr(message, "version", None)
    kind = type(message).__name__
    where = f"term {message.term}, epoch {message.epoch}"
    with_state = "nothing yet, " if isinstance(message, Hello) and not message.epoch else ""
    return f"{kind}({with_state}{where}, version {version})"


def _those(numbers: tuple[int, ...]) -> str:
    return "+".join(map(str, numbers))
