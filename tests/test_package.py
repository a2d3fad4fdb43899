"""The package as a whole: who imports whom, what the command line says of itself, what a wheel holds."""

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import srlite
from srlite.errors import SrliteError

PACKAGE = Path(srlite.__file__).parent
OWNERS = {
    "huggingface_hub": {"models"},
    "transformers": {"descriptor", "demo"},
    "peft": {"descriptor"},
    "bitsandbytes": {"descriptor"},
    "unsloth": {"descriptor"},
    "llama_cpp": {"judge", "readback"},  # an exported file is not a judge: it is read again in a process of its own
    "decord": {"video"},
    "av": {"video", "demo"},
    "typer": {"cli"},
    "rich": {"console"},
    "scipy": {"evaluation"},
    "sklearn": {"evaluation"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
}
# A room imports rooms of lower levels only (and itself); `demo.make` may use everything.
LEVELS = {
    "errors": 0,
    "commands": 0,
    "types": 0,
    "escape": 0,
    "notices": 0,
    "files": 1,
    "clipcache": 1,
    "config": 1,
    "records": 2,
    "models": 2,
    "device": 3,
    "reviews": 3,
    "video": 4,
    "descriptor": 4,
    "judge": 4,
    "readback": 4,
    "sizing": 5,
    "workbench": 6,
    "describing": 7,
    "training": 8,
    "evaluation": 9,
    "interrupt": 9,
    "assessing": 9,
    "checking": 9,
    "starter": 9,
    "forms": 9,
    "exporting": 10,
    "report": 10,
    "judging": 10,
    "reviewing": 10,
    "purging": 10,
    "diversifying": 10,
    "console": 10,
    "demo": 11,
    "doctor": 12,
    "cli": 13,
}
LEAVES = {"demo.truth", "demo.grammar", "demo.world"}
"""Of the demonstration: what evaluation may read, pure text and numbers."""


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


SOURCES = sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py" or p.parent != PACKAGE)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_libraries_have_one_owner_and_arrows_go_down(path):
    here = room(path)
    for name in imports(path):
        library, _, rest = name.partition(".")
        if library in OWNERS:
            assert here in OWNERS[library], f"{library} belongs to {OWNERS[library]}"
        if library == "srlite" and rest and rest not in LEAVES:
            there = rest.split(".")[0]
            assert there == here or LEVELS[there] < LEVELS[here], f"{here} imports {there}"


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from typer.testing import CliRunner; from srlite.cli import app; "
        "r = CliRunner().invoke(app, ['train', '--help']); assert r.exit_code == 0, r.output; "
        "print([m for m in ('torch', 'transformers', 'peft', 'llama_cpp', 'av', 'decord', 'scipy') "
        "if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


WITHOUT_A_CARD = """
import os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = ""
from typer.testing import CliRunner
from srlite.cli import app
found = CliRunner().invoke(app, sys.argv[1:])
print(found.output)
heavy = ("torch", "transformers", "peft", "bitsandbytes", "llama_cpp", "av", "decord")
print(found.exit_code, *(m for m in heavy if m in sys.modules))
"""


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["train", "ITEMS", "VIDEOS", "--run", "RUN"], "4 torch"),
        (["check", "ITEMS", "VIDEOS", "--rows-only"], "0"),
        (["check", "ITEMS", "VIDEOS"], "0"),
        (["models", "list"], "0"),
        (["evaluate", "--help"], "0"),
        (["purge", "--child", "C1", "--dry-run"], "3"),
        (["review", "verify", "--run", "RUN"], "3"),
    ],
    ids=lambda words: " ".join(words[:2]) if isinstance(words, list) else "",
)
def test_without_a_card_nothing_is_loaded_for_nothing(examples, tmp_path, words, ending):
    """train asks torch for a card and says what there is and what to do, without a model library; check needs not even that."""
    places = {"ITEMS": examples / "items.csv", "VIDEOS": examples / "videos", "RUN": tmp_path / "run"}
    words = [str(places.get(word, word)) for word in words]
    done = subprocess.run([sys.executable, "-c", WITHOUT_A_CARD, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *shown, last = done.stdout.splitlines()
    assert last == ending, done.stdout
    if words[0] == "train":
        said = " ".join(" ".join(shown).split())
        assert "no CUDA card" in said and "--preset tiny" in said and "Traceback" not in said
        assert not (tmp_path / "run").exists()


def test_the_error_tree_has_the_exit_codes_of_the_contract():
    codes = {kind.__name__: kind.exit_code for kind in SrliteError.__subclasses__()}
    assert codes == {
        "UsageError": 2,
        "InputError": 3,
        "ModelError": 4,
        "DeviceError": 5,
        "Findings": 6,
        "Interrupted": 130,
    }


def test_an_error_says_what_where_and_what_to_do():
    assert str(SrliteError("broken", where="a.csv:3", remedy="Mend it.")) == "a.csv:3: broken\nMend it."


def test_a_wheel_holds_the_registry_the_catalogue_and_the_models(tmp_path):
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(tmp_path),
            str(PACKAGE.parent),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "srlite/models/models.toml",
        "srlite/demo/items.toml",
        "srlite/report/style.css",
        "srlite/report/review.js",
        "srlite/report/templates/report.html.j2",
        "srlite/demo/models/judge.gguf",
        "srlite/demo/models/descriptor/model.safetensors",
    } <= names
    assert not [n for n in names if n.startswith(("tests/", "examples/"))]
    found = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"import sys; sys.path.insert(0, {str(wheel)!r}); import zipfile; "
            f"zipfile.ZipFile({str(wheel)!r}).extractall({str(tmp_path / 'site')!r}); sys.path[0] = "
            f"{str(tmp_path / 'site')!r}; from srlite.models.registry import registry; "
            "import srlite; print(srlite.__file__); print(*registry().presets)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    where, presets = found.stdout.splitlines()
    assert where.startswith(str(tmp_path))
    assert presets.split() == ["8gb", "12gb", "16gb", "24gb", "cpu", "tiny"]


def test_the_bundled_models_are_small():
    models = PACKAGE / "demo" / "models"
    assert (models / "judge.gguf").stat().st_size < 10e6
    assert sum(p.stat().st_size for p in (models / "descriptor").iterdir()) < 10e6


def test_the_examples_catalogue_is_the_bundled_one(examples):
    assert (examples / "items.toml").read_bytes() == (PACKAGE / "demo" / "items.toml").read_bytes()


def test_every_file_of_the_examples_that_the_readme_names_is_there():
    root = PACKAGE.parent
    named = set(re.findall(r"examples/[\w./]+\w", (root / "README.md").read_text(encoding="utf-8")))
    assert any(name.endswith(".mp4") for name in named)
    assert not [name for name in named if not (root / name).exists()]
