"""The build's one check; everything else stands in pyproject.toml."""

from pathlib import Path

from setuptools import setup

LINKED = ("ir", "codegen", "runtime")


def refuse_broken_links() -> None:
    """Stop when a linked package came out as a plain file, so that half a package is never built."""
    package = Path(__file__).resolve().parent / "pypto"
    broken = [f"pypto/{name}" for name in LINKED if not (package / name / "__init__.py").is_file()]
    if broken:
        raise SystemExit(
            f"error: {', '.join(broken)} should be symbolic links, but this checkout has plain files there.\n"
            "help: clone again with `git clone -c core.symlinks=true` (on Windows: turn on Developer Mode first)."
        )


refuse_broken_links()
setup()
