"""The sentence that names the cause, out of what a server or one of its programs printed.

Server lines are `[prefix] LEVEL:  text`, followed by `DETAIL:` and `HINT:` lines (manual, "Error Reporting and
Logging").
"""

import re

KILLED = "was killed, by another program or by the kernel for lack of memory (signal 9)"
_LINE = re.compile(r"^(?:.*?\s)?(PANIC|FATAL|ERROR|LOG|error|fatal|HINT|DETAIL|hint|detail):\s+(.*)$")
_VAGUE = re.compile(r'configuration file ".*" contains errors')
_SEVERE = ("panic", "fatal", "error")


def complaint(text: str) -> tuple[str, str | None]:
    """The first fatal or error sentence with its detail in brackets, and the hint; the last line if there is none.

    What is wrong in a configuration file is in the LOG line before the fatal one. A line that begins with a blank
    goes on from the one before it: libpq asks there whether the server is running, once it has said why it asks.
    """
    sentence, detail, hint, logged = "", "", None, ""
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        level, words = found[1].lower(), found[2].strip()
        if level in _SEVERE:
            if sentence:
                break
            sentence = logged if _VAGUE.fullmatch(words) and logged else words
        elif level == "log":
            logged = words
        elif sentence and level == "detail":
            detail = words
        elif sentence and level == "hint":  # in our manner: no capital at the start, no full stop at the end
            lowered = words[1:2].islower() or words[1:2] == " "
            hint = ((words[:1].lower() + words[1:]) if lowered else words).rstrip(".") or None
    if not sentence:
        lines = [line for line in text.splitlines() if line.strip()]
        lines = [line for line in lines if not line[0].isspace()] or lines
        return (lines[-1].strip() if lines else "it printed nothing"), None
    return (f"{sentence} ({detail.rstrip('.')})" if detail else sentence), hint
