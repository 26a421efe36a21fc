"""The dashboard in a real browser, against a real server: what a team does with it."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import PATIENCE, NewPage
from serving import Server, make_token, path_of, serving

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'goodarm[test]'").expect
expect.set_options(timeout=PATIENCE)


def create(server: Server, name: str, arms: list[Any], threshold: float = 0.5, **more: Any) -> None:
    made = server.call("POST", "/api/v1/campaigns", {"name": name, "arms": arms, "threshold": threshold, **more})
    assert made.status == 201, made.body


def play(server: Server, name: str, means: dict[str, float], until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask and tell through the API until the verdicts are as wished; gives the verdicts."""
    chance = random.Random(3)
    for _ in range(200):
        tickets = server.call("POST", path_of(name, "/ask"), {"n": 25}).json["tickets"]
        rewards = [{"ticket": t["ticket"], "reward": float(chance.random() < means[t["arm"]])} for t in tickets]
        told = server.call("POST", path_of(name, "/tell-many"), {"rewards": rewards})
        assert told.status == 200, told.body
        known: dict[str, Any] = server.call("GET", path_of(name, "/verdicts")).json
        if until(known):
            return known
    raise AssertionError("5,000 rewards did not bring the wished verdicts")


def headline(page: Page) -> str:
    return page.locator(".words .headline").inner_text()


def row_of(page: Page, label: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=label, exact=True))


def test_from_the_form_to_the_export(server: Server, new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    page.goto(server.address)
    page.get_by_role("link", name="New campaign").click()
    page.get_by_role("textbox", name="Arms").fill("calm\nloud\nodd")
    page.get_by_label("Name").fill("from the form")
    page.get_by_label("The bar", exact=True).fill("50%")
    expect(page.get_by_text("3 arms")).to_be_visible()
    expect(page.locator(".plan .sentence")).to_contain_text("samples")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".words .headline")).to_have_text(re.compile(r"0 of 3 above 50%, .?0 below, .?3 undecided"))
    page.evaluate("window.notReloaded = true")

    means = {"calm": 0.95, "loud": 0.05, "odd": 0.5}
    play(server, "from the form", means, lambda known: known["good"] == 1 and known["bad"] == 1)
    expect(page.locator(".words .headline")).to_have_text(re.compile(r"1 of 3 above 50%, .?1 below, .?1 undecided"))
    expect(row_of(page, "calm").get_by_text("above")).to_be_visible()
    expect(row_of(page, "loud").get_by_text("below")).to_be_visible()
    expect(page.get_by_label("Latest verdicts").get_by_role("link")).to_have_count(2)
    assert page.evaluate("window.notReloaded") is True

    row_of(page, "calm").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("calm")
    expect(page.get_by_label("Audit")).to_contain_text("The evidence that it is above the bar reached")
    expect(page.get_by_role("img", name=re.compile("^After .* the bar is 50%$"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Evidence that it is above .* decides$"))).to_be_visible()
    page.go_back()

    with page.expect_download() as waiting:
        page.get_by_role("link", name="Journal as JSON Lines").click()
    waiting.value.save_as(tmp_path / "journal.jsonl")
    exported = (tmp_path / "journal.jsonl").read_bytes()
    assert exported == server.call("GET", path_of("from the form", "/export?format=jsonl")).body
    assert sum('"verdict"' in line for line in exported.decode().splitlines()) >= 2


def test_two_browsers_see_the_same_without_reloading(server: Server, new_page: NewPage) -> None:
    create(server, "together", ["a", "b"])
    pages = [new_page(), new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")]
    for page in pages:
        page.goto(f"{server.address}/#/campaign/together")
        expect(page.locator("#live")).to_have_text("live")
    play(server, "together", {"a": 0.97, "b": 0.5}, lambda known: known["good"] == 1)
    for page in pages:
        expect(row_of(page, "a").get_by_text("above")).to_be_attached()
        expect(page.locator(".words .headline")).to_have_text(re.compile("1 of 2 above 50%"))
    assert headline(pages[0]) == headline(pages[1])


def test_a_server_that_is_killed_and_comes_back(new_page: NewPage, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/campaigns.db"
    page = new_page(quiet=False)  # a browser reports refused connections as errors
    with serving(store) as first:
        create(first, "lasting", ["a", "b"])
        page.goto(f"{first.address}/#/campaign/lasting")
        expect(page.locator("#live")).to_have_text("live")
        page.evaluate("window.notReloaded = true")
        first.stop(signal.SIGKILL)
        expect(page.locator("#live")).to_contain_text("what you see may be old")
    with serving(store, "--port", str(first.port)) as second:
        expect(page.locator("#live")).to_have_text("live")
        play(second, "lasting", {"a": 0.97, "b": 0.5}, lambda known: known["good"] == 1)
        expect(row_of(page, "a").get_by_text("above")).to_be_visible()
        assert page.evaluate("window.notReloaded") is True


HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"'><svg onload=window.hacked=1>",
    "\u202egood\u202c \u200fmarks\u200e",
    "{{constructor.constructor('window.hacked = 1')()}}",
    "javascript:window.hacked=1",
)


def test_hostile_labels_are_only_text(server: Server, new_page: NewPage) -> None:
    name = f"<b>{HOSTILE[1]}</b>/..?#%2F"
    create(server, name, [{"id": f"{label}#{i}", "label": label} for i, label in enumerate(HOSTILE)])
    play(server, name, {f"{label}#{i}": 0.95 for i, label in enumerate(HOSTILE)}, lambda known: known["good"] >= 3)
    page = new_page()
    page.goto(server.address)
    page.get_by_role("link", name=name).click()
    for label in HOSTILE:
        expect(row_of(page, label)).to_have_count(1)
    shown = page.locator(".spacer .name bdi").all_inner_texts()
    assert sorted(shown) == sorted(HOSTILE)
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tip")).to_be_visible()
    for label in HOSTILE:
        row_of(page, label).get_by_role("link").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(label)
        page.go_back()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main b, #crumbs b").count() == 0


def test_simulated_rewards_are_labelled_and_decide_arms(server: Server, new_page: NewPage) -> None:
    page = new_page()
    page.goto(server.address)
    page.get_by_role("button", name="Try it with simulated rewards").click()
    expect(page.get_by_label("Simulated rewards")).to_contain_text("This page makes them up")
    expect(page.get_by_label("Latest verdicts").get_by_role("link").first).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play on")).to_be_visible()
    page.get_by_label("Latest verdicts").get_by_role("link").first.click()
    expect(page.get_by_text("simulated rewards")).to_be_visible()


def test_arms_from_a_file(server: Server, new_page: NewPage, tmp_path: Path) -> None:
    table = tmp_path / "arms.csv"
    table.write_text('\ufeffid;label\nh1;"Calm; seas"\nh2;"Say ""hello"""\nh3;\n')
    page = new_page()
    page.goto(f"{server.address}/#/new")
    page.get_by_label("Or drop a CSV file here").set_input_files(table)
    expect(page.get_by_text("3 arms")).to_be_visible()
    page.get_by_label("Name").fill("from a file")
    page.get_by_label("The bar", exact=True).fill("0.3")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".words .headline")).to_contain_text("0 of 3 above 30%")
    arms = server.call("GET", path_of("from a file", "/verdicts")).json["arms"]
    assert [(arm["arm"], arm["label"]) for arm in arms] in (
        [("h1", "Calm; seas"), ("h2", 'Say "hello"'), ("h3", None)],
        [("h1", "Calm; seas"), ("h2", 'Say "hello"'), ("h3", "h3")],
    )


def test_what_the_library_refuses_is_said_in_its_words(server: Server, new_page: NewPage) -> None:
    page = new_page(quiet=False)  # a browser reports an answer of 400 as an error
    page.goto(f"{server.address}/#/new")
    page.get_by_role("textbox", name="Arms").fill("a\nb")
    page.get_by_label("Name").fill("beyond")
    page.get_by_label("The bar", exact=True).fill("150%")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator("#bar-problem")).to_contain_text("threshold must lie strictly between 0 and 1")
    expect(page.locator("#bar")).to_be_focused()
    expect(page.locator("#bar")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("The bar", exact=True).fill("50%")
    expect(page.locator("#bar-problem")).to_be_empty()
    page.get_by_role("textbox", name="Arms").fill("a\nb\na")
    expect(page.locator("#arms-problem")).to_have_text("More than once: a.")
    page.get_by_role("textbox", name="Arms").fill("")
    page.get_by_label("Name").fill("")
    page.get_by_label("The bar", exact=True).fill("much")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator("#arms-problem")).to_have_text("Give at least one arm, one per line.")
    expect(page.locator("#name-problem")).to_have_text("Give the campaign a name.")
    expect(page.locator("#bar-problem")).to_have_text("Give a number, such as 2%; got much.")
    expect(page).to_have_url(f"{server.address}/#/new")


def test_a_reader_logs_in_and_only_looks(new_page: NewPage, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/campaigns.db"
    admin, reader = make_token(store, "admin"), make_token(store, "reader")
    with serving(store) as server:
        body = {"name": "watched", "arms": ["a", "b"], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", body, token=admin).status == 201
        page = new_page(quiet=False)  # a browser reports an answer of 401 as an error
        page.goto(f"{server.address}/#/campaign/watched")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("The token is wrong or was revoked")
        page.get_by_label("Token").fill(reader)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("#live")).to_have_text("live")
        expect(page.get_by_role("button", name="End the campaign")).to_have_count(0)
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("link", name="goodarm").click()
        expect(page.get_by_role("link", name="watched")).to_be_visible()
        expect(page.get_by_role("link", name="New campaign")).to_have_count(0)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()


def test_the_page_says_what_the_server_says(server: Server, new_page: NewPage) -> None:
    create(server, "words", [f"arm {i}" for i in range(12)], threshold=0.4)
    means = {f"arm {i}": i / 12 for i in range(12)}
    known = play(server, "words", means, lambda known: known["good"] >= 2)
    page = new_page()
    page.goto(f"{server.address}/#/campaign/words")
    figures, *rest = known["sentence"].split("; ")
    shown = re.sub("[▲▼○]", "", headline(page))
    assert shown == figures
    expect(page.locator(".subline")).to_contain_text(rest[-1][1:])
    summary = server.call("GET", path_of("words")).json
    expect(page.locator(".subline")).to_contain_text(f"{summary['told']:,} samples so far")


def test_a_new_version_is_seen_at_once(server: Server) -> None:
    for path in ("/", "/js/app.js", "/base.css"):
        first = server.call("GET", path)
        assert first.headers["cache-control"] == "no-cache"
        assert server.call("GET", path, headers={"If-None-Match": first.headers["etag"]}).status == 304
