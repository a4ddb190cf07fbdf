"""What costs are costs of: a transaction, or an I/O where the drive is asked by itself."""

from dataclasses import dataclass

from pgassay.study.model import Study


@dataclass(frozen=True)
class Work:
    """`name` as in "per I/O", `article` as in "an I/O"."""

    name: str
    article: str

    def of(self, text: str) -> str:
        """A text about transactions, said of this."""
        return text.replace("per transaction", f"per {self.name}").replace("a transaction", self.article)


TRANSACTION = Work("transaction", "a transaction")
IO = Work("I/O", "an I/O")


def work_of(study: Study) -> Work:
    """Of the study's load."""
    driver = study.fixed.get("load.driver")
    return IO if driver is not None and driver.canonical == "fio" else TRANSACTION
