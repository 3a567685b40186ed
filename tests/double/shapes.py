"""Records as the JSON documents GitHub sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.double.documents import Documents
from tests.double.hub import Hub
from tests.double.ids import later, node_id, stable_id
from tests.double.repository import CommitObject, FileChange, Signature
from tests.double.routes import Json
from tests.double.state import Artifact, CheckRun, WorkflowRun


@dataclass(frozen=True, kw_only=True)
class Shapes(Documents):
    """Documents of one repository's git objects, checks and runs."""

    hub: Hub

    @classmethod
    def of(cls, hub: Hub, api: str, web: str) -> Shapes:
        return cls(hub.full_name, api, web, hub.default_branch, hub.private, hub.identity.app_id, hub=hub)

    def run(self, run: WorkflowRun) -> Json:
        """A workflow run with its commit and, for the own repository, its pull requests."""
        own = run.head_repo == self.full_name
        pulls = [pull for pull in self.hub.state.pulls.values() if pull.head_sha == run.head_sha and own]
        commit = self.hub.git.commits([run.head_sha])[0] if self.hub.git.type_of(run.head_sha) == "commit" else None
        return self.workflow_run(run, commit, pulls)

    def check_run(self, run: CheckRun) -> Json:
        url, html = f"{self.repo_url}/check-runs/{run.id}", f"{self.repo_web}/runs/{run.id}"
        pulls = [
            self.minimal_pull(pull)
            for pull in self.hub.state.pulls.values()
            if pull.head_sha == run.head_sha and pull.state == "open" and pull.head_repo == self.full_name
        ]
        return {
            "id": run.id,
            "name": run.name,
            "node_id": node_id("CR", run.id),
            "head_sha": run.head_sha,
            "external_id": run.external_id,
            "url": url,
            "html_url": html,
            "details_url": run.details_url or html,
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": run.started_at,
            "completed_at": run.completed_at,
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": len(run.annotations),
                "annotations_url": f"{url}/annotations",
            },
            "check_suite": {"id": stable_id(f"{run.app_slug}@{run.head_sha}")},
            "app": self.app(run.app_slug, run.app_id),
            "pull_requests": pulls,
        }

    def annotation(self, run: CheckRun, annotation: dict[str, Any]) -> Json:
        optional = {"start_column": None, "end_column": None, "title": None, "raw_details": None}
        href = f"{self.repo_web}/blob/{run.head_sha}/{annotation['path']}"
        return {**optional, **annotation, "blob_href": href}

    def ref(self, name: str, sha: str, kind: str) -> Json:
        return {
            "ref": name,
            "node_id": node_id("REF", f"{self.full_name}:{name}"),
            "url": f"{self.repo_url}/git/{name}",
            "object": {"type": kind, "sha": sha, "url": f"{self.repo_url}/git/{kind}s/{sha}"},
        }

    def git_commit(self, commit: CommitObject) -> Json:
        def parent(sha: str) -> Json:
            return {
                "sha": sha,
                "url": f"{self.repo_url}/git/commits/{sha}",
                "html_url": f"{self.repo_web}/commit/{sha}",
            }

        return {
            "sha": commit.sha,
            "node_id": node_id("C", commit.sha),
            "url": f"{self.repo_url}/git/commits/{commit.sha}",
            "html_url": f"{self.repo_web}/commit/{commit.sha}",
            "author": _person(commit.author),
            "committer": _person(commit.committer),
            "tree": self._tree(commit),
            "message": commit.message,
            "parents": [parent(sha) for sha in commit.parents],
            "verification": _unsigned(),
        }

    def _tree(self, commit: CommitObject) -> Json:
        return {"sha": commit.tree, "url": f"{self.repo_url}/git/trees/{commit.tree}"}

    def commit(self, commit: CommitObject) -> Json:
        def parent(sha: str) -> Json:
            return {
                "sha": sha,
                "url": f"{self.repo_url}/commits/{sha}",
                "html_url": f"{self.repo_web}/commit/{sha}",
            }

        return {
            "sha": commit.sha,
            "node_id": node_id("C", commit.sha),
            "commit": {
                "author": _person(commit.author),
                "committer": _person(commit.committer),
                "message": commit.message,
                "tree": self._tree(commit),
                "url": f"{self.repo_url}/git/commits/{commit.sha}",
                "comment_count": 0,
                "verification": _unsigned(),
            },
            "url": f"{self.repo_url}/commits/{commit.sha}",
            "html_url": f"{self.repo_web}/commit/{commit.sha}",
            "comments_url": f"{self.repo_url}/commits/{commit.sha}/comments",
            "author": self._account(commit.author),
            "committer": self._account(commit.committer),
            "parents": [parent(sha) for sha in commit.parents],
        }

    def _account(self, person: Signature) -> Json | None:
        user = self.hub.identity.user
        return self.user(user) if person.name == user.login else None

    def file_change(self, change: FileChange, sha: str) -> Json:
        return {
            "sha": change.sha,
            "filename": change.path,
            "status": change.status,
            "additions": change.additions,
            "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "blob_url": f"{self.repo_web}/blob/{sha}/{change.path}",
            "raw_url": f"{self.repo_web}/raw/{sha}/{change.path}",
            "contents_url": f"{self.repo_url}/contents/{change.path}?ref={sha}",
        }

    def artifact(self, artifact: Artifact) -> Json:
        url = f"{self.repo_url}/actions/artifacts/{artifact.id}"
        run = self.hub.state.runs.get(artifact.run_id)
        return {
            "id": artifact.id,
            "node_id": node_id("MDg", artifact.id),
            "name": artifact.name,
            "size_in_bytes": len(artifact.archive),
            "url": url,
            "archive_download_url": f"{url}/zip",
            "expired": artifact.expired,
            "created_at": artifact.created_at,
            "updated_at": artifact.created_at,
            "expires_at": later(artifact.created_at, 90),
            "workflow_run": run
            and {
                "id": run.id,
                "repository_id": stable_id(self.full_name),
                "head_repository_id": stable_id(run.head_repo),
                "head_branch": run.head_branch,
                "head_sha": run.head_sha,
            },
        }


def _person(who: Signature) -> Json:
    return {"name": who.name, "email": who.email, "date": who.date}


def _unsigned() -> Json:
    return {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
