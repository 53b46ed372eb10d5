"""The sums of the demo's first part."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from fasttool.cli.demo_questions import QuestionResult


@dataclass(slots=True)
class Totals:
    """Counts and times over the questions so far.

    Args:
        by_category: right ones and all, by category.
        model_seconds: time in the model.
        fasttool_us: microseconds in fasttool, one entry per question.
    """

    by_category: dict[str, tuple[int, int]] = field(default_factory=dict)
    model_seconds: float = 0.0
    fasttool_us: list[float] = field(default_factory=list)

    def add(self, result: QuestionResult) -> None:
        """Count one result."""
        right, number = self.by_category.get(result.category, (0, 0))
        self.by_category[result.category] = right + result.right, number + 1
        self.model_seconds += result.model_ms / 1e3
        self.fasttool_us.append(result.fasttool_us)

    @property
    def right(self) -> int:
        """How many were right."""
        return sum(right for right, _ in self.by_category.values())

    @property
    def number(self) -> int:
        """How many there were."""
        return len(self.fasttool_us)

    @property
    def median_fasttool_us(self) -> float:
        """Median of the microseconds in fasttool; 0 where there is no question yet."""
        return median(self.fasttool_us) if self.fasttool_us else 0.0

    def lines(self) -> list[str]:
        """Return the sums as lines of text."""
        categories = ", ".join(
            f"{name} {right}/{number}" for name, (right, number) in self.by_category.items()
        )
        return [
            f"{self.right} of {self.number} right ({categories})",
            f"{self.model_seconds:.1f} s in the model, its HTTP requests included",
            f"{self.median_fasttool_us:,.0f} µs in fasttool per question (median)",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON has."""
        return {
            "right": self.right,
            "questions": self.number,
            "categories": {
                name: {"right": right, "questions": number}
                for name, (right, number) in self.by_category.items()
            },
            "model_seconds": round(self.model_seconds, 3),
            "fasttool_median_us": round(self.median_fasttool_us, 1),
        }
