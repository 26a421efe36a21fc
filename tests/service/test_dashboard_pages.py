"""The dashboard for everyone: many arms, keyboard, screen reader, narrow and wide, light and dark, any locale."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import PATIENCE, NewPage
from serving import Server, make_token, path_of, serving

from goodarm import Campaign

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'goodarm[test]'").expect
expect.set_options(timeout=PATIENCE)

MANY = 10_000
AXE = Path(sys.prefix) / "node" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FEW_CAMPAIGN, MANY_CAMPAIGN = "#/campaign/few", "#/campaign/many"
MEASURED = "#/campaign/measured"
CONTROLLED, FED = "#/campaign/controlled", "#/campaign/unfed"
PAGES = (
    "#/", FEW_CAMPAIGN, f"{FEW_CAMPAIGN}/arm/a1", MEASURED, f"{MEASURED}/arm/m1", CONTROLLED, f"{CONTROLLED}/arm/c1",
    FED, MANY_CAMPAIGN, "#/new", "#/campaign/missing",
)  # fmt: skip


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    """A server with five campaigns: few arms with verdicts of each kind and a pending ticket; ten thousand; Gaussian
    rewards without a verdict, their tickets overdue; twenty arms against a control; one without samples."""
    few = [{"id": f"a{i}", "label": f"Arm number {i}"} for i in range(8)]
    many = [{"id": f"h{i:05}", "label": f"Headline {i}"} for i in range(MANY)]
    for name, arms in (("few", few), ("many", many)):
        made = server.call("POST", "/api/v1/campaigns", {"name": name, "arms": arms, "threshold": 0.5})
        assert made.status == 201, made.body
    for arm, reward in [("a1", 1.0)] * 40 + [("a2", 0.0)] * 40 + [("a3", 1.0), ("a3", 0.0)] * 4:
        assert server.call("POST", path_of("few", "/tell-arm"), {"arm": arm, "reward": reward}).status == 200
    assert server.call("POST", path_of("few", "/ask"), {"n": 3}).status == 200
    for i in range(20):
        told = server.call("POST", path_of("many", "/tell-arm"), {"arm": f"h{i:05}", "reward": float(i % 2)})
        assert told.status == 200, told.body
    terms = {"name": "measured", "arms": ["m1", "m2"], "threshold": 10, "rewards": "gaussian:2", "after": "0.001s"}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    for arm, reward in (("m1", 10.5), ("m2", 9.0), ("m1", 12.25)):
        assert server.call("POST", path_of("measured", "/tell-arm"), {"arm": arm, "reward": reward}).status == 200
    assert server.call("POST", path_of("measured", "/ask"), {"n": 4}).status == 200
    arms = [{"id": f"c{i}", "label": f"Headline number {i}"} for i in range(20)]
    terms = {"name": "controlled", "arms": arms, "control": "c0", "margin": 0.01}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    with Campaign.open(server.store, "controlled") as campaign, campaign.transaction():
        for i in range(60):
            campaign.tell_arm("c0", float(i % 10 == 0))
            for arm in ("c1", "c2", "c3"):
                campaign.tell_arm(arm, float(i % 10 > 0))
        for arm in arms[4:16]:
            campaign.tell_arm(arm["id"], 0.0)
    terms = {"name": "unfed", "arms": ["green", "blue"], "threshold": 0.03}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    return server.address


def shown(page: Page, where: str) -> None:
    """Open a page and wait until it is complete."""
    page.goto(where)
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.get_by_text(re.compile("^Fetching"))).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_axe_finds_nothing(address: str, new_page: NewPage, scheme: str, width: int) -> None:
    if not AXE.is_file():
        pytest.skip("needs axe-core: make node installs it where there is npm")
    page = new_page(quiet=False, color_scheme=scheme, viewport={"width": width, "height": 900})
    found = []
    for place in PAGES:
        shown(page, f"{address}/{place}")
        found += violations(page, place)
    shown(page, f"{address}/docs/")
    page.locator(".operation").first.evaluate("each => { each.open = true; }")
    found += violations(page, "docs")
    shown(page, f"{address}/#/new")
    page.locator(".more summary").click()
    found += violations(page, "with all fields")
    page.locator("#versus").select_option(index=1)
    assert found + violations(page, "against a control") == []


def violations(page: Page, place: str) -> list[tuple[str, str, str]]:
    """What axe has to say about a page."""
    page.evaluate(AXE.read_text())
    report: Any = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    assert len(report["passes"]) > 10
    return [(place, each["id"], each["nodes"][0]["html"]) for each in report["violations"]]


def test_axe_finds_nothing_where_people_log_in(new_page: NewPage, tmp_path: Path) -> None:
    if not AXE.is_file():
        pytest.skip("needs axe-core: make node installs it where there is npm")
    store = f"sqlite:///{tmp_path}/a.db"
    make_token(store, "reader")
    with serving(store) as guarded:
        page = new_page(quiet=False)
        shown(page, guarded.address)
        assert violations(page, "login") == []
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("wrong or was revoked")
        assert violations(page, "login refused") == []


@pytest.mark.parametrize("width", [390, 768, 1280, 1920, 3840])
def test_nothing_hangs_over_the_edge(address: str, new_page: NewPage, width: int) -> None:
    page = new_page(quiet=False, viewport={"width": width, "height": 1000})
    for place in PAGES:
        shown(page, f"{address}/{place}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_before_the_first_sample_the_programs_lead_and_no_chart_is_empty(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{FED}")
    cards = "[...document.querySelectorAll('.grid > .card:not([hidden])')].map(card => card.getAttribute('aria-label'))"
    assert page.evaluate(cards) == ["Feed it", "What now", "Arms", "Data"]


def test_on_a_phone_what_now_is_one_touch_away(address: str, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    shown(page, f"{address}/{CONTROLLED}")
    jump = page.get_by_role("button", name=re.compile("^What now"))
    expect(jump).to_have_text("What now? Use 3 arms ↓")
    expect(jump).to_be_in_viewport()
    jump.click()
    expect(page.get_by_label("What now", exact=True)).to_be_focused()
    expect(page.get_by_role("button", name="Copy the names")).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(jump).to_be_hidden()


def test_the_start_of_a_campaign_is_in_sight_with_its_plan(address: str, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 1280, "height": 720})
    shown(page, f"{address}/#/new")
    page.locator("#arms").fill("\n".join(f"arm {i}" for i in range(200)))
    page.locator("#bar").fill("2%")
    expect(page.locator(".steps li")).to_have_count(4)
    page.evaluate("scrollTo(0, 0)")
    expect(page.get_by_role("button", name="Start the campaign")).to_be_in_viewport()


def test_ten_thousand_arms_are_searched_sorted_and_scrolled(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{MANY_CAMPAIGN}")
    rows = page.locator(".spacer .line")
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(MANY + 1))
    assert 5 < rows.count() < 60
    page.locator(".scroller").evaluate("box => { box.scrollIntoView(); box.scrollTop = box.scrollHeight; }")
    expect(page.locator(f'.line[aria-rowindex="{MANY + 1}"]')).to_be_in_viewport()
    assert rows.count() < 60

    page.get_by_role("button", name="arm", exact=True).click()
    page.get_by_role("button", name="arm", exact=True).click()
    page.locator(".scroller").evaluate("box => { box.scrollTop = 0; }")
    expect(page.locator('.line[aria-rowindex="3"]')).to_contain_text("Headline 9998")
    page.get_by_role("searchbox").fill("headline 42")
    expect(page.get_by_text("111 of 10,000")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="above", exact=True).click()
    expect(page.get_by_text("No arm matches.")).to_be_visible()


def test_a_keyboard_is_enough(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{FEW_CAMPAIGN}")
    chart = page.get_by_role("slider", name="Arms by rank")
    chart.focus()
    page.keyboard.press("ArrowRight")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"^1: Arm number 1: above, mean 100"))
    expect(page.locator(".tip")).to_contain_text("Arm number 1")
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Show all arms")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Show all arms")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Arm number 1")
    page.go_back()

    expect(page.locator(".spacer .line")).to_have_count(8)
    page.locator('.line[aria-rowindex="2"] a').focus()
    page.keyboard.press("End")
    expect(page.locator('.line[aria-rowindex="9"] a')).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator('.line[aria-rowindex="8"] a')).to_be_focused()


def test_pointing_tells_the_arm_and_dragging_zooms(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{FEW_CAMPAIGN}")
    box = page.locator(".intervals .u-over").bounding_box()
    assert box is not None
    left, middle = box["x"] + box["width"] / 16, box["y"] + box["height"] / 2
    page.mouse.move(left, middle)
    expect(page.locator(".tip")).to_contain_text("Arm number 1")
    page.mouse.down()
    page.mouse.move(left + box["width"] / 2, middle, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Show all arms")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("few")  # a drag does not open an arm
    page.mouse.dblclick(left, middle)
    page.mouse.click(left, middle)
    expect(page.get_by_role("heading", level=1)).to_have_text("Arm number 1")


def test_a_page_that_is_not_there_leads_back(address: str, new_page: NewPage) -> None:
    page = new_page(quiet=False)
    shown(page, f"{address}/#/campaign/none")
    expect(page.get_by_role("alert")).to_contain_text("Unknown campaign 'none'. Known:")
    page.get_by_role("link", name="All campaigns").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Campaigns")
    expect(page.get_by_role("link", name="New campaign")).to_have_class("button main")


def test_pending_tickets_are_said(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{FEW_CAMPAIGN}")
    expect(page.get_by_label("Pending tickets")).to_contain_text(re.compile("3 tickets on . arms? "))
    expect(page.get_by_label("Arms with the oldest tickets").get_by_role("listitem").first).to_contain_text(
        "Arm number"
    )
    page.goto(address)
    expect(page.get_by_text("3 tickets pending")).to_be_visible()


def test_tickets_that_are_overdue_are_listed_with_their_age(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{MEASURED}")
    pending = page.get_by_label("Pending tickets")
    expect(pending).to_contain_text("4 tickets on 1 arm not told yet. Until then later rewards of the same arm wait")
    expect(pending).to_contain_text("4 overdue")
    expect(pending.get_by_role("listitem")).to_contain_text(re.compile(r"m1.* 4overdue\d+[smhd]"))


def test_measurements_have_a_plan_one_number_of_digits_and_a_way(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{address}/{MEASURED}")
    expect(page.locator(".spacer .line .mean").first).to_have_text("11.38")
    expect(page.locator(".spacer .line .mean").nth(1)).to_have_text("9.00")
    shown(page, f"{address}/{MEASURED}/arm/m1")
    after = re.compile("After 2 samples: mean 11.38, interval [0-9.-]+ to")
    expect(page.get_by_role("img", name=after)).to_be_visible()
    evidence = re.compile("Evidence that it is above [0-9.-]+, below [0-9.-]+;")
    expect(page.get_by_role("img", name=evidence)).to_be_visible()
    shown(page, f"{address}/#/new")
    page.locator("#arms").fill("one\ntwo")
    page.locator("#kind").select_option(index=1)
    page.locator("#bar").fill("10")
    page.locator("#spread").fill("2")
    expect(page.locator(".plan .sentence")).to_contain_text("samples")
    expect(page.locator(".plan")).to_contain_text("normal distribution around 10")


def test_numbers_are_in_the_locale_of_the_reader(address: str, new_page: NewPage) -> None:
    page = new_page(locale="de-DE")
    shown(page, f"{address}/{MANY_CAMPAIGN}")
    expect(page.locator(".words .headline")).to_contain_text("0 of 10.000 above 50\u00a0%")


def test_light_dark_and_rest(address: str, new_page: NewPage) -> None:
    page = new_page(color_scheme="dark", reduced_motion="reduce")
    shown(page, f"{address}/{FEW_CAMPAIGN}")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    expect(page.locator("#live")).to_have_text("live")
    moving = "getComputedStyle(document.getElementById('live'), '::before').animationName"
    assert page.evaluate(moving) == "none"
    page.get_by_role("button", name="Theme: system").click()
    assert page.evaluate(ground) != dark
    page.reload()
    assert page.evaluate(ground) != dark  # the choice is kept
    page.emulate_media(reduced_motion="no-preference")
    expect(page.locator("#live")).to_have_text("live")
    assert page.evaluate(moving) != "none"


def test_the_api_is_documented_without_the_internet(address: str, new_page: NewPage) -> None:
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    shown(page, f"{address}/docs")
    expect(page).to_have_url(f"{address}/docs/")
    assert all(each.startswith(address) for each in asked)
    operations = page.locator(".operation")
    document: Any = page.evaluate("fetch('../api/v1/openapi.json').then(answer => answer.json())")
    expect(operations).to_have_count(sum(len(methods) for methods in document["paths"].values()))
    page.get_by_role("searchbox").fill("tell-many")
    expect(operations.locator("visible=true").locator("summary")).to_have_text([re.compile("POST .*/tell-many")])
    page.locator("summary:visible").click()
    expect(page.get_by_role("group", name="Request").locator("visible=true")).to_contain_text(
        '-d \'{"rewards":[{"ticket":"1","reward":1}]}\''
    )
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_events_are_read_whatever_their_pieces(address: str, new_page: NewPage) -> None:
    page = new_page()
    shown(page, address)
    text = ': hello\n\nid: 7\nevent: change\ndata: {"a":\ndata: 1}\n\nid: 8\r\ndata: {"b": "ü: x"}\r\n\r\ndata: lost'
    events = page.evaluate(
        """async text => {
          const { parser } = await import("/js/live.js");
          return [1, 3, 1000].map(size => {
            const found = [], feed = parser((id, data) => found.push([id, JSON.parse(data)]));
            for (let i = 0; i < text.length; i += size) feed(text.slice(i, i + size));
            return found;
          });
        }""",
        text,
    )
    assert events == [[["7", {"a": 1}], ["8", {"b": "ü: x"}]]] * 3


@pytest.mark.parametrize(
    ("table", "arms"),
    [
        ("arm,mean\nx,0.1\ny,0.2\n", [{"id": "x"}, {"id": "y"}]),
        ("one,First\ntwo,Second", [{"id": "one", "label": "First"}, {"id": "two", "label": "Second"}]),
        ('title\n"a, ""b""\nc"\n\nd', [{"id": 'a, "b"\nc'}, {"id": "d"}]),
        ("\ufeffid\tlabel\r\n1\tEins\r\n", [{"id": "1", "label": "Eins"}]),
        ("", []),
    ],
)
def test_tables_of_arms(address: str, new_page: NewPage, table: str, arms: list[dict[str, str]]) -> None:
    page = new_page()
    shown(page, address)
    assert page.evaluate("async text => (await import('/js/csv.js')).fromCsv(text)", table) == arms


def test_a_fixed_test_set_is_planned_and_started_from_the_page(server: Server, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{server.address}/#/new")
    page.get_by_label("Rewards", exact=True).select_option("passes of a fixed set of test cases")
    page.get_by_label("Name").fill("prompts on cases")
    page.get_by_role("textbox", name="Arms").fill("terse\nchatty")
    page.get_by_label("The bar", exact=True).fill("80%")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_text("Give a number, such as 500.")).to_be_visible()
    page.get_by_label("Test cases").fill("200")
    expect(page.locator(".plan .sentence")).to_contain_text("samples")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_text("200 cases")).to_be_visible()


def test_a_campaign_of_amounts_is_started_from_the_page(server: Server, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{server.address}/#/new")
    page.get_by_label("Rewards", exact=True).select_option("amounts of 0 or more: revenue")
    page.get_by_label("Name").fill("revenue of banners")
    page.get_by_role("textbox", name="Arms").fill("red\nblue")
    page.get_by_label("The bar", exact=True).fill("1.5")
    expect(page.get_by_text("There is no plan for amounts")).to_be_visible()
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_role("heading", name="revenue of banners")).to_be_visible()
    assert server.call("GET", path_of("revenue of banners")).json["rewards"] == "rewards of 0 or more"


def terms_of(server: Server, name: str) -> dict[str, Any]:
    """The terms of a campaign, from the first entry of its journal."""
    exported = server.call("GET", path_of(name, "/export?format=jsonl")).body.splitlines()
    terms: dict[str, Any] = json.loads(json.loads(exported[1])["payload"])
    return terms


def filled(page: Page, server: Server, name: str) -> None:
    """The form with all that a campaign against a bar needs."""
    shown(page, f"{server.address}/#/new")
    page.get_by_label("Name").fill(name)
    page.get_by_role("textbox", name="Arms").fill("a\nb\nc")
    page.get_by_label("The bar", exact=True).fill("50%")


@pytest.mark.parametrize("width", [390, 1280])
def test_bad_arms_lost_tickets_and_the_end_are_chosen_by_keyboard(
    server: Server, new_page: NewPage, width: int
) -> None:
    page = new_page(viewport={"width": width, "height": 900})
    name = f"more at {width}"
    filled(page, server, name)
    expect(page.get_by_label("Also decide bad arms early")).to_be_hidden()
    page.locator(".more summary").focus()
    page.keyboard.press("Enter")
    for key in ("Tab", "Space", "Tab"):
        page.keyboard.press(key)
    page.keyboard.type("30min")
    page.keyboard.press("Tab")
    page.keyboard.press("w")  # withdraw; "wait" is chosen already
    page.keyboard.press("Tab")
    page.keyboard.type("2")
    expect(page.locator(".plan")).to_contain_text("The plan is for good arms first")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Enter")
    expect(page.locator(".words")).to_contain_text("the campaign ends after 2 arms above 50%")
    terms = terms_of(server, name)
    assert (terms["policy"], terms["after"], terms["unanswered"], terms["stop_after"]) == (
        "settle+gap-mixture", 1800.0, "void", 2,
    )  # fmt: skip


def test_untouched_the_folded_part_changes_no_term(server: Server, new_page: NewPage) -> None:
    page = new_page()
    filled(page, server, "folded")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_role("heading", name="folded")).to_be_visible()
    terms = terms_of(server, "folded")
    assert (terms["policy"], terms["after"], terms["unanswered"]) == ("value+gap-mixture", None, "wait")
    assert "stop_after" not in terms


def test_what_is_wrong_in_the_folded_part_opens_it_and_is_said_beside_the_field(
    server: Server, new_page: NewPage
) -> None:
    page = new_page(quiet=False)
    filled(page, server, "wrong more")
    start = page.get_by_role("button", name="Start the campaign")
    after, stop, lost = page.locator("#after"), page.locator("#stop-after"), page.locator("#unanswered")
    page.locator(".more summary").click()
    lost.select_option("count it as 0")
    stop.fill("1.5")
    page.locator(".more summary").click()
    expect(after).to_be_hidden()
    start.click()
    expect(page.locator("#after-problem")).to_contain_text("such as 30min")
    expect(page.locator("#stop-after-problem")).to_contain_text("got 1.5")
    expect(after).to_be_focused()
    after.fill("soon")  # from here on, the server refuses
    stop.fill("")
    start.click()
    expect(page.locator("#after-problem")).to_contain_text("got 'soon'")
    after.fill("2h")
    stop.fill("4")
    start.click()
    expect(page.locator("#stop-after-problem")).to_contain_text("can't be found among 3")
    expect(page.locator("#after-problem")).to_be_empty()
    stop.fill("")
    page.get_by_label("Rewards", exact=True).select_option("measurements around a mean")
    page.get_by_label("Standard deviation").fill("1")
    start.click()
    expect(page.locator("#unanswered-problem")).to_contain_text("is for rewards in [0, 1]")
    assert server.call("GET", path_of("wrong more")).status == 404


def test_bad_arms_early_is_offered_where_a_policy_does_that(server: Server, new_page: NewPage) -> None:
    page = new_page()
    filled(page, server, "capped early")
    page.locator(".more summary").click()
    early = page.get_by_label("Also decide bad arms early")
    early.check()
    page.get_by_label("Question", exact=True).select_option("which arms beat a control")
    expect(early).to_be_hidden()
    page.get_by_label("Question", exact=True).select_option("which arms reach a bar")
    page.get_by_label("Rewards", exact=True).select_option("amounts of 0 or more: revenue")
    expect(early).to_be_hidden()  # without a cap no arm is called bad
    page.get_by_label("Cap", exact=True).fill("9")
    expect(early).to_be_visible()
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_role("heading", name="capped early")).to_be_visible()
    assert terms_of(server, "capped early")["policy"] == "settle+bet-mixture"


def test_a_campaign_against_a_control_is_started_from_the_page(server: Server, new_page: NewPage) -> None:
    page = new_page()
    shown(page, f"{server.address}/#/new")
    page.get_by_label("Question", exact=True).select_option("which arms beat a control")
    expect(page.get_by_label("The bar", exact=True)).to_be_hidden()
    expect(page.get_by_label("Rewards", exact=True)).to_be_hidden()
    page.get_by_role("textbox", name="Arms").fill("new\nnow\nodd")
    page.get_by_label("Name").fill("form versus")
    page.get_by_label("The control", exact=True).fill("now")
    page.get_by_label("By how much better").fill("2%")
    expect(page.locator(".plan")).to_contain_text("say what mean you expect of the control")
    page.get_by_label("Expected mean of the control").fill("30%")
    page.get_by_label("Typical difference from it").fill("10%")
    expect(page.locator(".plan .sentence")).to_contain_text("samples")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".words .headline")).to_contain_text("0 of 2 better than now by 2 pp or more")
    made = server.call("GET", path_of("form versus")).json
    assert (made["control"], made["margin"], made["delta"], made["arms"]) == ("now", 0.02, 0.05, 2)


def test_the_first_arm_is_the_control_unless_another_is_named_and_a_wrong_one_is_refused(
    server: Server, new_page: NewPage
) -> None:
    page = new_page(quiet=False)
    shown(page, f"{server.address}/#/new")
    page.get_by_label("Question", exact=True).select_option("which arms beat a control")
    page.get_by_role("textbox", name="Arms").fill("now\nnew")
    page.get_by_label("Name").fill("first versus")
    page.get_by_label("The control", exact=True).fill("nowhere")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator("#control-problem")).to_contain_text("nowhere")
    page.get_by_label("The control", exact=True).fill("")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".words .headline")).to_contain_text("0 of 1 better than now")


def test_against_a_control_arms_are_better_or_not(server: Server, new_page: NewPage) -> None:
    terms = {"name": "versus", "arms": ["now", "new", "odd"], "control": "now", "margin": 0.02}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    for _ in range(60):
        for arm, reward in (("now", 0.0), ("new", 1.0), ("odd", 0.0)):
            server.call("POST", path_of("versus", "/tell-arm"), {"arm": arm, "reward": reward})
    page = new_page()
    shown(page, f"{server.address}/#/campaign/versus")
    expect(page.locator(".words .headline")).to_contain_text("1 of 2 better than now by 2 pp or more")
    expect(page.get_by_label("Every arm against the control")).to_be_visible()
    expect(page.locator('.spacer [data-arm="new"]')).to_contain_text("better")
    expect(page.locator(".ends i").first).to_have_text(re.compile(r"^-\d"))  # the scale reaches below no difference
    expect(page.locator('.spacer [data-arm="new"] .mean')).to_have_text("+100.00 pp")
    expect(page.locator('.spacer [data-arm="now"]')).to_contain_text("control")
    page.get_by_role("button", name="better", exact=True).click()
    expect(page.locator(".spacer .line")).to_have_count(1)
    shown(page, f"{server.address}/#/campaign/versus/arm/new")
    expect(page.locator(".words")).to_contain_text(
        "Difference from the control +100.00 pp (100.00% against 0.00%) after"
    )
    expect(page.locator(".words")).to_contain_text("above the margin of 2 pp")
    shown(page, f"{server.address}/#/campaign/versus/arm/now")
    expect(page.locator(".words")).to_contain_text(
        "The control, which all others are compared with: mean 0.00% after 60 samples."
    )


def test_a_learned_bound_and_a_goal_that_is_reached_are_said(server: Server, new_page: NewPage) -> None:
    terms = {"name": "goal", "arms": ["a", "b"], "threshold": 0.5, "policy": "dgai+gap-mixture", "stop_after": 1}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    page = new_page()
    shown(page, f"{server.address}/#/campaign/goal")
    expect(page.locator(".words")).to_contain_text("the campaign ends after 1 arm above 50%")
    for _ in range(40):
        assert server.call("POST", path_of("goal", "/tell-arm"), {"arm": "a", "reward": 1.0}).status == 200
    expect(page.locator(".words")).to_contain_text("1 arm above 50% found, so the campaign has ended")
    expect(page.locator(".words")).to_contain_text(re.compile(r"Learned so far.* beta = [\d.]+ for sampling\."))
    expect(page.locator(".words")).not_to_contain_text("false")
    shown(page, f"{server.address}/#/campaign/goal/arm/a")
    expect(page.locator(".words")).to_contain_text(
        re.compile(r"beta = [\d.]+ for sampling, alpha = [\d.]+ for deciding")
    )
