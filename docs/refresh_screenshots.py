"""Take the pictures of docs/dashboard.md anew: `python docs/refresh_screenshots.py [FOLDER [PAGE ...]]`.

Every page at 390 (the whole page), 1280 and 2560 pixels, light and dark; campaigns of 5, 48 and 5,000 arms, against a
bar and against a control. The six pictures of a page are kept as one sheet at two fifths of their size. Some first
screens are also kept in full size. Rewards are simulated.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
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
COLOURS = 256
"""Colours of a picture."""
SHEET_QUALITY, SHEET_SCALE = 55, 0.4
SIZES = {390: 844, 1280: 960, 2560: 1440}
SCHEMES = ("light", "dark")
KEPT = {
    ("bar-48", 1280, "light"): "dashboard-1280-light",
    ("bar-48", 1280, "dark"): "dashboard-1280-dark",
    ("bar-48", 390, "light"): "dashboard-390-light",
    ("bar-48", 390, "dark"): "dashboard-390-dark",
    ("bar-5000", 1280, "light"): "many-1280-light",
    ("control-48", 1280, "light"): "control-1280-light",
    ("arm", 1280, "dark"): "arm-1280-dark",
    ("list", 1280, "light"): "list-1280-light",
    ("new", 1280, "light"): "new-1280-light",
    ("demo", 1280, "light"): "demo-1280-light",
}
"""Pictures that are also kept as they are, and their names."""
SAMPLES = {5: 8_000, 48: 60_000, 5_000: 1_500_000}
OPENINGS = ("Everything new in", "How to keep", "The truth about", "Why we love", "The cheapest way into",
            "What nobody says of")  # fmt: skip
TOPICS = ("bread", "maps", "bridges", "kitchens", "clouds", "bicycles", "islands", "letters")


def label(i: int) -> str:
    number = i // (len(OPENINGS) * len(TOPICS)) + 1
    return f"{OPENINGS[i % len(OPENINGS)]} {TOPICS[i // len(OPENINGS) % len(TOPICS)]} no. {number}"


def campaign(server: Server, arms: int, control: bool) -> str:
    """Headlines against 5%, or against the headline that is used now, some way on; the name of the campaign."""
    random = np.random.default_rng(SEED)
    means = dict(zip((f"h{i}" for i in range(arms)), random.beta(2.0, 30.0, arms), strict=True))
    question: dict[str, Any] = {"threshold": 0.05, "policy": "settle+gap-mixture"}
    if control:
        means["h0"] = 0.05
        question = {"control": "h0", "margin": 0.01}
    name = f"{arms:,} headlines against {'the present one' if control else '5%'}"
    metadata = {"measured": "click rate", "by": "the front page team"}
    listed = [{"id": id, "label": label(i)} for i, id in enumerate(means)]
    server.call("POST", "/api/v1/campaigns", {"name": name, "arms": listed, "metadata": metadata, **question})
    left = SAMPLES[arms]
    while left > 0:
        block = server.call("POST", path_of(name, "/ask-block"), {"n": max(left // 20, 100)}).json
        left -= sum(block["pulls"].values()) or left
        clicks = {arm: [pulls, int(random.binomial(pulls, means[arm]))] for arm, pulls in block["pulls"].items()}
        if clicks:
            server.call("POST", path_of(name, "/tell-block"), {"ticket": block["ticket"], "rewards": clicks})
    server.call("POST", path_of(name, "/ask"), {"n": 40})
    for _ in range(0 if control else 60):  # every picture of a page shows the same forecast
        if server.call("GET", path_of(name)).json["finish"]:
            break
        time.sleep(0.5)
    return name


def others(server: Server) -> str:
    """A campaign without samples, one with overdue tickets, ended ones, measured compounds; the id of a good one."""
    random = np.random.default_rng(SEED)
    for i in range(8):
        name = f"Subject lines, week {i + 30}"
        server.call("POST", "/api/v1/campaigns", {"name": name, "arms": ["a", "b", "c"], "threshold": 0.2})
        server.call("POST", path_of(name, "/end"), {})
    late = {"name": "Prompts for support", "arms": ["short", "long"], "threshold": 0.8, "after": "0.001s"}
    server.call("POST", "/api/v1/campaigns", late)
    server.call("POST", path_of(late["name"], "/ask"), {"n": 4})
    new = {"name": "Checkout buttons", "arms": ["green", "blue", "large"], "threshold": 0.03}
    server.call("POST", "/api/v1/campaigns", new | {"metadata": {"measured": "orders per visit", "by": "Ana"}})
    compounds = {f"compound {i:02}": mean for i, mean in enumerate(random.normal(10.0, 1.5, 48))}
    screen = {"name": "Screening", "arms": list(compounds), "threshold": 10.0, "rewards": "gaussian:2"}
    server.call("POST", "/api/v1/campaigns", screen | {"metadata": {"measured": "yield in mg"}})
    for _ in range(10):
        tickets = server.call("POST", path_of("Screening", "/ask"), {"n": 300}).json["tickets"]
        rewards = [
            {"ticket": each["ticket"], "reward": float(random.normal(compounds[each["arm"]], 2.0))} for each in tickets
        ]
        server.call("POST", path_of("Screening", "/tell-many"), {"rewards": rewards})
    rows: list[dict[str, Any]] = server.call("GET", path_of("Screening", "/verdicts")).json["arms"]
    return str(max((row for row in rows if row["verdict"] == "good"), key=lambda row: row["pulls"])["arm"])


def fill_form(page: Page) -> None:
    page.fill("#arms", "\n".join(label(i) for i in range(200)))
    page.fill("#name", "Spring headlines")
    page.fill("#measured", "click rate")
    page.fill("#bar", "2%")
    page.wait_for_selector(".plan .sentence")
    page.evaluate("scrollTo(0, 0)")


def kept_whole(address: str) -> bool:
    """Whether a phone's picture shows the whole page: not the pages that are long lists."""
    return "#/" in address


def picture(browser: Browser, address: str, path: Path, width: int, scheme: Any) -> None:
    """One page as people see it first; on a phone the whole page, since most of it is below the first screen."""
    size = {"width": width, "height": SIZES[width]}
    context = browser.new_context(viewport=size, color_scheme=scheme, locale="en-US")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("main h1")
    if address.endswith("#/new"):
        fill_form(page)
    page.wait_for_timeout(1_200)
    page.screenshot(path=path, full_page=width == min(SIZES) and kept_whole(address))
    context.close()


def small(image: Image.Image, path: Path) -> None:
    """Keep a picture with its most frequent colours, unchanged; each other one becomes the nearest of them."""
    pixels = np.asarray(image.convert("RGB"), dtype=np.int64)
    found, which, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    palette = found[np.argsort(-counts, kind="stable")[:COLOURS]]
    nearest = np.array([((palette - colour) ** 2).sum(axis=1).argmin() for colour in found], dtype=np.uint8)
    few = Image.fromarray(nearest[which.ravel()].reshape(pixels.shape[:2]), mode="P")
    few.putpalette(palette.astype(np.uint8).tobytes())
    few.save(path, optimize=True)


def scaled(image: Image.Image) -> tuple[int, int]:
    return round(SHEET_SCALE * image.width), round(SHEET_SCALE * image.height)


def sheet(folder: Path, name: str, out: Path) -> None:
    """All pictures of a page: those of a phone side by side, those of wider screens one below the other."""
    gap, left = 12, 0
    placed: list[tuple[Image.Image, int, int]] = []
    for width in SIZES:
        top = 0
        for scheme in SCHEMES:
            taken = Image.open(folder / f"{name}-{width}-{scheme}.png")
            made = taken.resize(scaled(taken), Image.Resampling.LANCZOS)
            placed.append((made, left, top))
            if width == min(SIZES):
                left += made.width + gap
            else:
                top += made.height + gap
        if width > min(SIZES):
            left += made.width + gap
    size = (left - gap, max(top + each.height for each, _, top in placed))
    found = Image.new("RGB", size, "#808080")
    for each, x, y in placed:
        found.paste(each, (x, y))
    found.save(out / f"sheet-{name}.webp", quality=SHEET_QUALITY, method=6)


def pages(server: Server, wanted: list[str]) -> dict[str, str]:
    """Names and addresses of the pages."""
    found = {"list": "/", "new": "/#/new", "api": "/docs/"}
    arm = others(server)
    found["arm"] = f"/#/campaign/Screening/arm/{quote(arm)}"
    found["feed"] = "/#/campaign/Checkout%20buttons"
    for arms in SAMPLES:
        for kind in ("bar", "control"):
            if not wanted or f"{kind}-{arms}" in wanted or "list" in wanted:
                found[f"{kind}-{arms}"] = f"/#/campaign/{quote(campaign(server, arms, kind == 'control'))}"
    return {name: server.address + path for name, path in found.items() if not wanted or name in wanted}


def main(out: Path, wanted: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags())
        raw = Path(folder)

        def take(name: str, address: str) -> None:
            for width in SIZES:
                for scheme in SCHEMES:
                    path = raw / f"{name}-{width}-{scheme}.png"
                    picture(browser, address, path, width, scheme)
                    if (name, width, scheme) in KEPT:
                        small(
                            Image.open(path).crop((0, 0, width, SIZES[width])), out / f"{KEPT[name, width, scheme]}.png"
                        )
            sheet(raw, name, out)

        with serving(f"sqlite:///{folder}/a.db") as server:
            for name, address in pages(server, wanted).items():
                take(name, address)
        if not wanted or "demo" in wanted:
            with serving(f"sqlite:///{folder}/unused.db", "--demo") as server:
                time.sleep(40.0)  # bad verdicts come within the first minute
                take("demo", f"{server.address}/#/campaign/demo")
        browser.close()


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images"
    out.mkdir(parents=True, exist_ok=True)
    main(out, sys.argv[2:])
