"""Event payloads as a workflow finds them at `GITHUB_EVENT_PATH`, and the variables the runner sets with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.double.documents import Documents
from tests.double.ids import EPOCH, node_id, stable_id
from tests.double.repository import ZERO_SHA
from tests.double.routes import Json
from tests.double.state import Comment, Pull, User, WorkflowRun

BASE_SHA = "b" * 40
HEAD_SHA = "a" * 40
MERGE_SHA = "c" * 40
DEPENDABOT = "dependabot[bot]"
_KNOWN_IDS = {DEPENDABOT: 49699333, "github-actions[bot]": 41898282, "octocat": 583231}
_WORKFLOW = ".github/workflows/agent-chaos-gate.yml"
_NAME = "agent-chaos-gate"


@dataclass(frozen=True)
class Events:
    """Payload builders for one repository; another `server` than github.com gives those of GHES."""

    repository: str = "octo-org/travel-agent"
    default_branch: str = "main"
    server: str = "https://github.com"
    private: bool = False

    @property
    def api_url(self) -> str:
        return "https://api.github.com" if self.server == "https://github.com" else f"{self.server}/api/v3"

    @property
    def _documents(self) -> Documents:
        return Documents(self.repository, self.api_url, self.server, self.default_branch, self.private)

    def _user(self, login: str) -> User:
        kind = "Bot" if login.endswith("[bot]") else "User"
        return User(login, _KNOWN_IDS.get(login, stable_id(login)), kind)

    def _common(self, sender: str) -> Json:
        owner = self.repository.split("/")[0]
        url = f"{self.api_url}/orgs/{owner}"
        return {
            "repository": {**self._documents.repository(self.repository), "custom_properties": {}},
            "organization": {
                "login": owner,
                "id": stable_id(owner),
                "node_id": node_id("O", owner),
                "url": url,
                "repos_url": f"{url}/repos",
                "events_url": f"{url}/events",
                "hooks_url": f"{url}/hooks",
                "issues_url": f"{url}/issues",
                "members_url": f"{url}/members{{/member}}",
                "public_members_url": f"{url}/public_members{{/member}}",
                "avatar_url": f"https://avatars.githubusercontent.com/u/{stable_id(owner)}?v=4",
                "description": None,
            },
            "sender": self._documents.user(self._user(sender)),
        }

    def pull_request(
        self,
        action: str = "opened",
        *,
        number: int = 7,
        base_ref: str = "main",
        base_sha: str = BASE_SHA,
        head_ref: str = "feature",
        head_sha: str = HEAD_SHA,
        head_repo: str | None = "",
        merge_sha: str | None = MERGE_SHA,
        title: str = "Change the prompt",
        author: str = "octocat",
        sender: str | None = None,
        draft: bool = False,
        merged: bool = False,
        locked: bool = False,
        before: str = "d" * 40,
    ) -> Json:
        """`head_repo`: empty for the same repository, a full name for a fork, None for a deleted fork.

        A Dependabot pull request has `author=DEPENDABOT`. `before` is the old head of a `synchronize`.
        """
        source = self.repository if head_repo == "" else head_repo
        state = "closed" if action == "closed" else "open"
        person = self._user(author)
        pull = Pull(number, base_ref, base_sha, head_ref, head_sha, source, title, person, created_at=EPOCH)
        pull.state, pull.draft, pull.merged, pull.locked = state, draft, merged, locked
        pull.merge_commit_sha, pull.updated_at = merge_sha, EPOCH
        # GitHub has not yet tried the merge when it sends the event.
        unknown = {"mergeable": None, "rebaseable": None, "mergeable_state": "unknown"}
        moved = {"before": before, "after": head_sha} if action == "synchronize" else {}
        return {
            "action": action,
            "number": number,
            "pull_request": {**self._documents.pull(pull, [], 1, 0), **unknown},
            **moved,
            **self._common(sender or author),
        }

    def pull_request_target(self, action: str = "opened", **fields: Any) -> Json:
        """The same payload as `pull_request`; only the event's name and rights differ."""
        return self.pull_request(action, **fields)

    def push(
        self,
        ref: str = "refs/heads/main",
        *,
        before: str = BASE_SHA,
        after: str = HEAD_SHA,
        created: bool = False,
        deleted: bool = False,
        forced: bool = False,
        sender: str = "octocat",
        message: str = "Change the prompt",
        modified: tuple[str, ...] = ("agent.py",),
    ) -> Json:
        """A push of a branch or, with `refs/tags/…`, of a tag; `deleted` and `created` set the zero shas."""
        old, new = ZERO_SHA if created else before, ZERO_SHA if deleted else after
        commit = None if deleted else self._pushed_commit(after, message, sender, modified)
        common = self._common(sender)
        web = f"{self.server}/{self.repository}"
        common["repository"] = {
            **common["repository"],
            "owner": {**common["repository"]["owner"], "name": self.repository.split("/")[0], "email": None},
            # Pushes have a form of their own: the address of the web page, and times in seconds.
            "url": web,
            "created_at": _seconds(EPOCH),
            "pushed_at": _seconds(EPOCH),
            "stargazers": 0,
            "master_branch": self.default_branch,
        }
        tag = ref.startswith("refs/tags/")
        return {
            "ref": ref,
            "before": old,
            "after": new,
            "base_ref": f"refs/heads/{self.default_branch}" if tag and not deleted else None,
            "created": created,
            "deleted": deleted,
            "forced": forced,
            "compare": f"{web}/compare/{old[:12]}...{new[:12]}",
            "commits": [] if commit is None or tag else [commit],
            "head_commit": commit,
            "pusher": {"name": sender, "email": f"{sender}@users.noreply.github.com"},
            **common,
        }

    def _pushed_commit(self, sha: str, message: str, login: str, modified: tuple[str, ...]) -> Json:
        person = {"name": login, "email": f"{login}@users.noreply.github.com", "username": login}
        return {
            "id": sha,
            "tree_id": "e" * 40,
            "distinct": True,
            "message": message,
            "timestamp": "2024-01-01T00:00:00Z",
            "url": f"{self.server}/{self.repository}/commit/{sha}",
            "author": person,
            "committer": person,
            "added": [],
            "removed": [],
            "modified": list(modified),
        }

    def merge_group(
        self,
        action: str = "checks_requested",
        *,
        number: int = 7,
        base_ref: str = "main",
        base_sha: str = BASE_SHA,
        head_sha: str = HEAD_SHA,
    ) -> Json:
        """A merge queue asks for checks (or, `destroyed`, no longer does)."""
        reason = {"reason": "merged"} if action == "destroyed" else {}
        person = {"name": "GitHub", "email": "noreply@github.com"}
        return {
            "action": action,
            **reason,
            "merge_group": {
                "head_sha": head_sha,
                "head_ref": f"refs/heads/gh-readonly-queue/{base_ref}/pr-{number}-{base_sha}",
                "base_sha": base_sha,
                "base_ref": f"refs/heads/{base_ref}",
                "head_commit": {
                    "id": head_sha,
                    "tree_id": "e" * 40,
                    "message": f"Merge pull request #{number} from octo-org/feature",
                    "timestamp": EPOCH,
                    "author": person,
                    "committer": person,
                },
            },
            **self._common("github-merge-queue[bot]"),
        }

    def workflow_run(
        self,
        action: str = "completed",
        *,
        run_id: int = 1_000_001,
        head_sha: str = HEAD_SHA,
        head_branch: str = "feature",
        head_repo: str = "",
        event: str = "pull_request",
        conclusion: str | None = "success",
        name: str = _NAME,
        path: str = _WORKFLOW,
        run_attempt: int = 1,
        number: int | None = None,
        base_ref: str = "main",
        base_sha: str = BASE_SHA,
    ) -> Json:
        """The end of another workflow. `number` names the pull request; a fork's list is empty all the same."""
        source = head_repo or self.repository
        status = "completed" if action == "completed" else action
        run = WorkflowRun(run_id, head_sha, head_branch, source, event, name, path, status, created_at=EPOCH)
        run.conclusion, run.run_attempt = conclusion if action == "completed" else None, run_attempt
        pulls = []
        if number is not None and source == self.repository:
            author = self._user("octocat")
            pulls = [Pull(number, base_ref, base_sha, head_branch, head_sha, source, "Change the prompt", author)]
        document = self._documents.workflow_run(run, None, pulls)
        person = {"name": "octocat", "email": "octocat@users.noreply.github.com"}
        document["head_commit"] = {
            "id": head_sha,
            "tree_id": "e" * 40,
            "message": "Change the prompt",
            "timestamp": EPOCH,
            "author": person,
            "committer": person,
        }
        workflow_id, url = document["workflow_id"], document["workflow_url"]
        workflow = {
            "id": workflow_id,
            "node_id": node_id("W", workflow_id),
            "name": name,
            "path": path,
            "state": "active",
            "created_at": EPOCH,
            "updated_at": EPOCH,
            "url": url,
            "html_url": f"{self.server}/{self.repository}/blob/{self.default_branch}/{path}",
            "badge_url": f"{self.server}/{self.repository}/workflows/{name}/badge.svg",
        }
        return {"action": action, "workflow_run": document, "workflow": workflow, **self._common("octocat")}

    def schedule(self, cron: str = "0 5 * * *", *, workflow: str = _WORKFLOW) -> Json:
        """A run at a time; there is no sender and no commit."""
        common = self._common("octocat")
        return {
            "schedule": cron,
            "workflow": workflow,
            "repository": common["repository"],
            "organization": common["organization"],
        }

    def workflow_dispatch(
        self,
        ref: str = "refs/heads/main",
        inputs: Mapping[str, str] | None = None,
        *,
        workflow: str = _WORKFLOW,
        sender: str = "octocat",
    ) -> Json:
        """A run by hand; without inputs the field is null."""
        given = dict(inputs) if inputs else None
        return {"inputs": given, "ref": ref, "workflow": workflow, **self._common(sender)}

    def issue_comment(
        self,
        action: str = "created",
        *,
        number: int = 7,
        body: str = "/chaos run",
        author: str = "octocat",
        on_pull: bool = True,
    ) -> Json:
        """A comment on a pull request or, `on_pull=False`, on an issue."""
        person = self._user(author)
        pull = Pull(number, "main", BASE_SHA, "feature", HEAD_SHA, self.repository, "Change the prompt", person)
        pull.created_at = pull.updated_at = EPOCH
        issue = self._documents.issue(pull, 1)
        if not on_pull:
            del issue["pull_request"], issue["draft"]
        comment = Comment(2_000_001, number, person, body, None, EPOCH, EPOCH)
        return {
            "action": action,
            "issue": issue,
            "comment": self._documents.comment(comment),
            **self._common(author),
        }


def _seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())


def runner_environment(
    event: str, payload: Json, *, api_url: str | None = None, run_id: int = 1_000_001, run_attempt: int = 1
) -> dict[str, str]:
    """The `GITHUB_*` variables a runner sets for the payload, but for the paths of its files."""
    repository = payload["repository"]
    branch = f"refs/heads/{repository['default_branch']}"
    sha, ref, base, head = HEAD_SHA, branch, "", ""
    if event in {"pull_request", "pull_request_target"}:
        pull = payload["pull_request"]
        base, head = pull["base"]["ref"], pull["head"]["ref"]
        on_head = event == "pull_request"
        sha = (pull["merge_commit_sha"] or pull["head"]["sha"]) if on_head else pull["base"]["sha"]
        ref = f"refs/pull/{pull['number']}/merge" if on_head else f"refs/heads/{base}"
    elif event == "push":
        # After a deletion the runner works on the default branch.
        sha, ref = (payload["after"], payload["ref"]) if not payload["deleted"] else (HEAD_SHA, branch)
    elif event == "merge_group":
        sha, ref = payload["merge_group"]["head_sha"], payload["merge_group"]["head_ref"]
    elif event == "workflow_dispatch":
        ref = payload["ref"]
    web = repository["html_url"].removesuffix(f"/{repository['full_name']}")
    api = api_url or ("https://api.github.com" if web == "https://github.com" else f"{web}/api/v3")
    actor = payload.get("sender", {"login": "octocat"})["login"]
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": actor,
        "GITHUB_TRIGGERING_ACTOR": actor,
        "GITHUB_API_URL": api,
        "GITHUB_SERVER_URL": web,
        "GITHUB_EVENT_NAME": event,
        "GITHUB_REPOSITORY": repository["full_name"],
        "GITHUB_REPOSITORY_OWNER": repository["full_name"].split("/")[0],
        "GITHUB_SHA": sha,
        "GITHUB_REF": ref,
        "GITHUB_REF_NAME": ref.removeprefix("refs/heads/").removeprefix("refs/tags/").removeprefix("refs/pull/"),
        "GITHUB_REF_TYPE": "tag" if ref.startswith("refs/tags/") else "branch",
        "GITHUB_BASE_REF": base,
        "GITHUB_HEAD_REF": head,
        "GITHUB_RUN_ID": str(run_id),
        "GITHUB_RUN_ATTEMPT": str(run_attempt),
        "GITHUB_RUN_NUMBER": "1",
        "GITHUB_WORKFLOW": _NAME,
        "GITHUB_JOB": "gate",
    }
