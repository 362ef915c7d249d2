"""The figures of one task on one cluster, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from matplotlib.figure import Figure

from tailcut.report.draw import Drawing
from tailcut.report.draw.canvas import rendered
from tailcut.report.study.draw.curves import draw_curves, draw_served
from tailcut.report.study.draw.look import Looks
from tailcut.report.study.draw.rows import draw_idle, draw_times, draw_traffic
from tailcut.report.study.formats import duration, goal
from tailcut.report.study.plots.bars import idle_plot, served_plot, times_plot, traffic_plot
from tailcut.report.study.plots.curves import CurvesPlot, between_plot, figure_plot
from tailcut.report.study.ranking import ranked
from tailcut.report.words import printable
from tailcut.study.grid.facts import CaseFacts

Part = tuple[str, str, Callable[[], Figure]]
_TIME, _UPDATES = "virtual time, seconds", "updates"


def case_drawings(case: CaseFacts, number: int, looks: Looks) -> list[Drawing]:
    """Draw the figures of `case`, which is number `number` on the page."""
    parts = [
        _times(case, looks),
        *_learning(case, looks),
        *_between(case, looks),
        *_costs(case, looks),
    ]
    return [
        Drawing(title, caption, rendered(draw, escape(f"{title}. {caption}"), f"study-{number}-{place}"))
        for place, (title, caption, draw) in enumerate(parts)
    ]


def _times(case: CaseFacts, looks: Looks) -> Part:
    plot = times_plot(case)
    pale = "" if all(plot.whole) else " Pale bars are lower bounds: not all runs got there."
    return (
        "Time to target",
        f"Virtual time until {goal(case.setting)}.{pale}",
        lambda: draw_times(plot, looks),
    )


def _costs(case: CaseFacts, looks: Looks) -> Iterator[Part]:
    idle, traffic, served = idle_plot(case), traffic_plot(case), served_plot(case)
    yield (
        "Waiting and staleness",
        "What a rule saves in waiting it may pay in staleness.",
        lambda: draw_idle(idle, looks),
    )
    yield (
        "What went over the wire",
        "Bytes of the gradients that arrived in a run, the mean over seeds.",
        lambda: draw_traffic(traffic, looks),
    )
    yield (
        "Whose gradients were used",
        "Accepted gradients of each worker, workers sorted in every run. Flat at 1 is even; where a line begins near "
        "0, somebody's data is hardly seen.",
        lambda: draw_served(served, looks, ranked(case)[0].arm),
    )


def _learning(case: CaseFacts, looks: Looks) -> Iterator[Part]:
    """Yield the target's figure, and the loss if that is another, against time and against updates."""
    shown = {"figure": printable(case.setting.figure).replace("_", " ")}
    if case.setting.figure != "loss":
        shown["loss"] = "loss"
    for what, name in shown.items():
        target = case.setting.value if what == "figure" else None
        for along, axis in (("seconds", _TIME), ("updates", _UPDATES)):
            plot = figure_plot(case, what, along)
            if plot.curves:
                title = f"{name.capitalize()} against {'virtual time' if along == 'seconds' else 'updates'}"
                yield (
                    title,
                    _curves_caption(case, plot, target),
                    _drawn(case, plot, looks, axis, name, target=target),
                )


def _between(case: CaseFacts, looks: Looks) -> Iterator[Part]:
    of_workers = f"gradients in an update, of {case.setting.workers}"
    for what, title, axis, about in (
        ("cutoff", "Cutoff over time", of_workers, "Gradients that went into an update."),
        (
            "noise",
            "Noise scale over time",
            "noise scale, samples",
            "As estimated on the way; geometric means.",
        ),
        ("rate", "Learning rate over time", "learning rate", "That updates were made with."),
    ):
        plot = between_plot(case, what)
        if plot.curves:
            true = " Thin and dotted: the true one at the same parameters." if plot.truth else ""
            caption = (
                f"{about}{true} Means in windows, over seeds; bands from the least to the most.{_cut(plot)}"
            )
            whole = case.setting.workers if what == "cutoff" else None
            yield title, caption, _drawn(case, plot, looks, _TIME, axis, whole=whole)


def _drawn(
    case: CaseFacts, plot: CurvesPlot, looks: Looks, x: str, y: str, **lines: float | None
) -> Callable[[], Figure]:
    return lambda: draw_curves(plot, looks, x, y, best=ranked(case)[0].arm, **lines)


def _curves_caption(case: CaseFacts, plot: CurvesPlot, target: float | None) -> str:
    dotted = "" if target is None else f" Dotted: {goal(case.setting)}."
    kept = "A run that has ended keeps its last value."
    return f"Mean over seeds, bands from the least to the most. {kept}{dotted}{_cut(plot)}"


def _cut(plot: CurvesPlot) -> str:
    if not plot.cut:
        return ""
    who = "One arm goes" if plot.cut == 1 else f"{plot.cut} arms go"
    return f" {who} on beyond {duration(plot.end)}."
