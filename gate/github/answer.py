"""The parts of GitHub's answers that the gate reads."""

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """A part of an answer; what GitHub sends besides is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ChangedFile(Answer):
    """A file that differs between two commits, and what it was called before."""

    filename: str
    previous_filename: str | None = None


class User(Answer):
    """Who wrote something."""

    login: str


class Comment(Answer):
    """A comment of a pull request. `user` is absent once the account is deleted."""

    id: int
    html_url: str
    body: str | None = None
    user: User | None = None


class Parent(Answer):
    """The sha of a parent commit."""

    sha: str


class Commit(Answer):
    """A commit and its parents, the first one first."""

    sha: str
    parents: tuple[Parent, ...]


class PullHead(Answer):
    """One of the two sides of a pull request."""

    sha: str
    ref: str


class PullRequest(Answer):
    """A pull request as it is now."""

    number: int
    state: str
    head: PullHead
    base: PullHead


class App(Answer):
    """The GitHub App that made something; GITHUB_TOKEN belongs to the app `github-actions`."""

    slug: str | None = None


class CheckRun(Answer):
    """A check run; `external_id` is the key of the gate it belongs to."""

    id: int
    name: str
    head_sha: str
    status: str
    html_url: str | None = None
    external_id: str | None = None
    conclusion: str | None = None
    app: App | None = None


class TreeEntry(Answer):
    """A file or folder of a tree; `size` is in bytes, absent for folders."""

    path: str
    type: str
    sha: str
    size: int | None = None


class Tree(Answer):
    """A git tree; `truncated` where GitHub left entries out."""

    sha: str
    tree: tuple[TreeEntry, ...]
    truncated: bool = False


class Artifact(Answer):
    """A zip archive that a workflow run left behind."""

    id: int
    name: str
    expired: bool
