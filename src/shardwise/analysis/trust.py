"""How far the report's own methods can be trusted: a small calibration on tables like the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shardwise.core.arguments import Progress, borrow_executor
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.lab.recorded import ALPHA, RecordedRates, is_recorded_kind, recorded_rates
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.tables import INSTANCES, SHARDS, TABLE, Dims

if TYPE_CHECKING:
    from shardwise.lab.calibrate import Calibration
    from shardwise.lab.statements import StatementCheck
    from shardwise.lab.verdict import Advice, Verdict

# beside the methods of the report: what one might have used instead
ALTERNATIVES: Mapping[Dims, tuple[str, ...]] = {
    TABLE: (
        "moderated",
        "moderated holm",
        "moderated bh",
        "MD1 hsd topic",
        "MD1 bh topic",
        "t holm",
        "t bh",
        "max-t",
    ),
    SHARDS: (
        "moderated",
        "moderated bh",
        "moderated holm these",
        "MD6 hsd",
        "MD6 bh",
        "MD6 hsd topic",
        "MD6 bh topic",
        "t holm",
        "t bh",
        "max-t",
    ),
    INSTANCES: (
        "moderated topic+instance",
        "moderated bh topic+instance",
        "unified holm",
        "unified bh",
        "t holm",
        "joint mixed hsd",
    ),
}
DEFAULT_CLAIMS: Mapping[Dims, tuple[tuple[str, ...], ...]] = {
    TABLE: (("topic",),),
    SHARDS: ((), ("topic",)),
    INSTANCES: (("topic", "instance"),),
}
TOPICS = Claim("topic")
MOST_PLANNED = 60  # systems up to which planned power is checked, which takes long with very many pairs
PAIRS = 500_000  # decisions to simulate in all for one method and scenario
# tables; of 150, a method that errs in 15 % of them, not in 5 %, is shown to fail with a probability of 98 %
FEWEST, MOST = 100, 150
TOO_MANY = 200_000  # pairs


@dataclass(frozen=True, slots=True, eq=False)
class Trust:
    """What came out, or why nothing did."""

    calibration: Calibration | None
    used: tuple[str, ...]  # the methods of this report, by the name of their procedure
    reason: str  # why there is none
    nouns: Mapping[str, str] = field(default_factory=dict)
    # intervals, ranks, best set and planned power of the leading method on tables like the scores
    statements: StatementCheck | None = None
    # error rates of the leading method that were recorded before on tables of this kind and size
    recorded: RecordedRates | None = None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Advice, claim by claim."""
        return () if self.calibration is None else self.calibration.verdicts

    @property
    def rows(self) -> pd.DataFrame:
        """One row a method and claim, those of the report marked ``used``."""

        if self.calibration is None:
            return pd.DataFrame()
        table = self.calibration.table
        return table.assign(used=table["method"].isin(self.used) & table["meant"])

    def list_replacements(self) -> tuple[Advice, ...]:
        """List what to use in place of the methods of the report that are shown to fail, claim by claim."""
        if self.calibration is None:
            return ()
        rows = self.rows
        failed = rows[rows["used"] & (rows["status"] == "fails")]
        return tuple(
            advice
            for _, row in failed.iterrows()
            for verdict in self.verdicts
            for advice in verdict.advice
            if (verdict.claim, advice.error_rate) == (row["claim"], row["error_rate"])
        )


def default_budget(systems: int) -> int:
    """Tables to simulate at most: fewer where there are more pairs, as the time goes with both; none of very many.

    >>> default_budget(20), default_budget(150), default_budget(2000)
    (150, 100, 0)
    """
    pairs = max(1, systems * (systems - 1) // 2)
    if pairs > TOO_MANY:
        return 0
    return max(FEWEST, min(MOST, PAIRS // pairs))


def trust_in(
    table: Scores,
    procedures: tuple[Procedure, ...],
    *,
    alpha: float,
    budget: int | None,
    seed: int,
    baseline: str | Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Trust:
    """Say how far the methods of a report can be trusted on data like these.

    Where no number of tables is asked for and the error rate of the method is on record for tables of this kind and
    size, it is looked up. Otherwise the methods of the report are calibrated with ``budget`` tables a scenario, and
    common alternatives only where one of them is shown to fail. Against a baseline they are tried on its pairs alone,
    as the report has them.
    """
    tables = default_budget(table.sizes["system"]) if budget is None else budget
    if tables == 0:
        return Trust(None, (), "" if budget == 0 else "too many pairs to simulate")
    dims = table.dims
    if dims not in ALTERNATIVES:
        return Trust(None, (), f"no simulation for scores by {', '.join(dims)}")
    checked: dict[str, Any] = {"alpha": alpha, "seed": seed, "baseline": baseline}
    if budget is None:
        recorded = find_record(table, procedures, alpha=alpha, baseline=baseline)
        if recorded is not None:
            statements = check_report(table, procedures, tables=tables, **checked)
            return Trust(None, (recorded.method,), "", table.nouns, statements, recorded)
    # the laboratory is loaded for those who simulate
    from shardwise.lab.calibrate import CLAIMS, calibrate
    from shardwise.lab.verdict import declared_procedure

    testable = [
        procedure
        for procedure in procedures
        if dims in procedure.layouts and procedure.claim.over in CLAIMS[dims]
    ]
    used = tuple(procedure.name for procedure in testable)
    claims = dict.fromkeys((*DEFAULT_CLAIMS[dims], *(procedure.claim.over for procedure in testable)))
    # what stays unless it is shown to fail
    usual = [declared_procedure(dims, procedure.claim, procedure.error_rate) for procedure in testable]
    of_report = (*testable, *(procedure for procedure in usual if procedure is not None))
    others = tuple(map(parse_procedure, ALTERNATIVES[dims]))
    trust = Trust(None, used, "")
    for methods in (of_report or others, (*of_report, *others)):
        names = {procedure.name: procedure for procedure in methods}
        try:
            calibration = calibrate(
                table,
                list(names.values()),
                claims=list(claims),
                budget=tables,
                executor=borrow_executor(),
                progress=progress,
                **checked,
            )
        except InputError as error:
            return Trust(None, used, str(error))
        trust = Trust(calibration, used, "", table.nouns)
        if not any(finding.warning for finding in list_findings(trust)):
            break
    return replace(trust, statements=check_report(table, procedures, tables=tables, **checked))


def find_record(
    table: Scores,
    procedures: Sequence[Procedure],
    *,
    alpha: float,
    baseline: str | Sequence[str] | None = None,
) -> RecordedRates | None:
    """Look up the error rate of the only method of a report on tables of this kind and size.

    Parameters
    ----------
    table : Scores
        The scores as they were analysed.
    procedures : sequence of Procedure
        The methods of the report.
    alpha : float
        Level of significance.
    baseline : str or sequence of str, optional
        Systems with which all others are compared, of which nothing is on record.

    Returns
    -------
    RecordedRates or None
        None where nothing is on record for such a table.
    """
    plain = table.dims == TABLE and table.unit_df is None and table.people is None and not baseline
    if not plain or len(procedures) != 1 or procedures[0].claim != TOPICS or alpha != ALPHA:
        return None
    if table.has_gaps or not is_recorded_kind(table.require_complete()):
        return None
    return recorded_rates(procedures[0].name, topics=table.sizes["topic"], systems=table.sizes["system"])


def check_report(
    table: Scores,
    procedures: Sequence[Procedure],
    *,
    alpha: float,
    tables: int,
    seed: int,
    baseline: str | Sequence[str] | None = None,
) -> StatementCheck | None:
    """Check the statements that a report makes by its method for new topics like these.

    Parameters
    ----------
    table : Scores
        The scores as they were analysed.
    procedures : sequence of Procedure
        The methods of the report.
    alpha : float
        Level of significance.
    tables : int
        Simulated tables.
    seed : int
        Where the random numbers start.
    baseline : str or sequence of str, optional
        Systems with which all others are compared.

    Returns
    -------
    StatementCheck or None
        None where no method is for new topics alone, or items come in clusters, tasks or with people's scores, which
        resampled topics do not show.
    """
    methods = [
        procedure for procedure in procedures if procedure.claim == TOPICS and TABLE in procedure.layouts
    ]
    plain = table.dims in (TABLE, SHARDS) and table.unit_df is None and table.people is None
    if not (methods and plain):
        return None
    from shardwise.lab.statements import check_statements

    try:
        return check_statements(
            table,
            method=methods[0],
            baseline=baseline,
            kinds=("intervals", "power") if table.sizes["system"] <= MOST_PLANNED else ("intervals",),
            alpha=alpha,
            repetitions=tables,
            seed=seed,
        )
    except InputError:
        # too few topics that all systems have: the calibration says so
        return None


FIGURES = ("method", "claim", "error_rate", "rate", "low", "high", "status", "used", "level")
"""Figures of a calibration that a finding has."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How often a method of the report is wrong on simulated data like the scores."""

    method: str
    claim: str
    error_rate: str
    rate: float
    low: float
    high: float
    alpha: float
    status: str  # "holds", "unclear" or "fails"
    used: bool  # whether the report uses it for this claim
    level: float  # alpha at which it would hold, 0 where none is known
    instead: str  # the method that takes its place; empty where it stays at another level

    @property
    def warning(self) -> bool:
        """Whether a method that the report uses is shown to exceed its error rate."""
        return self.used and self.status == "fails"


def list_findings(trust: Trust) -> tuple[Finding, ...]:
    """List how the methods of the report do on simulated data like the scores."""
    if trust.calibration is None:
        return ()
    rows, findings = trust.rows, []
    for row in rows[rows["method"].isin(trust.used)].to_dict("records"):
        if row["used"] or row["status"] == "fails":
            (verdict,) = [item for item in trust.verdicts if item.claim == row["claim"]]
            others = [
                advice.method
                for advice in verdict.advice
                if advice.error_rate == row["error_rate"] and not advice.calibrated
            ]
            figures: dict[str, Any] = {str(name): row[name] for name in FIGURES}
            findings.append(
                Finding(**figures, alpha=trust.calibration.alpha, instead=others[0] if others else "")
            )
    return tuple(findings)
