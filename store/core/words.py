"""The words that go with a number."""


def noun(number: int, one: str, many: str = "") -> str:
    """What so many are called: `event` of one, `events` of more; `many` where that has no plain s."""
    return one if number == 1 else many or one + "s"
