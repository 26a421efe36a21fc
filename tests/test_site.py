"""The site builds without a warning, and the page of commands is what the commands say."""

from __future__ import annotations

import pydoc
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOORS = ("sampling", "identification", "models", "testing")


def test_the_page_of_commands_is_what_they_say(tmp_path: Path) -> None:
    copy = tmp_path / "refresh_commands.py"
    shutil.copy(ROOT / "docs" / "refresh_commands.py", copy)
    subprocess.run([sys.executable, copy], check=True, capture_output=True)
    made, kept = (folder / "commands.md" for folder in (tmp_path, ROOT / "docs"))
    assert made.read_text() == kept.read_text(), "run: python docs/refresh_commands.py"


def test_everything_public_is_on_the_page_of_the_api() -> None:
    """Every public name of `goodarm` and of its modules for other packages, by name or by module."""
    overview = (ROOT / "docs" / "api.md").read_text()
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    assert all(f"(reference/{page.name})" in overview for page in pages), "docs/api.md links to every page"
    listed = [found for page in pages for found in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)]
    modules = [path for path in listed if is_module(path)]
    assert modules == ["goodarm.errors"], "where a function has its module's name, the page shows all of the module"
    shown = [value for path in listed for value in things_at(path)]
    for door in ("goodarm", "goodarm.planning", *(f"goodarm.{name}" for name in DOORS)):
        room = import_module(door)
        missing = [name for name in room.__all__ if not any(getattr(room, name) is value for value in shown)]
        assert not missing, f"{door}: {missing} have no page in docs/reference"


def test_each_page_of_the_reference_says_how_to_read_it_in_a_clone() -> None:
    """The pages hold a directive that only the built site renders."""
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        text = page.read_text()
        (path,) = re.findall(r'^In Python, `help\("([\w.]+)"\)` prints this page; in a clone, `make docs`', text, re.M)
        shown = [value for each in re.findall(r"^::: ([\w.]+)$", text, re.M) for value in things_at(each)]
        assert pydoc.locate(path) in shown, page.name


def test_no_page_installs_from_a_registry() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        assert not re.search(r"pip install[^`\n]*\bgoodarm\b", page.read_text()), page.name


def is_module(path: str) -> bool:
    return (ROOT / "src" / path.replace(".", "/")).with_suffix(".py").exists()


def things_at(path: str) -> list[object]:
    """What a line of the page shows; of a module also what it defines."""
    room, _, name = path.rpartition(".")
    thing = getattr(import_module(room), name)
    if isinstance(thing, ModuleType):
        return [thing, *vars(thing).values()]
    return [thing]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Building it fails at the first warning."""
    zensical = Path(sys.executable).with_name("zensical")
    if not zensical.exists():
        pytest.skip("zensical is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    built = subprocess.run([zensical, "build", "--strict"], cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def test_the_site_has_pages_and_no_scripts(site: Path) -> None:
    assert (site / "api.html").exists()
    assert not list(site.rglob("*.py"))


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|iframe|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]+)', page.read_text()
        )
        assert not loaded, f"{page.name} loads from elsewhere: {loaded}"


def test_every_internal_link_has_its_page_and_its_anchor(site: Path) -> None:
    pages = {page.resolve(): page.read_text() for page in site.rglob("*.html") if page.name != "404.html"}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    for page, text in pages.items():
        for link in re.findall(r'<a [^>]*href="([^"#?:]*(?:#[^"]*)?)"', text):
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or target not in anchors or anchor in anchors[target], f"{page.name}: {link}"


def test_lists_are_rendered_as_lists(site: Path) -> None:
    """A list needs an empty line before it, and a wrapped line may not begin like an item."""
    for page in site.rglob("*.html"):
        article = re.search(r"<article.*?</article>", page.read_text(), re.DOTALL)
        for paragraph in re.findall(r"<p>(.*?)</p>", article.group() if article else "", re.DOTALL):
            assert not re.search(r"\n\s*([-*]|\d+\.|\|) ", paragraph), f"{page.name}: {paragraph[:200]}"


def test_llms_txt_lists_every_page_of_the_site(site: Path) -> None:
    """Pages of the reference are listed on the page of the API."""
    links = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text())
    assert all((site / link).is_file() for link in links)
    pages = {str(page.relative_to(site)) for page in [*site.glob("*.html"), *site.glob("tutorials/*.html")]}
    assert set(links) == pages - {"index.html", "404.html"}
