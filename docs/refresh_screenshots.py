"""Take the pictures of docs/dashboard.md anew: `python docs/refresh_screenshots.py`. Clicks are simulated."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "service")]

from browsing import flags  # noqa: E402
from serving import Server, path_of, serving  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SEED = 7
COLOURS = 128
"""Of a picture: plenty for flat colours, and a third of the size."""
HEADLINES = 2_000
PULLS, BLOCK = 3_000_000, 100_000
OPENINGS = ("Everything new in", "How to keep", "The truth about", "Why we love", "The cheapest way into",
            "What nobody says of")  # fmt: skip
TOPICS = ("bread", "maps", "bridges", "kitchens", "clouds", "bicycles", "islands", "letters")


def label(i: int) -> str:
    number = i // (len(OPENINGS) * len(TOPICS)) + 1
    return f"{OPENINGS[i % len(OPENINGS)]} {TOPICS[i // len(OPENINGS) % len(TOPICS)]} no. {number}"


def headlines(server: Server) -> None:
    """2,000 headlines against 2%, some way on."""
    random = np.random.default_rng(SEED)
    means = dict(zip((f"h{i}" for i in range(HEADLINES)), random.beta(1.5, 60.0, HEADLINES), strict=True))
    arms = [{"id": id, "label": label(i)} for i, id in enumerate(means)]
    server.call("POST", "/api/v1/campaigns", {"name": "Headlines", "arms": arms, "threshold": 0.02})
    for _ in range(PULLS // BLOCK):
        block = server.call("POST", path_of("Headlines", "/ask-block"), {"n": BLOCK}).json
        clicks = {arm: [pulls, int(random.binomial(pulls, means[arm]))] for arm, pulls in block["pulls"].items()}
        server.call("POST", path_of("Headlines", "/tell-block"), {"ticket": block["ticket"], "rewards": clicks})
    server.call("POST", path_of("Headlines", "/ask"), {"n": 40})


def others(server: Server) -> str:
    """A screen of measured compounds, and variants against the page as it is; the id of a compound that is good."""
    random = np.random.default_rng(SEED)
    compounds = {f"compound {i:02}": mean for i, mean in enumerate(random.normal(10.0, 1.5, 48))}
    variants = {"now": 0.3} | {f"variant {i}": mean for i, mean in enumerate(random.normal(0.32, 0.06, 9))}
    server.call(
        "POST",
        "/api/v1/campaigns",
        {"name": "Screening", "arms": list(compounds), "threshold": 10.0, "rewards": "gaussian:2"},
    )
    server.call(
        "POST", "/api/v1/campaigns", {"name": "Checkout", "arms": list(variants), "control": "now", "margin": 0.02}
    )
    for name, draw in (("Screening", lambda arm: float(random.normal(compounds[arm], 2.0))),
                       ("Checkout", lambda arm: float(random.random() < variants[arm]))):  # fmt: skip
        for _ in range(10):
            tickets = server.call("POST", path_of(name, "/ask"), {"n": 300}).json["tickets"]
            rewards = [{"ticket": each["ticket"], "reward": draw(each["arm"])} for each in tickets]
            server.call("POST", path_of(name, "/tell-many"), {"rewards": rewards})
    rows: list[dict[str, Any]] = server.call("GET", path_of("Screening", "/verdicts")).json["arms"]
    return str(max((row for row in rows if row["verdict"] == "good"), key=lambda row: row["pulls"])["arm"])


def fill_form(page: Page) -> None:
    page.fill("#arms", "\n".join(label(i) for i in range(200)))
    page.fill("#name", "Spring headlines")
    page.fill("#bar", "2%")
    page.wait_for_selector(".plan .sentence")


def picture(browser: Browser, address: str, name: str, width: int, scheme: Any) -> None:
    """One page as people see it first."""
    height = 844 if width < 500 else 960
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-US")
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("main h1")
    if address.endswith("#/new"):
        fill_form(page)
    page.wait_for_timeout(2_000)
    path = HERE / "images" / f"{name}-{width}-{scheme}.png"
    page.screenshot(path=path)
    context.close()
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def main() -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, serving(f"sqlite:///{folder}/a.db") as server:
        arm = others(server)
        headlines(server)
        campaign = f"{server.address}/#/campaign/Headlines"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags())
            for width in (1280, 390):
                for scheme in ("light", "dark"):
                    picture(browser, campaign, "dashboard", width, scheme)
            picture(browser, f"{server.address}/#/campaign/Screening/arm/{quote(arm)}", "arm", 1280, "dark")
            picture(browser, f"{server.address}/", "list", 1280, "light")
            picture(browser, f"{server.address}/#/new", "new", 1280, "light")
            picture(browser, f"{server.address}/#/campaign/Checkout", "control", 1280, "light")
            browser.close()


if __name__ == "__main__":
    main()
