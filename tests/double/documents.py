"""The documents that need no repository at hand, for answers and for event payloads."""

from __future__ import annotations

from dataclasses import dataclass

from tests.double.ids import EPOCH, node_id, stable_id
from tests.double.repository import CommitObject, FileChange
from tests.double.routes import Json
from tests.double.state import GITHUB_ACTIONS, Comment, Pull, User, WorkflowRun

_OWNED = (
    "archive{/archive_format}{/ref}:archive_url assignees{/user}:assignees_url git/blobs{/sha}:blobs_url "
    "branches{/branch}:branches_url collaborators{/collaborator}:collaborators_url comments{/number}:comments_url "
    "commits{/sha}:commits_url compare/{base}...{head}:compare_url contents/{+path}:contents_url "
    "contributors:contributors_url deployments:deployments_url downloads:downloads_url events:events_url "
    "forks:forks_url git/commits{/sha}:git_commits_url git/refs{/sha}:git_refs_url git/tags{/sha}:git_tags_url "
    "hooks:hooks_url issues/comments{/number}:issue_comment_url issues/events{/number}:issue_events_url "
    "issues{/number}:issues_url keys{/key_id}:keys_url labels{/name}:labels_url languages:languages_url "
    "merges:merges_url milestones{/number}:milestones_url "
    "notifications{?since,all,participating}:notifications_url pulls{/number}:pulls_url "
    "releases{/id}:releases_url stargazers:stargazers_url statuses/{sha}:statuses_url "
    "subscribers:subscribers_url subscription:subscription_url tags:tags_url teams:teams_url "
    "git/trees{/sha}:trees_url"
)


@dataclass(frozen=True)
class Documents:
    """Builds documents whose links point at `api` (with a GHES prefix where there is one) and `web`."""

    full_name: str
    api: str
    web: str
    default_branch: str = "main"
    private: bool = False
    app_id: int = GITHUB_ACTIONS.app_id

    @property
    def repo_url(self) -> str:
        return f"{self.api}/repos/{self.full_name}"

    @property
    def repo_web(self) -> str:
        return f"{self.web}/{self.full_name}"

    def user(self, user: User) -> Json:
        url = f"{self.api}/users/{user.login}"
        bot = user.type == "Bot"
        return {
            "login": user.login,
            "id": user.id,
            "node_id": node_id("BOT" if bot else "U", user.id),
            "avatar_url": f"https://avatars.githubusercontent.com/u/{user.id}?v=4",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{self.web}/apps/{user.login.removesuffix('[bot]')}" if bot else f"{self.web}/{user.login}",
            "followers_url": f"{url}/followers",
            "following_url": f"{url}/following{{/other_user}}",
            "gists_url": f"{url}/gists{{/gist_id}}",
            "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
            "subscriptions_url": f"{url}/subscriptions",
            "organizations_url": f"{url}/orgs",
            "repos_url": f"{url}/repos",
            "events_url": f"{url}/events{{/privacy}}",
            "received_events_url": f"{url}/received_events",
            "type": user.type,
            "user_view_type": "public",
            "site_admin": False,
        }

    def owner(self, full_name: str) -> User:
        login = full_name.split("/")[0]
        own = login == self.full_name.split("/")[0]
        return User(login, stable_id(login), "Organization" if own else "User")

    def minimal_repository(self, full_name: str) -> Json:
        url = f"{self.api}/repos/{full_name}"
        links = {}
        for each in _OWNED.split():
            path, _, name = each.rpartition(":")
            links[name] = f"{url}/{path}"
        links["archive_url"] = f"{url}/{{archive_format}}{{/ref}}"
        return {
            "id": stable_id(full_name),
            "node_id": node_id("R", full_name),
            "name": full_name.split("/")[1],
            "full_name": full_name,
            "private": self.private,
            "owner": self.user(self.owner(full_name)),
            "html_url": f"{self.web}/{full_name}",
            "description": None,
            "fork": full_name != self.full_name,
            "url": url,
            **links,
        }

    def repository(self, full_name: str) -> Json:
        host = self.web.split("://")[1]
        return {
            **self.minimal_repository(full_name),
            "clone_url": f"{self.web}/{full_name}.git",
            "git_url": f"git://{host}/{full_name}.git",
            "ssh_url": f"git@{host}:{full_name}.git",
            "svn_url": f"{self.web}/{full_name}",
            "mirror_url": None,
            "homepage": None,
            "language": "Python",
            "forks": 0,
            "forks_count": 0,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
            "open_issues": 0,
            "open_issues_count": 0,
            "size": 100,
            "default_branch": self.default_branch,
            "has_issues": True,
            "has_projects": True,
            "has_wiki": False,
            "has_pages": False,
            "has_downloads": True,
            "has_discussions": False,
            "archived": False,
            "disabled": False,
            "visibility": "private" if self.private else "public",
            "is_template": False,
            "allow_forking": True,
            "web_commit_signoff_required": False,
            "topics": [],
            "license": None,
            "pushed_at": EPOCH,
            "created_at": EPOCH,
            "updated_at": EPOCH,
        }

    def full_repository(self, full_name: str) -> Json:
        return {**self.repository(full_name), "network_count": 0, "subscribers_count": 0}

    def _side(self, ref: str, sha: str, full_name: str | None) -> Json:
        if full_name is None:
            return {"label": f"unknown repository:{ref}", "ref": ref, "sha": sha, "user": None, "repo": None}
        return {
            "label": f"{full_name.split('/')[0]}:{ref}",
            "ref": ref,
            "sha": sha,
            "user": self.user(self.owner(full_name)),
            "repo": self.repository(full_name),
        }

    def simple_pull(self, pull: Pull) -> Json:
        url, issue = f"{self.repo_url}/pulls/{pull.number}", f"{self.repo_url}/issues/{pull.number}"
        html = f"{self.repo_web}/pull/{pull.number}"
        closed_at = None if pull.state == "open" else pull.updated_at
        links = {
            "self": url,
            "html": html,
            "issue": issue,
            "comments": f"{issue}/comments",
            "review_comments": f"{url}/comments",
            "review_comment": f"{self.repo_url}/pulls/comments{{/number}}",
            "commits": f"{url}/commits",
            "statuses": f"{self.repo_url}/statuses/{pull.head_sha}",
        }
        return {
            "url": url,
            "id": stable_id(f"{self.full_name}#{pull.number}"),
            "node_id": node_id("PR", pull.number),
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "issue_url": issue,
            "commits_url": links["commits"],
            "review_comments_url": links["review_comments"],
            "review_comment_url": links["review_comment"],
            "comments_url": links["comments"],
            "statuses_url": links["statuses"],
            "number": pull.number,
            "state": pull.state,
            "locked": pull.locked,
            "active_lock_reason": "too heated" if pull.locked else None,
            "title": pull.title,
            "user": self.user(pull.author),
            "body": pull.body,
            "labels": [],
            "milestone": None,
            "created_at": pull.created_at,
            "updated_at": pull.updated_at,
            "closed_at": closed_at,
            "merged_at": closed_at if pull.merged else None,
            "merge_commit_sha": pull.merge_commit_sha,
            "assignee": None,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": self._side(pull.head_ref, pull.head_sha, pull.head_repo),
            "base": self._side(pull.base_ref, pull.base_sha, self.full_name),
            "_links": {name: {"href": href} for name, href in links.items()},
            "author_association": "CONTRIBUTOR",
            "auto_merge": None,
            "draft": pull.draft,
        }

    def pull(self, pull: Pull, changes: list[FileChange], commits: int, comments: int) -> Json:
        mergeable = None if pull.state == "closed" else pull.merge_commit_sha is not None
        return {
            **self.simple_pull(pull),
            "merged": pull.merged,
            "mergeable": mergeable,
            "rebaseable": mergeable,
            "mergeable_state": "unknown" if mergeable is None else "clean" if mergeable else "dirty",
            "merged_by": self.user(self.owner(self.full_name)) if pull.merged else None,
            "comments": comments,
            "review_comments": 0,
            "maintainer_can_modify": False,
            "commits": commits,
            "additions": sum(change.additions for change in changes),
            "deletions": sum(change.deletions for change in changes),
            "changed_files": len(changes),
        }

    def minimal_pull(self, pull: Pull) -> Json:
        def side(ref: str, sha: str, full_name: str) -> Json:
            name = full_name.split("/")[1]
            repo = {"id": stable_id(full_name), "url": f"{self.api}/repos/{full_name}", "name": name}
            return {"ref": ref, "sha": sha, "repo": repo}

        return {
            "id": stable_id(f"{self.full_name}#{pull.number}"),
            "number": pull.number,
            "url": f"{self.repo_url}/pulls/{pull.number}",
            "head": side(pull.head_ref, pull.head_sha, pull.head_repo or self.full_name),
            "base": side(pull.base_ref, pull.base_sha, self.full_name),
        }

    def issue(self, pull: Pull, comments: int) -> Json:
        url, html = f"{self.repo_url}/issues/{pull.number}", f"{self.repo_web}/pull/{pull.number}"
        return {
            "id": stable_id(f"{self.full_name}#{pull.number}"),
            "node_id": node_id("PR", pull.number),
            "url": url,
            "repository_url": self.repo_url,
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "html_url": html,
            "number": pull.number,
            "state": pull.state,
            "title": pull.title,
            "body": pull.body,
            "user": self.user(pull.author),
            "labels": [],
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "locked": pull.locked,
            "active_lock_reason": "too heated" if pull.locked else None,
            "comments": comments,
            "pull_request": {
                "url": f"{self.repo_url}/pulls/{pull.number}",
                "html_url": html,
                "diff_url": f"{html}.diff",
                "patch_url": f"{html}.patch",
                "merged_at": None,
            },
            "draft": pull.draft,
            "closed_at": None if pull.state == "open" else pull.updated_at,
            "created_at": pull.created_at,
            "updated_at": pull.updated_at,
            "author_association": "CONTRIBUTOR",
            "state_reason": None,
        }

    def comment(self, comment: Comment) -> Json:
        url = f"{self.repo_url}/issues/comments/{comment.id}"
        counts = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")
        return {
            "id": comment.id,
            "node_id": node_id("IC", comment.id),
            "url": url,
            "html_url": f"{self.repo_web}/pull/{comment.number}#issuecomment-{comment.id}",
            "body": comment.body,
            "user": self.user(comment.author),
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
            "issue_url": f"{self.repo_url}/issues/{comment.number}",
            "author_association": "CONTRIBUTOR" if comment.author.type == "Bot" else "NONE",
            "reactions": {"url": f"{url}/reactions", "total_count": 0, **dict.fromkeys(counts, 0)},
            "performed_via_github_app": self.app(comment.app_slug) if comment.app_slug else None,
        }

    def app(self, slug: str, app_id: int | None = None) -> Json:
        known = app_id if app_id is not None else self.app_id
        return {
            "id": known,
            "slug": slug,
            "node_id": node_id("A", known),
            "client_id": f"Iv1.{known:016x}",
            "owner": self.user(User("github", 9919, "Organization")),
            "name": slug.replace("-", " ").title(),
            "description": None,
            "external_url": f"https://help.github.com/en/{slug}",
            "html_url": f"{self.web}/apps/{slug}",
            "created_at": EPOCH,
            "updated_at": EPOCH,
            "permissions": {"checks": "write", "contents": "write", "issues": "write", "metadata": "read"},
            "events": ["push", "pull_request"],
        }

    def workflow_run(self, run: WorkflowRun, commit: CommitObject | None, pulls: list[Pull]) -> Json:
        """`pulls` is empty for runs of forks, as on GitHub."""
        url = f"{self.repo_url}/actions/runs/{run.id}"
        workflow_id = stable_id(run.path)
        suite = stable_id(f"github-actions@{run.head_sha}")
        actor = self.user(self.owner(run.head_repo))
        return {
            "id": run.id,
            "name": run.name,
            "node_id": node_id("WFR", run.id),
            "head_branch": run.head_branch,
            "head_sha": run.head_sha,
            "path": run.path,
            "display_title": commit.message.split("\n")[0] if commit else run.name,
            "run_number": run.run_number,
            "run_attempt": run.run_attempt,
            "event": run.event,
            "status": run.status,
            "conclusion": run.conclusion,
            "workflow_id": workflow_id,
            "check_suite_id": suite,
            "check_suite_node_id": node_id("CS", suite),
            "url": url,
            "html_url": f"{self.repo_web}/actions/runs/{run.id}",
            "pull_requests": [self.minimal_pull(pull) for pull in pulls],
            "created_at": run.created_at,
            "updated_at": run.created_at,
            "run_started_at": run.created_at,
            "actor": actor,
            "triggering_actor": actor,
            "jobs_url": f"{url}/jobs",
            "logs_url": f"{url}/logs",
            "check_suite_url": f"{self.repo_url}/check-suites/{suite}",
            "artifacts_url": f"{url}/artifacts",
            "cancel_url": f"{url}/cancel",
            "rerun_url": f"{url}/rerun",
            "previous_attempt_url": None,
            "workflow_url": f"{self.repo_url}/actions/workflows/{workflow_id}",
            "head_commit": commit and simple_commit(commit),
            "repository": self.minimal_repository(self.full_name),
            "head_repository": self.minimal_repository(run.head_repo),
        }


def simple_commit(commit: CommitObject) -> Json:
    """A commit as events and workflow runs show it."""
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": commit.committer.date,
        "author": {"name": commit.author.name, "email": commit.author.email},
        "committer": {"name": commit.committer.name, "email": commit.committer.email},
    }
