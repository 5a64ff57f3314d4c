"""The API against its own description: requests made by schemathesis from the schema, valid and not, each checked."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of

from app_server import TOKEN, Served
from shardwise.app.api import describe_api
from shardwise.app.handlers import OPERATIONS as REQUESTS

schemathesis = pytest.importorskip(
    "schemathesis", reason="schemathesis is not installed (pip install schemathesis)"
)

pytestmark = pytest.mark.slow
EXAMPLES = int(os.environ.get("SHARDWISE_API_EXAMPLES", "6"))
"""Requests of each operation, and sequences of requests; a longer run asks for more."""
BEARER = {"authorization": f"Bearer {TOKEN}"}
TRIED = settings(max_examples=EXAMPLES, stateful_step_count=6, deadline=None, derandomize=True, database=None,
                 suppress_health_check=list(HealthCheck))  # fmt: skip
DESCRIPTION = schemathesis.openapi.from_dict(describe_api(REQUESTS))
OPERATIONS = {f"{item.ok().method} {item.ok().path}": item.ok() for item in DESCRIPTION.get_all_operations()}
MODES = tuple(schemathesis.GenerationMode)
# every request has the token here; that none is answered without it is tried elsewhere
WITHOUT = [schemathesis.checks.CHECKS.get_one("ignored_auth")]


@pytest.fixture(scope="module")
def known(served: Served, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Analyses in several states, beside one that does not exist."""
    file = tmp_path_factory.mktemp("api") / "scores.csv"
    rows = [f"q{q},{m},{(q * 31 + k * 3) % 11 / 10}" for q in range(20) for k, m in enumerate("abc")]
    file.write_text("\n".join(["question,model,score", *rows]) + "\n")
    empty, sent, done = served.send(), served.send(file), served.send(file)
    assert served.done(done, method="t holm")["state"] == "done"
    return [empty, sent, done, "0123456789abcdef"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_as_it_is_described(name: str, served: Served, known: list[str]) -> None:
    """No error of ours, no undescribed status, type or body, nothing valid refused and nothing invalid taken."""

    @TRIED
    @given(case=one_of(*(OPERATIONS[name].as_strategy(generation_mode=mode) for mode in MODES)))
    def request(case: Any) -> None:
        if "id" in case.path_parameters and case.operation.method != "delete":
            # one that is there in most cases, so that more than its absence is tried
            case.path_parameters["id"] = known[len(str(case.path_parameters["id"])) % len(known)]
        answer = case.call(base_url=served.address, headers=BEARER)
        case.validate_response(answer, excluded_checks=WITHOUT)

    request()


def test_analyses_go_through_their_states(served: Served) -> None:
    """Requests that follow from each other, as the description links them."""

    class Machine(DESCRIPTION.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"base_url": served.address, "headers": BEARER}

        def validate_response(self, response: Any, case: Any, **options: Any) -> None:
            case.validate_response(response, excluded_checks=WITHOUT)

    Machine.run(settings=TRIED)
