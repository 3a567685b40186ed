"""The four stories of the gate, by the real action under `act` against the GitHub double."""

import secrets
from pathlib import Path

from tests.double import GitHubDouble
from tests.double.events import Events
from tests.e2e.action import UserRepository, agent, readme_workflow

HUNT = """
import pathlib
with open({log!r}, "a") as seen:
    seen.write(f"from {{pathlib.Path.cwd()}}\\n")
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if bytes.fromhex({token!r}) in (process / "environ").read_bytes():
                seen.write("token\\n")
        except OSError:
            pass
"""
EXPERIMENTS = ("control-guardrail-dos.yaml", "control-guardrail-outage.yaml")


def test_action__first_pull_request_then_push_then_unchanged_then_fail_open(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        events = Events(double.repository)
        token = "ghs_" + secrets.token_hex(18)  # of no other process on this machine
        user = UserRepository(tmp_path / "repo", double, token=token)
        workflow = readme_workflow("plain").replace("          target:", "          anchor: v1.0\n          target:")
        user.create("hardened", EXPERIMENTS, workflow)
        hunt = HUNT.format(log=str(tmp_path / "seen"), token=token.encode().hex())
        first = user.commit({"my_agent.py": hunt + agent("hardened")}, "look for the token")

        # 1: a pull request before anything is stored
        user.switch("feature")
        head = user.commit({"notes.md": "one"}, "change nothing that matters")
        double.open_pull(7, "main", first, "feature", head)
        payload = events.pull_request("opened", number=7, base_sha=first, head_sha=head)
        outcome = user.run("pull_request", payload)
        assert outcome.green, outcome.log
        [comment] = double.comments(7)
        assert comment.body.startswith("ℹ️ **NO BASE**")
        assert "first push" in comment.body
        assert "there is no such tag" in comment.body
        [check] = double.check_runs(head)
        assert (check.name, check.status, check.conclusion) == ("agent-chaos-gate", "completed", "neutral")
        assert double.branch_head("agent-chaos-baseline") is None

        # 2: a push to the default branch stores the base
        user.git("switch", "--quiet", "main")
        outcome = user.run("push", events.push(before=first, after=first))
        assert outcome.green, outcome.log
        assert f"v1/default/{first[:2]}/{first}.json" in double.branch_files("agent-chaos-baseline")

        user.git("tag", "v1.0")

        # 3: the same pull request again, now with a base: proven unchanged, the comment edited in place
        user.git("switch", "--quiet", "feature")
        head = user.commit({"notes.md": "two"}, "still nothing")
        double.move_pull(7, head)
        outcome = user.run("pull_request", events.pull_request("synchronize", number=7, base_sha=first, head_sha=head))
        assert outcome.green, outcome.log
        [edited] = double.comments(7)
        assert edited.id == comment.id
        assert edited.body.startswith("✅ **PASS**")
        assert f"`v1.0` at `{first[:7]}`; only shown, blocks nothing\n\n- nothing is worse" in edited.body
        [check] = double.check_runs(head)
        assert check.conclusion == "success"

        # 4: the guardrail now fails open
        user.switch("weaker", "main")
        weak = user.commit({"my_agent.py": hunt + agent("guarded_fail_open")}, "skip the guardrail while it is down")
        double.open_pull(8, "main", first, "weaker", weak)
        payload = events.pull_request("opened", number=8, base_sha=first, head_ref="weaker", head_sha=weak)
        outcome = user.run("pull_request", payload)
        assert not outcome.green
        [comment] = double.comments(8)
        assert comment.body.startswith("❌ **FAIL**")
        assert "`control-guardrail-outage` · `fails_closed(guardrail*, send_*)`" in comment.body
        assert "blocks" in comment.body
        assert "confirmed by running base and head again" in comment.body
        assert "**Against the anchor**" in comment.body
        [check] = double.check_runs(weak)
        assert check.conclusion == "failure"
        assert len(double.comments(7)) == 1
        seen = (tmp_path / "seen").read_text().splitlines()
        assert "token" not in seen
        assert sum("chaos-gate-base-" in line for line in seen) == 1, "base too, while it was run again"

        double.check()
        assert {r.token for r in double.requests} == {token}
        assert user.git("status", "--porcelain") == ""
