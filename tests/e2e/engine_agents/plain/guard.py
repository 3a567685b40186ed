"""Its control."""


def check(text: str) -> bool:
    return "bad" not in text
