"""Find out which systems are really different, and what you may claim.

Public names stand in ``__init__.pyi``, each once, and are loaded on first use, so that ``import shardwise`` stays fast.
"""

import lazy_loader

from shardwise.core import late

late.bind_names(
    chart="shardwise.plot.dispatch:chart",
    scores="shardwise.io.scores:read_scores",
    score="shardwise.scoring.scoring:score",
    sample_measure="shardwise.scoring.samples:read_sample_measure",
    design="shardwise.planning.design:Design",
    contrasts="shardwise.comparing.contrasts:compare_groups",
    three_ways="shardwise.comparing.equivalence:measure_three_ways",
    votes="shardwise.methods.votes.scores:score_votes",
    report="shardwise.writing.html:save_report",
    summary="shardwise.writing.answer:write_summary",
    gate_sentence="shardwise.writing.gate:write_verdict",
    gates_text="shardwise.writing.gate:write_gates",
    gate_text="shardwise.writing.gate:write_gate",
    ledger_gate_text="shardwise.writing.gate:write_ledger_gate",
    sequential_gate_text="shardwise.writing.gate:write_sequential_gate",
    slices_text="shardwise.writing.slices:summarize_slices",
    pairs_summary="shardwise.writing.answer:summarize_pairs",
    remark="shardwise.writing.remarks:describe_remark",
    paper="shardwise.writing.paper:write_paper",
    leaderboard="shardwise.analysis.leaderboard:leaderboard",
    notebook_answer="shardwise.writing.notebook:answer_html",
    notebook="shardwise.writing.notebook:render_result",
    leaderboard_html="shardwise.writing.leaderboard:render_leaderboard",
    leaderboard_table="shardwise.writing.tables:show_leaderboard",
    leaderboard_text="shardwise.writing.tables:write_leaderboard",
    calibration_text="shardwise.writing.calibration:write_calibration_text",
    calibration_table="shardwise.writing.calibration:show_calibration",
    verdict_text="shardwise.writing.calibration:write_verdict",
    error_causes="shardwise.writing.calibration:explain_errors",
    statement_text="shardwise.writing.calibration:write_statement_check",
    holdout_text="shardwise.writing.calibration:write_holdout",
    exhibit_table="shardwise.writing.replication:lay_out_exhibit",
    replication_page="shardwise.writing.replication:write_replication",
    replication_text="shardwise.writing.replication:write_text",
    serve="shardwise.app.server:serve",
    flat_figures="shardwise.integrations.tracking:flatten_result",
)
__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
