"""The targets of this family."""

from __future__ import annotations

from fuzz.cases import Target
from fuzz.meaning.changes import make_change, try_change
from fuzz.meaning.commands import make_line, try_line
from fuzz.meaning.formats import make_surface, try_surface
from fuzz.meaning.logs import make_log, try_log
from fuzz.meaning.tables import make_table, try_table

TARGETS = {
    "tables": Target(make_table, try_table, 20.0),
    "logs": Target(make_log, try_log, 10.0),
    "changes": Target(make_change, try_change, 1.0),
    "formats": Target(make_surface, try_surface, 0.5),
    "commands": Target(make_line, try_line, 20.0),
}
