"""Questions with known answers, and whether a model's calls are right."""

from fasttool.evaluation.bfcl import CATEGORIES, Question, read_questions
from fasttool.evaluation.matching import BoundCall, ExpectedCall, Verdict, match_calls

__all__ = ["CATEGORIES", "BoundCall", "ExpectedCall", "Question", "Verdict", "match_calls", "read_questions"]
