"""A reproduction for other programs: one object, finite numbers or null only."""

from __future__ import annotations

from typing import Any

from tailcut.study.reproduce.findings import Reproduction, plain


def reproduction_json(found: Reproduction) -> dict[str, Any]:
    """Return paper, level, number of claims that hold, and all findings, ready for `json.dumps`."""
    claims = [claim for _, claim in found.claims]
    return {
        "paper": found.paper,
        "title": found.title,
        "level": found.level,
        "command": found.command,
        "claims": len(claims),
        "hold": sum(claim.holds for claim in claims),
        "findings": [plain(finding) for finding in found.findings],
    }
