"""Words that people use in headers, labels and cells, in the languages that such tables are often written in.

A word is one sign among several: `readings` asks for a second one, from the numbers, before anything is left out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from shardwise.core.scores import ROLE_OF


def _split_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


ITEMS = _split_set("""
    topic topic_id query query_id qid q_id item item_id question question_id prompt prompt_id example example_id
    sample_id problem problem_id case case_id test_case testcase test test_id task_id doc_id instance_id doc
    datapoint record record_id utterance sentence sentence_id segment segment_id seg_id sent_id image image_id
    user user_id user_input session_id input input_id puzzle exercise claim claim_id scenario turn_id
    participant participant_id frage fragen frage_id anfrage thema aufgabe fall beispiel satz eintrag requete
    sujet exemple exercice phrase pregunta consulta tema elemento ejemplo ejercicio caso domanda esempio
    pergunta exemplo item_no vraag opgave voorbeeld fraga sporsmal sporgsmal kysymys pytanie zapytanie zadanie
    otazka вопрос запрос пример задача 问题 問題 题目 題目 查询 样本 例子 質問 設問 質問文 문제 질문 soru ornek سؤال
""")
"""Headers of the column that names what is scored."""
PEOPLE = _split_set("""
    user user_id uid visitor visitor_id customer customer_id client client_id account account_id subject subject_id
    participant participant_id patient patient_id person person_id member member_id session session_id device
    device_id cookie household household_id student student_id reader shopper
""")
"""Headers of the column that names people, who may see one system each."""
SYSTEMS = _split_set("""
    system system_id system_name model model_name model_id modelname engine retriever ranker checkpoint method
    method_name approach algorithm algo variant tool llm provider agent team submission generator solver
    classifier technique strategy architecture pipeline config configuration setup experiment arm treatment
    modell methode verfahren ansatz algorithmus variante werkzeug technik modele systeme approche algorithme
    outil modelo sistema metodo enfoque algoritmo herramienta modello approccio strumento abordagem metoda
    podejscie algorytm modely menetelma malli модель система метод алгоритм подход
    模型 系统 系統 方法 算法 モデル システム 手法 모델 시스템 방법 yontem
""")
"""Headers of the column that names who is scored."""
REPEATS = _split_set("""
    instance replicate seed random_seed epoch trial trial_id repeat repeat_id repetition rep attempt attempt_id
    iteration iter generation rollout try wiederholung durchlauf versuch zufallszahl graine essai repeticion
    semilla intento ripetizione tentativo repeticao tentativa herhaling poging повтор попытка
    种子 種子 次数 重复 シード 試行 시드 반복
""")
"""Headers of the column that tells repeated scores apart."""
SAMPLED = _split_set("sample sample_no sample_idx generation rollout completion attempt epoch")
"""Headers of repeats that were drawn anew for each item (METHODS, 10.6)."""
TASKS = _split_set("""
    task task_name dataset dataset_name benchmark subset subject suite domain datensatz jeu_de_donnees
    conjunto_de_datos 数据集 データセット
""")
CLUSTERS = _split_set("""
    cluster cluster_id passage passage_id group group_id context_id conversation conversation_id document
    document_id story_id gruppe groupe grupo gruppo
""")
"""Headers of what several items have in common."""
MEASURE_COLUMNS = frozenset(
    [
        "measure",
        "metric",
        "metric_name",
        "measure_name",
        "mass",
        "metrik",
        "metrique",
        "metrica",
        "指标",
        "指標",
    ]
)
SWING = {
    "run": ("system", "instance"),
    "run_id": ("system", "instance"),
    "run_name": ("system", "instance"),
    "runid": ("system", "instance"),
    "round": ("instance",),
    "runde": ("instance",),
    "sample": ("topic", "instance"),
    "sample_id": ("topic", "instance"),
    "task_id": ("topic", "task"),
    "name": ("system", "topic"),
    "tag": ("system",),
    "version": ("system",),
    "file": ("topic",),
    "filename": ("topic",),
    "subject": ("task", "topic"),
    **dict.fromkeys(
        (
            "id",
            "idx",
            "index",
            "key",
            "no",
            "no.",
            "nr",
            "nr.",
            "number",
            "#",
            "uid",
            "unnamed:_0",
            "row",
            "",
        ),
        ("topic",),
    ),
}
"""Headers that mean the first of these roles that no other column has."""
WINNERS = _split_set("""
    winner win winning_model winner_model vote votes preference preferred preferred_model pick choice chosen
    chosen_model chosen_model_name label result outcome better verdict decision judgment judgement gewinner
    gagnant ganador
""")
"""Headers of the column that says which of two systems won a vote."""
VOTERS = _split_set("""
    voter voter_id judge judge_id annotator annotator_id worker worker_id user user_id rater rater_id evaluator
    evaluator_id labeler labeler_id labeller visitor visitor_id participant participant_id person respondent
    reviewer assessor evaluation_session_id
""")
"""Headers of the column that says who voted."""
TIES = _split_set("""
    tie ties tied draw equal equally same both neither none both_bad bothbad both_good both_equal tie_bothbad
    tie_both_bad no_preference unentschieden egal gleich empate pareggio match_nul =
""")
"""Cells that say that neither of two systems won."""
TIE_COLUMNS = _split_set("tie ties winner_tie both_equal is_tie draw")
"""Headers of a column that flags ties."""
NO_VOTE = _split_set("error invalid unknown skip skipped nan null n/a na") | {""}
"""Cells of a vote that was not given."""
ORDERS = _split_set("order position presentation shown_first first_shown swapped swap flipped reversed")
"""Headers of the column that says which of two systems was shown first."""
SECOND_FIRST = _split_set("""
    ba b_a b_first b model_b second 2 right swapped swap true yes flipped reversed reverse model_2 system_b
""")
FIRST_FIRST = _split_set("""
    ab a_b a_first a model_a first 1 left original false no straight normal model_1 system_a 0
""")
"""Cells that say which of two systems was shown first."""
NAMELESS = frozenset(
    (
        "id",
        "idx",
        "index",
        "key",
        "no",
        "no.",
        "nr",
        "nr.",
        "number",
        "#",
        "uid",
        "unnamed:_0",
        "",
        "name",
        "tag",
        "row",
    )
)
"""Headers that say nothing of what the rows are."""

VALUES = _split_set("""
    score scores value wert punkte punktzahl bewertung ergebnis valeur resultat puntuacion puntaje valor
    resultado punteggio valore risultato pontuacao waarde оценка балл 得分 分数 分數 值 スコア 点数 점수 puan
""")
"""Headers of numbers that do not say what of."""
OUTCOMES = _split_set("""
    correct is_correct accuracy acc acc_norm exact_match em exact f1 judge judge_score rating grade reward
    passed pass success result outcome resolved solved win correctness quality points reciprocal_rank bleu
    sacrebleu chrf ter comet bleurt meteor bertscore wer cer mae mse rmse auc auroc auprc loss nll perplexity
    ppl regret utility mcc kappa iou dice psnr ssim faithfulness relevancy answer_relevancy answer_relevance
    context_precision context_recall answer_correctness answer_similarity semantic_similarity
    factual_correctness string_present helpfulness harmlessness toxicity fluency adequacy coherence completeness
    hallucination richtig korrekt genauigkeit trefferquote note correcto acierto exactitud correta acerto
    corretto accuratezza juste exactitude juist goed poprawnosc точность 正确 準確率 准确率 正解 정확도 dogru
""")
"""Headers of scores; where there are any, other numbers of a long table are none."""
_RANKED = re.compile(
    r"(g?map|ap|n?dcg|ndcg_cut|map_cut|mrr|rr|recip_rank|err|rbp|bpref|infap|recall|precision|success|hits?|hit_rate|"
    r"judged|fbeta|rprec|iprec_at|setp|setr|setf|set_p|set_recall|set_f|gm_map|alpha_ndcg|arp)"
    r"(\([^)]*\))?([@_.]\d+(\.\d+)?)?|[rpf]@\d+|[pr]_\d+|(p|ndcg|map|recall|success|hits?|mrr|r)\d+|f_?\d(\.\d)?|"
    r"rouge_?(\d|l|lsum|w|su)?|(pass|acc|maj|cons)@\d+|bleu_?\d"
)

BOOKKEEPING = _split_set("""
    latency latenz latence latencia latenza time times zeit temps tiempo tempo duration dauer duree duracion
    durata runtime elapsed seconds sec secs ms msec millis timestamp ts date datum fecha when created updated
    started finished year jahr annee ano anno month monat hour 时间 時間 延迟 日期 年份 время дата год cost costs kosten
    cout costo custo price preis prix precio prezzo preco usd eur dollars euro 成本 价格 費用 цена стоимость token
    tokens length laenge lange longueur longitud lunghezza comprimento len chars characters words bytes kb mb
    size grosse groesse taille tamano count counts anzahl nombre cantidad numero n num docs turns steps calls
    retries errors 长度 數量 数量 длина количество position pos order reihenfolge offset line page rank rang platz
    ranking version fold falte temperature temp batch gpu memory mem ram level niveau weight gewicht peso poids
    gold target label labels expected reference truth groundtruth ziel etiqueta etikett prediction predicted
    pred difficulty schwierigkeit difficulte dificultad difficolta dificuldade сложность 难度 難易度 votes stimmen
    likes views age alter edad zip plz postcode postal lat lon lng hash checksum confidence logprob prob shots
    topp topk port turn step
""")
"""Parts of headers of numbers that are kept beside scores."""
TEXTS = _split_set("""
    answer answers antwort reponse respuesta risposta response responses output outputs prediction completion
    text comment comments kommentar bemerkung notes explanation reason rationale feedback judgment message
    messages prompt context contexts retrieved_contexts reference generation transcript trace error errors
    status metadata meta tags url link author annotator judge language lang category kategorie kind type source
    uuid hash label gold target expected ground_truth input user_input user_prompt instruction title description
    titel
""")
"""Headers of text beside the scores."""

_MEANS = """
    mean mean_score avg average averages amean gmean hmean gm mittel mittelwert durchschnitt schnitt mw moyenne
    moy promedio media prom medio gemiddelde gem srednia среднее средняя
    平均 平均值 均值 平均値 평균 ø μ µ ortalama medel medelvarde gjennomsnitt gennemsnit keskiarvo prumer atlag
"""
_SUMS = """
    sum total totals summe gesamt insgesamt somme suma totale totaal totalt soma итого всего сумма 合计 合計 总计 總計
    합계 σ_sum ∑ Σ subtotal toplam razem celkem
"""
_SPREADS = """
    std stddev stdev std_dev sd stdv σ standardabweichung stabw ecart desviacion desvio desv deviazione
    afwijking stderr sem se var variance varianz ci iqr range odchylenie 标准差 標準偏差 표준편차
"""
_ORDERS = """
    median mediane mediana zentralwert медиана 中位数 中央値 중앙값 max maximum min minimum minimo maximo best worst top
    bester bestes mejor meilleur migliore melhor oracle 最大 最小 最大值 最小值 максимум минимум percentile quantile
"""
_COUNTS = "count counts n anzahl nombre num"
_WHOLES = """
    all overall overal macro micro aggregate aggregated summary zusammenfassung resumen resume gesamtergebnis
    alle alles tous todos tutti weighted combined 总体 全体 全部 総合 전체
"""
_DIFFERENCES = """
    diff difference delta δ gain improvement improv lift unterschied differenz ecart diferencia differenza
    rel_diff verbesserung rank rang platz ranking winner sieger p_value pvalue p_val significance significant
    sig ratio 差 排名 順位
"""
SUMMARIES = frozenset(" ".join((_MEANS, _SUMS, _SPREADS, _ORDERS, _COUNTS, _WHOLES)).lower().split())
"""Words for a row or column that sums up others."""
SUMMARY_COLUMNS = SUMMARIES | _split_set(_DIFFERENCES)
_FILLERS = _split_set("""
    of the and over per row column value score scores across topics questions items dev error geo geom geometric
    arithmetic standard type typ + - ± / & : = in % des der de la el du moyen media avg. all
""")

MISSING = frozenset(
    ("", "nan", "na", "n/a", "#n/a", "#na", "null", "none", "<na>", "nil", "-", "--", "—", "–", "nat")
)
"""Cells in which a score is not there."""
_TRUE = """
    true yes pass passed correct right success ok okay win won resolved solved ja wahr richtig korrekt bestanden
    oui vrai juste si verdadero cierto correcto vero corretto sim verdadeiro certo correto да верно правда tak
    prawda evet dogru 是 对 正确 對 正確 はい 正解 예 맞음 ✓ ✔ ✅ ☑
"""
_FALSE = """
    false no fail failed incorrect wrong failure unresolved unsolved loss lost lose nein falsch inkorrekt
    durchgefallen non faux incorrecto falso incorretto sbagliato nao errado incorreto нет неверно ложь nie falsz
    hayir yanlis 否 错 错误 錯 錯誤 不正解 いいえ 아니오 틀림 ✗ ✘ ❌ ☒
"""
VERDICTS = {
    **dict.fromkeys(_TRUE.split(), 1.0),
    **dict.fromkeys(_FALSE.split(), 0.0),
    "tie": 0.5,
    "draw": 0.5,
}
"""Cells that are a verdict in a word."""
LETTERS = (
    {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0},
    {"t": 1.0, "f": 0.0},
    {"y": 1.0, "n": 0.0},
    {"j": 1.0, "n": 0.0},
    {"v": 1.0, "f": 0.0},
    {"s": 1.0, "n": 0.0},
    {"o": 1.0, "n": 0.0},
    {"+": 1.0, "-": 0.0},
)
"""Verdicts of one letter, where a table has no others; the first are inspect's: correct, incorrect, partial, none."""

LABELS = frozenset({"topic", "system", "instance", "shard", "split", "task", "cluster", "measure"})

_MODELS = re.compile(
    r"bm25|tf-?idf|\bqld?\b|\bdph\b|\brm3\b|dense|sparse|hybrid|colbert|splade|\bdpr\b|\bance\b|rerank|monot5|duot5|\bbert|roberta|"
    r"deberta|\bt5\b|flan|gpt|\bo[134]\b|claude|sonnet|opus|haiku|gemini|gemma|palm|llama|vicuna|alpaca|mistral|mixtral|"
    r"qwen|\byi\b|phi-?\d|falcon|deepseek|kimi|command-?r|cohere|grok|olmo|pythia|bloom|mpnet|minilm|\be5\b|\bgte\b|\bbge\b|"
    r"baseline|random forest|svm|xgboost|lightgbm|resnet|\bvit\b|lstm|\bcnn\b|\bmlp\b|ensemble|"
    r"\d+(\.\d+)?[bm]\b|[-_]v\d"
)
_BENCHMARKS = re.compile(
    r"mmlu|gsm8k|\bmath\b|hellaswag|winogrande|\barc\b|arc_|truthfulqa|boolq|piqa|siqa|humaneval|mbpp|\bbbh\b|drop\b|squad|"
    r"triviaqa|\bnq\b|hotpotqa|fever|arguana|fiqa|nfcorpus|scifact|scidocs|trec-?covid|touche|dbpedia|quora|msmarco|"
    r"cqadupstack|climate|sts\d|stsb|stsbenchmark|sick-?r|banking77|imdb|emotion|massive|glue|sst-?2|\bcola\b|mnli|qnli|\brte\b|"
    r"gpqa|ifeval|musr|swe-?bench|aime|livecodebench|mt-?bench|alpacaeval|flores|xnli|xquad|mteb|beir"
)
_ITEM_NAME = re.compile(
    r"(q|t|topic|query|question|item|ex|example|doc|case|test|frage|task|sample|prompt|no|nr|#)[\s_\-#.:]*\d+"
)
_SYSTEM_NAME = re.compile(
    r"(s|sys|system|run|m|model|method|variant|config|agent|team|v|algo|approach)[\s_\-#.:]*\d+"
)
_NUMBERED = re.compile(r"(.*?)(\d+)")


def simplify_header(header: str) -> str:
    """Return a header in lower case, without accents and with underscores.

    >>> simplify_header("Question ID"), simplify_header("model-name"), simplify_header("Modèle")
    ('question_id', 'model_name', 'modele')
    """
    return re.sub(r"[\s\-]+", "_", remove_accents(header).strip().lower())


@lru_cache(maxsize=4096)
def remove_accents(text: str) -> str:
    """Return text without accents of Latin letters.

    >>> remove_accents("Durée für Ø 平均")
    'Duree fur Ø 平均'
    """
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(part for part in parts if not unicodedata.combining(part))
    return unicodedata.normalize("NFC", kept)


def split_words(header: str) -> list[str]:
    """Return the words of a header.

    >>> split_words("latencyMs"), split_words("Total (mean):"), split_words("cost_usd")
    (['latency', 'ms'], ['total', 'mean'], ['cost', 'usd'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", remove_accents(header))
    return [word for word in re.split(r"[\s_\-.,:;()\[\]/|]+", apart.lower()) if word]


def list_roles(header: str) -> tuple[str, ...]:
    """Return what a column of this name may be, best first.

    >>> list_roles("run_id"), list_roles("Question ID"), list_roles("answer"), list_roles("Modell")
    (('system', 'instance'), ('topic',), (), ('system',))
    """
    word = simplify_header(header)
    if word in SWING:
        return SWING[word]
    known = (
        ("measure", MEASURE_COLUMNS), ("cluster", CLUSTERS), ("task", TASKS), ("topic", ITEMS), ("system", SYSTEMS),
        ("instance", REPEATS),
    )  # fmt: skip
    roles = [role for role, words in known if word in words]
    if word in ROLE_OF and ROLE_OF[word] not in roles:
        roles.append(ROLE_OF[word])
    if not roles and not is_score(word):
        roles = [role for role, words in known[3:5] if ends_in_word(word, words)]
    return tuple(roles)


def ends_in_word(header: str, words: frozenset[str] = ITEMS | SYSTEMS) -> bool:
    """Tell whether a header is a longer name that ends in a known word: eval_question, llm_model.

    Parameters
    ----------
    header : str
        The header.
    words : frozenset of str
        The known words.

    Returns
    -------
    bool
        Whether it does; not where it is a known word itself.

    >>> ends_in_word("llm_model"), ends_in_word("Our method"), ends_in_word("method"), ends_in_word("query_id")
    (True, True, False, False)
    """
    word = simplify_header(header)
    return word not in words and "_" in word and word.rsplit("_", 1)[-1] in words


def is_value(header: str) -> bool:
    """Tell whether a header says that a column holds scores without saying of what."""
    return simplify_header(header) in VALUES


def is_measure(header: str) -> bool:
    """Tell whether a header is the name of a measure.

    >>> is_measure("P@10"), is_measure("nDCG@10"), is_measure("bm25"), is_measure("rouge_score(mode=fmeasure)")
    (True, True, False, True)
    """
    word = re.sub(r"\(.*\)$", "", simplify_header(header)).removesuffix("_score")
    return word in OUTCOMES or _RANKED.fullmatch(word) is not None


def is_score(header: str) -> bool:
    """Tell whether a header says that a column holds scores."""
    return is_value(header) or is_measure(header)


def is_bookkeeping(header: str) -> bool:
    """Tell whether a header names a number that is kept beside scores: cost, latency_ms, year.

    >>> is_bookkeeping("latency_ms"), is_bookkeeping("n_docs"), is_bookkeeping("bm25"), is_bookkeeping("Kosten (EUR)")
    (True, True, False, True)
    """
    words = split_words(header)
    return (
        simplify_header(header) in BOOKKEEPING
        or any(word in BOOKKEEPING for word in words)
        or words[-1:] == ["id"]
    )


def is_text(header: str) -> bool:
    """Tell whether a header names text that stands beside scores: answer, comment."""
    words = split_words(header)
    return simplify_header(header) in TEXTS or any(word in TEXTS for word in words)


def is_summary(label: str) -> bool:
    """Tell whether a label of a row says that it sums up other rows; one or two Latin letters say too little.

    >>> [is_summary(label) for label in ("Average:", "Mean ± SD", "Mittelwert", "Macro avg", "q1", "all things")]
    [True, True, True, True, False, False]
    """
    words = split_words(label) or list(label.strip().lower())
    telling = [
        word
        for word in words
        if word in SUMMARIES and not (word.isascii() and len(word) < 3 and word != "sd")
    ]
    return bool(telling) and all(word in SUMMARIES or word in _FILLERS for word in words)


def is_summary_header(header: str) -> bool:
    """Tell whether a header says that its column sums up other columns."""
    words = split_words(header) or list(header.strip().lower())
    named = simplify_header(header) in SUMMARY_COLUMNS or any(word in SUMMARY_COLUMNS for word in words)
    return named and (
        simplify_header(header) in SUMMARY_COLUMNS
        or all(word in SUMMARY_COLUMNS | _FILLERS for word in words)
    )


def share_of_models(names: list[str]) -> float:
    """Return the share of names that look like systems: bm25, llama-3-8b, run12.

    >>> share_of_models(["gpt-4", "llama-3-8b", "q1"])
    0.6666666666666666
    """
    lower = [name.strip().lower() for name in names]
    hits = sum(bool(_MODELS.search(name) or _SYSTEM_NAME.fullmatch(name)) for name in lower)
    return hits / len(lower) if lower else 0.0


def share_of_items(names: list[str]) -> float:
    """Return the share of names that look like items: q12, 301, a sentence, the name of a benchmark.

    >>> share_of_items(["q1", "302", "What is the capital of France?", "bm25"])
    0.75
    """
    lower = [name.strip().lower() for name in names]
    hits = sum(
        bool(
            _ITEM_NAME.fullmatch(name)
            or name.isdecimal()
            or _BENCHMARKS.search(name)
            or (len(name) > 25 and name.count(" ") > 2)
            or name.endswith(("?", "？"))
        )
        for name in lower
    )
    return hits / len(lower) if lower else 0.0


def is_numbered(names: list[str]) -> bool:
    """Tell whether names differ in their last number only: x1, x2, x10.

    >>> is_numbered(["x1", "x2", "x10"]), is_numbered(["bm25", "dense"])
    (True, False)
    """
    matches = [_NUMBERED.fullmatch(name.strip()) for name in names]
    heads = {match[1] for match in matches if match}
    return len(names) > 2 and all(matches) and len(heads) == 1
