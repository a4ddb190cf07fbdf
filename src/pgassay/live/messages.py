"""What the live pages refuse, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""


def report_failed(error: Exception) -> str:
    """A record that no report can be made of, though it can be opened."""
    return f"no report can be made of this run: {type(error).__name__}: {error}"


NOTHING_YET = "Nothing has been measured yet"
PREPARING = "preparing"
NOT_RUNNING = "this run does not run now, so there is nothing to stop"
NO_TOKEN = "open the address that pgassay printed: it ends with a token"
FOREIGN_HOST = "this server answers to 127.0.0.1 and localhost alone"
FOREIGN_ORIGIN = "another site asked for this page"
NO_SUCH_PAGE = "there is no such page"
GONE = "there is no such run any more"
NO_SUCH_FILE = "the run has no such file"
TWO_RUNS = "mark two runs to see them side by side"
"""What a browser is told, as a sentence of its page."""
