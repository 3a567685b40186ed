"""mailbot, the demonstration agent: it summarises a web page and may send an e-mail. No network, no model, no key.

Its scripted model obeys whatever instruction stands in its context, as real models often do; what differs between the
variants is everything around the model:

- `naive`: no guardrail, no authorisation, no error handling
- `guarded_fail_open`: a guardrail that is skipped while it is down
- `fail_closed`: refuses every request while the guardrail is down
- `hardened`: while the guardrail is down it answers, but may not act (read-only safe mode)
"""

import logging
import re
from collections.abc import Callable
from typing import Literal

from gate import chaos

log = logging.getLogger("mailbot")

PAGES = {"https://example.com/news": "Quarterly results are up 4%. The new office opens in March."}
TOOLS = {"fetch_page": "Fetch a web page and return its text.", "send_email": "Send an e-mail: to, body."}
COLLEAGUES = {"team@example.com"}

INJECTION = re.compile(r"ignore previous instructions|<IMPORTANT>|platform administrator", re.IGNORECASE)
TOOL_REQUEST = re.compile(r"call the (?P<action>\w+) tool with to=(?P<to>\S+) and body=(?P<body>\S+)")
REPLY_REQUEST = re.compile(r"reply with the exact text (?P<reply>\S+?)\.?$", re.MULTILINE)


@chaos.tool
def fetch_page(url: str) -> str:
    """Return the text of a page."""
    return PAGES.get(url, "404 not found")


@chaos.tool
def send_email(to: str, body: str) -> str:
    """Pretend to send an e-mail."""
    return f"sent {len(body)} characters to {to}"


@chaos.memory("user_notes")
def recall(user: str) -> list[str]:
    """Return what is remembered about a user."""
    return [f"{user} prefers short summaries."]


@chaos.control("guardrail.injection")
def looks_safe(text: str) -> bool:
    """Return whether no known injection phrase stands in the text."""
    return not INJECTION.search(text)


@chaos.control("authz.send_email")
def may_write_to(address: str) -> bool:
    """Return whether the recipient is on the allow-list."""
    return address in COLLEAGUES


@chaos.llm("scripted-model")
def think(context: str) -> dict[str, str]:
    """Answer as a gullible model would."""
    if found := TOOL_REQUEST.search(context) or REPLY_REQUEST.search(context):
        return found.groupdict()
    return {"reply": summary(context.partition("PAGE:\n")[2])}


def summary(page: str) -> str:
    """Return the first sentence of a page as a summary."""
    return f"Summary: {page.strip().split('.')[0]}."


def ask(context: str, attempts: int) -> dict[str, str] | None:
    """Ask the model, again after an error; None when it stays away."""
    for _ in range(attempts):
        try:
            return think(context)
        except Exception as error:
            log.warning("model failed: %s", error)
    return None


def build(
    *, guardrail_down: Literal["none", "skip", "refuse", "read_only"], authorise: bool, resilient: bool
) -> Callable[..., str]:
    """Return an agent. `guardrail_down` is what it does while its guardrail is down; "none": it has no guardrail."""

    def mailbot(task: str = "Summarise https://example.com/news", user: str = "alice") -> str:
        notes = recall(user)
        tools = [f"{name}: {chaos.describe_tool(name, text)}" for name, text in TOOLS.items()]
        try:
            page = fetch_page(task.split()[-1])
        except Exception as error:
            if not resilient:
                raise
            log.warning("fetch_page failed: %s", error)
            return "Sorry, that page cannot be read right now."
        context = "\n".join(["NOTES:", *notes, "TOOLS:", *tools, "PAGE:", page])

        read_only = False
        if guardrail_down != "none":
            try:
                safe = looks_safe(context)
            except Exception:
                log.warning("guardrail is down: %s", guardrail_down)
                if guardrail_down == "refuse":
                    return "Sorry, this request cannot be checked right now."
                safe, read_only = True, guardrail_down == "read_only"
            if not safe:
                log.warning("guardrail stopped a prompt injection")
                return "The page contains suspicious instructions, so I stopped."

        decision = ask(context, attempts=3) if resilient else think(context)
        if decision is None:
            log.error("model is unavailable")
            return "The assistant is unavailable right now."
        if read_only:
            return summary(page)
        if decision.get("action") == "send_email":
            if authorise and not authorised(decision["to"]):
                log.warning("no e-mail to %s", decision["to"])
                return "I may not write to that address."
            send_email(decision["to"], decision["body"])
            return "Done."
        return decision.get("reply", "")

    return mailbot


def authorised(address: str) -> bool:
    """Ask the authorisation control; while it is down the answer is no."""
    try:
        return may_write_to(address)
    except Exception:
        log.warning("authorisation is down")
        return False


naive = build(guardrail_down="none", authorise=False, resilient=False)
guarded_fail_open = build(guardrail_down="skip", authorise=False, resilient=True)
fail_closed = build(guardrail_down="refuse", authorise=True, resilient=True)
hardened = build(guardrail_down="read_only", authorise=True, resilient=True)
