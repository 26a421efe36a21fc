"""The pytest marker, run by a separate pytest."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

# a pytest inside of this one forgets modules that it has loaded itself, and numpy can be loaded only once
import goodarm.engine.totals
import goodarm.integrations.pytest_plugin  # noqa: F401  # the same reason

pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Any:
    """Run a test file with the plugin, whether or not it is installed as an entry point."""

    def run_file(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        plugin = ("-p", "no:goodarm", "-p", "goodarm.integrations.pytest_plugin", "-p", "no:cacheprovider")
        return pytester.runpytest_inprocess(*plugin, "-v", *options)

    return run_file


FLAKY = """
    import random
    import pytest

    world = random.Random(7)

    @pytest.mark.goodarm(threshold=0.8)
    @pytest.mark.parametrize("rate", [0.97, 0.5])
    def test_flaky(rate):
        assert world.random() < rate, "unlucky"

    def test_plain():
        pass
"""


def test_a_good_test_passes_and_a_bad_one_fails(run: Any) -> None:
    result = run(FLAKY)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*bad: pass rate below 80%;*samples, mean*interval*; certified",
            "The last failing call:",
            "AssertionError: unlucky*",
            "*= goodarm =*",
            "*test_flaky?0.97?*",
            "*good: pass rate above 80%;*certified",
            "The probability that any verdict on the 2 marked tests is wrong is at most 5%, if calls of *",
        ]
    )


@pytest.mark.slow
def test_tests_share_delta(run: Any) -> None:
    """A hundred marked tests need more evidence each than one does: 25 successes decide alone, more among a hundred."""
    source = """
        import pytest

        @pytest.mark.goodarm(threshold=0.8)
        @pytest.mark.parametrize("i", range({count}))
        def test_sure(i):
            pass
    """
    run(source.format(count=1)).stdout.fnmatch_lines(["*good: pass rate above 80%; 25 samples*"])
    run(source.format(count=100)).stdout.fnmatch_lines(["*good: pass rate above 80%; 4? samples*"])


def test_undecided_fails_and_says_what_to_do(run: Any) -> None:
    result = run(
        """
        import pytest

        @pytest.mark.goodarm(threshold=0.5, max_samples=10)
        def test_half(request, state=[0]):
            state[0] += 1
            return state[0] % 2
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*undecided*10 samples*", "*limit of 10 samples was reached. Raise max_samples*"])


def test_an_error_is_no_sample(run: Any) -> None:
    result = run(
        """
        import pytest

        @pytest.mark.goodarm(threshold=0.5)
        def test_broken():
            raise ConnectionError("no answer")

        @pytest.mark.goodarm(threshold=0.5)
        def test_skipped():
            pytest.skip("not here")

        @pytest.mark.goodarm(threshold=0.5)
        async def test_async():
            assert True

        @pytest.mark.goodarm(threshold=0.5)
        def test_scored():
            return 0.9
        """
    )
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*ConnectionError: no answer*"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("threshold=1.5", "*threshold must lie strictly between 0 and 1*"),
        ("", "*got no threshold*"),
        ("threshold=0.5, samples=3", "*got samples*"),
        ("threshold=0.5, max_samples=0", "*max_samples must be a whole number of at least 1; got 0.*"),
    ],
)
def test_a_wrong_mark_is_refused(run: Any, mark: str, message: str) -> None:
    result = run(f"import pytest\n\n@pytest.mark.goodarm({mark})\ndef test_it():\n    return 'x'\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


def test_a_wrong_delta_is_refused(run: Any, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ngoodarm_delta = five\n")
    result = run("import pytest\n\n@pytest.mark.goodarm(threshold=0.5)\ndef test_it(): pass\n")
    result.stdout.fnmatch_lines(["*goodarm_delta must be a number; got 'five'.*"])


@pytest.mark.slow
def test_junit_has_the_verdict(run: Any, pytester: pytest.Pytester) -> None:
    run(FLAKY, "--junitxml=found.xml")
    tree = ElementTree.parse(pytester.path / "found.xml")
    verdicts = [each.get("value") for each in tree.iter("property") if each.get("name") == "goodarm_verdict"]
    assert verdicts == ["good", "bad"]


@pytest.mark.slow
def test_with_xdist_the_same_tests_share_delta(pytester: pytest.Pytester) -> None:
    """Two workers: each one knows of all four tests, and the summary shows all of them."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.goodarm(threshold=0.8)
        @pytest.mark.parametrize("i", range(4))
        def test_sure(i):
            pass
        """
    )
    result = pytester.runpytest_subprocess(
        "-p", "no:goodarm", "-p", "goodarm.integrations.pytest_plugin", "-n", "2", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*The probability that any verdict on the 4 marked tests is wrong*"])
    assert result.stdout.str().count("good: pass rate above 80%; 32 samples") == 4
