"""Valid files -> files that are nearly valid: bytes, fields and lines are changed."""

from __future__ import annotations

import random

NASTY = [
    b"", b"0", b"-0", b"-1", b"1e308", b"-1e308", b"1e400", b"1e-400", b"5e-324", b"inf", b"-inf", b"nan", b"NaN",
    b"1.8446744073709551616", b"18446744073709551616", b"9" * 40, b"9" * 5000, b"0x10", b"1_000", b"1,5", b"1e", b".",
    b"\xc2\xb2", b"\xd9\xa3", b"\xff\xfe", b"\xe2\x80\xae", b"\x00", b"\x1b[31m", b"=cmd|' /C calc'!A0", b"@a", b"+a",
    b"</script><script>alert(1)</script>", b"x" * 1025, b"x" * 70000, b"topic", b"system", b"score", b"seed", b"task",
    b"Q0", b"null", b"true", b"{}", b"[]", b'"', b"'", b"\\", b"%s", b"..", b"/etc/passwd", b"--out", b"$(id)",
]  # fmt: skip
SEPARATORS = [b" ", b"\t", b",", b";", b"\n", b"\r\n", b"\r", b":", b"|"]


def mutated(g: random.Random, text: bytes, *, times: int = 3) -> bytes:
    """Change a file in one to several places."""
    for _ in range(g.randint(1, times)):
        text = g.choice(WAYS)(g, text)
    return text


def _flip(g: random.Random, text: bytes) -> bytes:
    if not text:
        return text
    at = g.randrange(len(text))
    return text[:at] + bytes([text[at] ^ 1 << g.randrange(8)]) + text[at + 1 :]


def _cut(g: random.Random, text: bytes) -> bytes:
    return text[: g.randrange(len(text) + 1)]


def _drop(g: random.Random, text: bytes) -> bytes:
    a, b = sorted(g.randrange(len(text) + 1) for _ in range(2))
    return text[:a] + text[min(b, a + g.choice((1, 4, 64, 10**6))) :]


def _insert(g: random.Random, text: bytes) -> bytes:
    at = g.randrange(len(text) + 1)
    return (
        text[:at]
        + g.choice((g.choice(NASTY), g.choice(SEPARATORS), g.randbytes(g.randint(1, 8))))
        + text[at:]
    )


def _lines(g: random.Random, text: bytes) -> bytes:
    lines = text.split(b"\n")
    k, j = g.randrange(len(lines)), g.randrange(len(lines))
    way = g.randrange(4)
    if way == 0:
        lines.insert(j, lines[k])
    elif way == 1:
        lines[k], lines[j] = lines[j], lines[k]
    elif way == 2:
        del lines[k]
    else:
        g.shuffle(lines)
    return b"\n".join(lines)


def _field(g: random.Random, text: bytes) -> bytes:
    """Put something else into one field of one line."""
    lines = text.split(b"\n")
    k = g.randrange(len(lines))
    mark = next((mark for mark in (b"\t", b",", b" ", b":") if mark in lines[k]), b" ")
    fields = lines[k].split(mark)
    way, at = g.randrange(4), g.randrange(len(fields))
    if way == 0:
        fields.insert(at, g.choice(NASTY))
    elif way == 1:
        del fields[at]
    elif way == 2:
        fields[at] = fields[g.randrange(len(fields))]
    else:
        fields[at] = g.choice(NASTY)
    lines[k] = mark.join(fields)
    return b"\n".join(lines)


WAYS = (_flip, _cut, _drop, _insert, _lines, _field, _field)


def minimised(text: bytes, fails: object) -> bytes:
    """Leave out parts, in halves and then in smaller ones, as long as the rest still fails."""
    assert callable(fails)
    size = max(1, len(text) // 2)
    while size:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            if fails(shorter):
                text = shorter
            else:
                at += size
        size //= 2
    return text
