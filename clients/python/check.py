#!/usr/bin/env python3
"""Builds the Python packages and tests them.

    check.py all     `make python`: linters and types, wheels and source distribution, every Python
                     that is found, plyvel's own tests, full sizes under the newest Python, programs
                     that ask for plyvel
    check.py test FOLDER
                     small sizes, with the extension module in FOLDER and this Python. `cargo test
                     --package cairndb-python`, a part of `make test`, builds the module and runs
                     this

Needs nothing but Python; what else is needed is installed from PyPI into environments below
`target/python`, unless INSTALL=0. What cannot run here is noted in the file that CAIRN_SKIPS names;
`test` ends with success then.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Callable, Optional, Union

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
OUT = TARGET / "python"
DIST = OUT / "dist"
INSTALL = os.environ.get("INSTALL", "1") != "0"

OLDEST = (3, 9)
#: The C library with which a wheel of this tag runs is older than the machine's.
COMPATIBILITY = "manylinux_2_17"
PLYVEL = "plyvel==1.5.1"
#: Packages that ask for plyvel, and of the second one the source, which has its tests.
LEVELORM = "levelorm==0.2"
E_X = "e-x==2.0.0"

#: Packages from PyPI for each purpose.
BUILD = ["maturin>=1.9,<2"]
WHEELS = [*BUILD, "flit_core", "ziglang", "auditwheel"]
LINT = ["ruff", "mypy", "pyright"]
TEST = ["pytest"]

#: Sizes of the tests in `make python`, under the newest Python only: a cycle takes two
#: milliseconds, most of them waits for threads, so many times as long where the machine is busy.
#: The sizes in the tests are for `make test` and the other Pythons.
FULL = {
    "CAIRN_PYTHON_CYCLES": "100000",
    "CAIRN_PYTHON_SECONDS": "60",
    "CAIRN_PYTHON_OPS": "200000",
}

Argument = Union[str, Path]


class Missing(Exception):
    """What a step needs is not here."""


def say(text: str) -> None:
    print(text, flush=True)


def skip(reason: str) -> None:
    """Note a check that cannot run, as the other checks of the repository do."""
    print(f"skipped: {reason}", file=sys.stderr, flush=True)
    skips = os.environ.get("CAIRN_SKIPS")
    if skips:
        with open(skips, "a", encoding="utf-8") as file:
            file.write(f"{reason}\n")


def run(*command: Argument, **settings: object) -> None:
    """Print a command and run it; its failure ends the program."""
    words = [str(word) for word in command]
    say("+ " + " ".join(words))
    environment = {**os.environ, **settings.pop("env", {})}  # type: ignore[dict-item]
    done = subprocess.run(words, env=environment, check=False, **settings)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(words)}")


def output(*command: Argument) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class Environment:
    """A virtual environment below `target/python`."""

    def __init__(self, name: str, python: Argument, packages: list[str], fresh: bool = False):
        self.folder = OUT / "environments" / name
        self.python = self.folder / "bin" / "python"
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        if not self.python.exists():
            made = subprocess.run(
                [str(python), "-m", "venv", str(self.folder)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if made.returncode != 0:
                shutil.rmtree(self.folder, ignore_errors=True)
                raise Missing(f"{python} -m venv fails: {made.stdout.strip().splitlines()[-1]}")
        self.install(packages)

    def install(self, packages: list[str]) -> None:
        """Install packages that are missing."""
        names = [re.split(r"[<>=]", package)[0] for package in packages]
        if has_packages(self.python, names):
            return
        if not INSTALL:
            raise Missing(f"pip install {' '.join(packages)}")
        pip = [str(self.python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        if subprocess.run([*pip, *packages], check=False).returncode != 0:
            raise Missing(f"pip install {' '.join(packages)} fails; it needs PyPI once")

    def install_wheels(self, *wheels: Path) -> None:
        run(self.python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", *wheels)

    def program(self, name: str) -> Path:
        return self.folder / "bin" / name


def has_packages(python: Argument, names: list[str]) -> bool:
    """Return whether a Python has these packages, which takes `pip` a second each."""
    code = "import sys, importlib.metadata as m; [m.version(name) for name in sys.argv[1:]]"
    command = [str(python), "-c", code, *names]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def version(python: Argument) -> Optional[tuple[int, int]]:
    """Return the version of a CPython, None if it does not run or is another Python."""
    code = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
    try:
        done = subprocess.run(
            [str(python), "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
    except OSError:
        return None
    words = done.stdout.split()
    if done.returncode != 0 or len(words) != 3 or words[0] != "cpython":
        return None
    return int(words[1]), int(words[2])


def pythons() -> dict[tuple[int, int], Path]:
    """Return one Python of each version that is found: in PATH, of pyenv, of uv."""
    home = Path.home()
    patterns = [
        *(f"{folder}/python3.[0-9]*" for folder in os.environ["PATH"].split(os.pathsep)),
        f"{os.environ.get('PYENV_ROOT', home / '.pyenv')}/versions/*/bin/python3",
        f"{home}/.local/share/uv/python/*/bin/python3",
    ]
    found: dict[tuple[int, int], Path] = {}
    for pattern in patterns:
        for name in sorted(glob.glob(pattern)):
            if not re.fullmatch(r"python3(\.[0-9]+)?", os.path.basename(name)):
                continue
            known = version(name)
            if known is not None and known >= OLDEST:
                found.setdefault(known, Path(name))
    return dict(sorted(found.items()))


def newest(pattern: str) -> Path:
    found = sorted(DIST.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"no {pattern} in {DIST}")
    return found[-1]


def pytest(python: Argument, *arguments: Argument, **settings: object) -> None:
    """Run pytest outside of the source folder, so that it imports what is installed."""
    run(
        *(python, "-B", "-m", "pytest", "-q", "--rootdir", HERE / "tests"),
        *("-p", "no:cacheprovider", "-c", HERE / "pyproject.toml", *arguments),
        cwd=OUT,
        **settings,
    )


def test(folder: Path) -> None:
    """The part for `make test`: no wheel is built, which would compile the store once more."""
    if sys.version_info < OLDEST:
        raise Missing(f"Python {OLDEST[0]}.{OLDEST[1]} or newer")
    library = folder / "lib_cairndb.so"
    if not library.exists():
        sys.exit(f"{library} is missing: cargo test --package cairndb-python builds it")
    packages = OUT / "unpacked"
    shutil.rmtree(packages, ignore_errors=True)
    shutil.copytree(HERE / "python" / "cairndb", packages / "cairndb")
    shutil.copytree(HERE / "plyvel" / "src" / "plyvel", packages / "plyvel")
    shutil.copy(library, packages / "cairndb" / "_cairndb.abi3.so")
    python: Argument = sys.executable
    if not has_packages(python, TEST):
        name = f"test-{sys.version_info[0]}.{sys.version_info[1]}"
        python = Environment(name, python, TEST).python
    # In memory, because most of the time would go to opens and closes that wait for a disk. `make
    # python` runs the tests on one.
    memory = Path("/dev/shm")
    temporary = tempfile.mkdtemp(prefix="cairndb-", dir=memory if memory.is_dir() else None)
    try:
        where = ["--basetemp", temporary]
        pytest(python, *where, HERE / "tests", env={"PYTHONPATH": str(packages)})
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def lint() -> None:
    environment = Environment("lint", sys.executable, LINT)
    run(environment.program("ruff"), "check", HERE)
    run(environment.program("ruff"), "format", "--check", HERE)
    sources = [HERE / "python" / "cairndb", HERE / "plyvel" / "src" / "plyvel"]
    sources.append(HERE / "tests" / "typed_usage.py")
    run(environment.program("mypy"), "--strict", *sources, cwd=HERE, env={"MYPYPATH": "python"})
    run(environment.program("pyright"), "-p", HERE, cwd=HERE)


def build() -> None:
    """Build the wheels and the source distribution."""
    shutil.rmtree(DIST, ignore_errors=True)
    environment = Environment("build", sys.executable, WHEELS)
    # `zig` from PyPI links against the old glibc.
    path = f"{environment.program('')}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "CARGO_TARGET_DIR": str(TARGET)}
    program, manifest = environment.program("maturin"), HERE / "Cargo.toml"
    run(program, "sdist", "-m", manifest, "--out", DIST, env=settings, stderr=subprocess.DEVNULL)
    maturin = [program, "build", "-m", manifest, "--out", DIST]
    portable = ["--release", "--locked", "--zig", "--compatibility", COMPATIBILITY]
    run(*maturin, *portable, env=settings)
    wheel = newest("cairndb-*x86_64.whl")
    shown = output(environment.program("auditwheel"), "show", wheel)
    say(shown)
    if f'"{COMPATIBILITY}_' not in re.sub(r"\s+", " ", shown):
        sys.exit(f"auditwheel does not find {wheel.name} consistent with {COMPATIBILITY}")
    # The package that has plyvel's name, and no code.
    wheel = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", DIST]
    run(environment.python, *wheel, HERE / "plyvel")
    cross(maturin, portable, settings)


def cross(maturin: list[Argument], portable: list[str], settings: dict[str, str]) -> None:
    """Build the wheel for aarch64 where the toolchain can. Nothing here can run it."""
    other = "aarch64-unknown-linux-gnu"
    if sysconfig.get_platform().endswith("aarch64"):
        return
    sysroot = output("rustc", "--print", "sysroot")
    if Path(sysroot, "lib", "rustlib", other).exists():
        run(*maturin, *portable, "--target", other, env=settings)
    else:
        source = subprocess.run(
            ["rustc", "+nightly", "--print", "sysroot"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        ).stdout.strip()
        if not source or not Path(source, "lib/rustlib/src/rust/library").exists():
            say(f"no wheel for aarch64: rustup target add {other}")
            return
        # The nightly compiler builds the standard library from its source.
        nightly = {**settings, "RUSTUP_TOOLCHAIN": "nightly"}
        nightly["CARGO_UNSTABLE_BUILD_STD"] = "std,panic_unwind"
        command = [str(word) for word in (*maturin, *portable, "--target", other)]
        say("+ " + " ".join(command))
        if subprocess.run(command, env={**os.environ, **nightly}, check=False).returncode != 0:
            say(f"no wheel for aarch64: the nightly compiler fails; rustup target add {other}")
            return
    say(f"{newest('cairndb-*aarch64.whl').name}: built, not run")


def fetch_plyvel(environment: Environment) -> tuple[Path, Path]:
    """Return plyvel's test file, from its source distribution, and plyvel itself, over LevelDB."""
    folder = OUT / "plyvel"
    real = folder / "real"
    if not (real / "plyvel").exists():
        pip = [environment.python, "-m", "pip"]
        run(*pip, "install", "-q", "--no-deps", "--target", real, PLYVEL)
    sources = sorted(folder.glob("plyvel-*.tar.gz"))
    if not sources:
        environment.install(["setuptools", "wheel"])
        run(
            *(environment.python, "-m", "pip", "download", "-q", "--no-deps"),
            *("--no-build-isolation", "--no-binary", ":all:", "-d", folder, PLYVEL),
        )
        sources = sorted(folder.glob("plyvel-*.tar.gz"))
    test_file = folder / "own" / "test_plyvel.py"
    test_file.parent.mkdir(exist_ok=True)
    with tarfile.open(sources[-1]) as archive:
        member = next(name for name in archive.getnames() if name.endswith("/test_plyvel.py"))
        content = archive.extractfile(member)
        assert content is not None
        test_file.write_bytes(content.read())
    return test_file, real


def plyvels_own(environment: Environment, test_file: Path) -> None:
    """Run plyvel's test file as a user that is not root: root may write anywhere."""
    command = ["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "/tmp"]
    if os.geteuid() != 0:
        run(environment.python, *command, test_file, cwd="/tmp")
        return
    # The user may not be able to reach the environment, so everything is copied.
    copied = Path("/tmp") / f"cairndb-plyvel-{os.getpid()}"
    try:
        packages = output(
            environment.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
        )
        shutil.copytree(packages, copied / "packages")
        shutil.copy(test_file, copied / "test_plyvel.py")
        run("chmod", "-R", "a+rX", copied)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        base = output(environment.python, "-c", "import sys; print(sys.base_prefix)")
        # The first may be in root's home; the extension runs under any other CPython as well.
        pythons = [Path(base, "bin", "python3"), Path("/usr/bin/python3")]
        usable = (
            python
            for python in pythons
            if python.exists()
            and subprocess.run(
                [*as_nobody, str(python), "-c", "import sys; assert sys.version_info >= (3, 9)"],
                stderr=subprocess.DEVNULL,
                check=False,
            ).returncode
            == 0
        )
        python = next(usable, None)
        if python is None:
            skip("plyvel's own tests as another user: install python3 where others can read it")
            return
        run(
            *(*as_nobody, python, *command, copied / "test_plyvel.py"),
            cwd="/tmp",
            env={"PYTHONPATH": str(copied / "packages"), "HOME": "/tmp"},
        )
    finally:
        shutil.rmtree(copied, ignore_errors=True)


def every_python() -> None:
    """Install the one wheel under each Python, and run the tests."""
    wheel, shim = newest("cairndb-*x86_64.whl"), newest("plyvel-*.whl")
    found = pythons()
    names = ", ".join(".".join(map(str, known)) for known in found)
    say(f"Python {names}")
    here = (sys.version_info[0], sys.version_info[1])
    main, newest_python = here if here in found else max(found), max(found)
    for known, python in found.items():
        name = ".".join(map(str, known))
        say(f"\n=== Python {name}: {python}")
        environment = Environment(f"run-{name}", python, TEST, fresh=True)
        environment.install_wheels(wheel, shim)
        settings = {}
        if known == newest_python:
            settings.update(FULL)
        if known == main:
            environment.install(["numpy"])
            test_file, real = fetch_plyvel(environment)
            settings["CAIRN_REAL_PLYVEL"] = str(real)
        pytest(environment.python, "--durations=5", HERE / "tests", env=settings)
        if known == main:
            plyvels_own(environment, test_file)


#: A program over levelorm, which defines its classes over an open `plyvel.DB`.
STONES = """
import sys, plyvel
from levelorm import db_base_model
from levelorm.fields import Integer, String
db = plyvel.DB(sys.argv[1], create_if_missing=True)
class Stone(db_base_model(db)):
    prefix = "stone"
    name = String(key=True)
    height = Integer()
for height, name in enumerate(["basalt", "slate", "shale"]):
    Stone(name, height).save()
assert Stone.get("slate").height == 1
assert [stone.name for stone in Stone.iter()] == ["basalt", "shale", "slate"]
"""


def dependents() -> None:
    """Install what asks for plyvel: it keeps ours, which leaves the folder as it came."""
    environment = Environment("dependents", sys.executable, [], fresh=True)
    python = environment.python
    pip = (python, "-m", "pip")
    wheel, shim = newest("cairndb-*x86_64.whl"), newest("plyvel-*.whl")
    packages = Path(output(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))

    def installed(name: str) -> list[Path]:
        return [*packages.glob(f"{name}*")]

    # Ours takes the place of plyvel, and nothing takes the place of ours.
    run(*pip, "install", "-q", PLYVEL)
    run(*pip, "install", "-q", wheel, shim)
    run(*pip, "install", "-q", LEVELORM)
    stones = OUT / "stones"
    shutil.rmtree(stones, ignore_errors=True)
    run(python, "-c", STONES, stones)
    if sys.version_info >= (3, 10):
        tests_of_e_x(environment)
    run(*pip, "check")
    version = "from importlib import metadata; print(metadata.version('plyvel'))"
    assert "+cairndb" in output(python, "-c", version)
    # Either goes without a rest of itself, and without a part of the other.
    run(*pip, "uninstall", "-q", "-y", "plyvel")
    assert not installed("plyvel") and len(installed("cairndb")) == 2, [*packages.iterdir()]
    run(python, "-c", "import cairndb")
    run(*pip, "install", "-q", "--no-deps", shim)
    run(*pip, "uninstall", "-q", "-y", "cairndb")
    assert not installed("cairndb") and len(installed("plyvel")) == 2, [*packages.iterdir()]


def tests_of_e_x(environment: Environment) -> None:
    """Run the tests of the databases of ElectrumX's fork, over plyvel."""
    pip = (environment.python, "-m", "pip")
    folder = OUT / "e_x"
    run(*pip, "install", "-q", E_X.replace("==", "[leveldb]=="), "pytest", "pytest-asyncio")
    if not folder.exists():
        run(*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", folder, E_X)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        for member in archive.getmembers():
            if "/tests/server/" in member.name:
                archive.extract(member, folder)
    # In place of its other database, which the tests import although they are not run over it.
    (folder / "rocksdb.py").touch()
    tests = next(folder.glob("e_x-*/tests"))
    command = [environment.python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-k", "not RocksDB", tests]
    run(*command, cwd=tests.parent, env={"PYTHONPATH": str(folder)})


def source_distribution() -> None:
    """Install the source distribution as one would without a wheel."""
    environment = Environment("source", sys.executable, [*BUILD, *TEST], fresh=True)
    run(
        *(environment.python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"),
        newest("cairndb-*.tar.gz"),
        env={
            "PATH": f"{environment.program('')}{os.pathsep}{os.environ['PATH']}",
            "CARGO_TARGET_DIR": str(TARGET),
        },
    )
    pytest(environment.python, HERE / "tests" / "test_mapping.py")


def main() -> None:
    started = time.monotonic()
    step, *arguments = sys.argv[1:] or ["--help"]
    steps: dict[str, list[Callable[..., None]]] = {
        "test": [test],
        "all": [lint, build, every_python, source_distribution, dependents],
        "lint": [lint],
        "build": [build],
        "pythons": [every_python],
        "source": [source_distribution],
        "dependents": [dependents],
    }
    if step not in steps or len(arguments) != (1 if step == "test" else 0):
        sys.exit(f"{__doc__}\nSteps of `all`, to run alone: {', '.join([*steps][2:])}.")
    try:
        for part in steps[step]:
            begun = time.monotonic()
            part(*map(Path, arguments))
            say(f"check.py, {part.__name__}: {time.monotonic() - begun:.0f} s")
    except Missing as missing:
        skip(f"Python: {missing}")
        if step != "test":
            sys.exit(1)
    say(f"check.py {step}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
