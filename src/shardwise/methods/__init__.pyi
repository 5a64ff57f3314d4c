"""Methods that turn tables of scores into estimates, and the names of procedures."""

from .method import Clause, Method
from .names import Procedure, list_methods, list_procedures, parse_procedure, register_method
from .pairs import Means, Pairs

__all__ = [
    "Clause",
    "Means",
    "Method",
    "Pairs",
    "Procedure",
    "list_methods",
    "list_procedures",
    "parse_procedure",
    "register_method",
]
