"""Whether a round of tool calls ends the run (reference: core, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from fasttool.specification import ReturnBehavior

# In Python 3.11, finding a member of an enum takes longer than all else in a comparison with it.
_TO_LLM = ReturnBehavior.TO_LLM
_IMMEDIATE_IF_LAST = ReturnBehavior.IMMEDIATE_IF_LAST


def returns_immediately(behaviors: Sequence[ReturnBehavior], *, failed: bool) -> bool:
    """Say whether the results of a round go to the caller without another model call.

    Args:
        behaviors: one per call of the round, in call order.
        failed: some call of the round failed; the model must see that.
    """
    if failed or not behaviors:
        return False
    if behaviors[-1] is _IMMEDIATE_IF_LAST:
        return True
    return _TO_LLM not in behaviors
