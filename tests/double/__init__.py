"""A stateful local double of the GitHub REST API, for tests and as a process.

    with GitHubDouble() as double:
        base = double.commit_files("main", {"agent.py": b"1"})
        double.open_pull(7, "main", base, "main", base)
        double.fail("POST", r"/comments$", status=502, when="after")
        ...  # point GITHUB_API_URL or PyGithub's base_url at double.url
        double.check()

Every request and answer is held against GitHub's OpenAPI description (`openapi.json`, cut by `extract_openapi.py`).

Where it differs from GitHub: one repository, all forks share its objects; commits are never signed and their committer
is the author; no rate limit is enforced unless scripted; a tree read by branch name answers with the sha of the tree;
`base_tree` must be a tree, not a commit; the time between a push and its test merge is zero; texts of validation errors
are like GitHub's, not the same; a commit's pull requests leave forks out (`hub.list_fork_pulls_by_commit` lists them).
"""

from __future__ import annotations

from tests.double.double import GitHubDouble
from tests.double.faults import Fault
from tests.double.log import Exchange, Violation
from tests.double.state import GITHUB_ACTIONS, Artifact, CheckRun, Comment, Identity, Pull, User, WorkflowRun

__all__ = [
    "GITHUB_ACTIONS",
    "Artifact",
    "CheckRun",
    "Comment",
    "Exchange",
    "Fault",
    "GitHubDouble",
    "Identity",
    "Pull",
    "User",
    "Violation",
    "WorkflowRun",
]
