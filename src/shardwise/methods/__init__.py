"""Methods that turn tables of scores into estimates, one package a family, and the names of procedures."""

import lazy_loader  # type: ignore[import-untyped]

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "method": ["Clause", "Method"],
        "pairs": ["Means", "Pairs"],
        "names": ["Procedure", "list_methods", "list_procedures", "parse_procedure", "register_method"],
    },
)
