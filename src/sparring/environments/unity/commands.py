"""What to start for what a user names as a game: an executable, a build's folder, a bundle, a script or a command."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sparring.errors import GameError

__all__ = ["find_command", "find_executable", "game_arguments", "in_virtual_display", "words_of"]

_ENDINGS = (".app", ".exe", ".x86_64", ".x86")
_NATIVE = {"win32": (".exe",), "darwin": (".app",)}
_LINUX = (".x86_64", ".x86")
_NOT_GAMES = ("UnityCrashHandler",)
_MOST_NAMED = 8


def find_command(text: str) -> list[str]:
    """The first words of a game's command: an executable, or one with arguments (`sparring serve soccer_twos`).

    What exists as a whole is taken as a whole, so a path may hold spaces. A Python script that is not itself
    executable is run with the Python of the trainer.

    Raises:
        GameError: as `find_executable`.
    """
    if not text.strip():
        raise GameError("there is no such game", found=repr(text), expected="an executable, a folder or a command")
    words = [text] if Path(text).expanduser().exists() else words_of(text)
    if len(words) < 2:
        words = [text]
    found = find_executable(words[0])
    return [*([sys.executable] if _is_script(found) else []), str(found), *words[1:]]


def words_of(text: str) -> list[str]:
    """The words of a command as a shell would split it; a backslash of Windows stays one.

    Raises:
        GameError: a quotation mark is never closed.
    """
    try:
        return shlex.split(text.replace("\\", "\\\\") if os.name == "nt" else text)
    except ValueError as error:
        raise GameError("the command cannot be read", found=text, cure=str(error)) from None


def find_executable(path: str, *, platform: str = sys.platform) -> Path:
    """The file to start for what a user names: an executable, a build without its ending, a folder or a bundle.

    Args:
        path: relative to the working folder, or absolute; a bare name is looked for on the PATH too.
        platform: of the machine, as in `sys.platform`.

    Raises:
        GameError: there is no such file, it may not be executed, or a folder holds several; says what was looked for.
    """
    given = Path(path).expanduser()
    bare = given.with_suffix("") if given.suffix in _ENDINGS else given
    native = _NATIVE.get(platform, _LINUX)
    endings = (*native, *(ending for ending in _ENDINGS if ending not in native))
    for candidate in (given, *(bare.with_name(bare.name + ending) for ending in endings), bare):
        inside = _inside(candidate, platform=platform) if candidate.is_dir() else candidate
        if inside is not None and inside.is_file():
            if os.access(inside, os.X_OK) or _is_script(inside):
                return inside.absolute()  # a link keeps its name: the Python of a virtual environment is one
            if inside.suffix in _ENDINGS and inside.suffix not in native:
                raise GameError("the game is built for another system", where=str(inside), cure="build it for this one")
            raise GameError("the game may not be executed", where=str(inside), cure=f"chmod +x '{inside}'")
    on_path = shutil.which(path) if given.parent == Path() else None
    if on_path is not None:
        return Path(on_path)
    raise GameError(
        "there is no such game",
        where=str(given),
        expected="an executable, a folder with one, a macOS bundle or a command",
        cure=_what_is_there(given),
    )


def _is_script(file: Path) -> bool:
    return file.suffix == ".py" and not (os.name == "posix" and os.access(file, os.X_OK))


def _inside(folder: Path, *, platform: str) -> Path | None:
    """The executable in a bundle or in a folder of a build; None if there is none.

    Raises:
        GameError: there are several, and none is named like the folder.
    """
    bundle = folder / "Contents" / "MacOS"
    if bundle.is_dir():
        return _only(bundle, [file for file in _sorted(bundle) if file.is_file()])
    entries = [entry for entry in _sorted(folder) if not entry.name.startswith(_NOT_GAMES)]
    native = _NATIVE.get(platform, _LINUX)
    for endings in ((ending,) for ending in (*native, *_ENDINGS)):
        builds = [entry for entry in entries if entry.suffix in endings]
        if builds:
            build = _only(folder, builds)
            return _inside(build, platform=platform) if build is not None and build.is_dir() else build
    if platform in _NATIVE:
        return None
    # Some Linux builds have no ending; shared libraries are executable too.
    plain = [entry for entry in entries if entry.is_file() and not entry.suffix and os.access(entry, os.X_OK)]
    return _only(folder, plain)


def _sorted(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.iterdir())


def _only(folder: Path, files: Sequence[Path]) -> Path | None:
    named = [file for file in files if file.stem == folder.stem]
    if len(files) > 1 and not named:
        raise GameError(
            "the folder holds several games",
            where=str(folder),
            found=", ".join(file.name for file in files[:_MOST_NAMED]),
            cure=f"name one of them, such as '{files[0]}'",
        )
    return next(iter([*named, *files]), None)


def _what_is_there(path: Path) -> str:
    folder = path if path.is_dir() else path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    names = sorted(entry.name for entry in folder.iterdir())[:_MOST_NAMED]
    return f"{folder} holds: {', '.join(names) or 'nothing'}"


def game_arguments(
    executable: Sequence[str],
    *,
    port: int,
    worker: int,
    no_graphics: bool = False,
    log_folder: Path | None = None,
    additional: Sequence[str] = (),
) -> list[str]:
    """The command of a game, argument by argument (wire spec 1.2); no shell ever reads it.

    Args:
        executable: what to start, with the words that have to follow at once.
        port, worker, no_graphics, log_folder: what the game is told.
        additional: the user's arguments, which come last.
    """
    command = list(executable)
    if no_graphics:
        command += ["-nographics", "-batchmode"]
    command += ["--mlagents-port", str(port)]
    if log_folder is not None and not any(argument.lower() == "-logfile" for argument in additional):
        command += ["-logFile", str((log_folder / f"Player-{worker}.log").resolve())]
    return [*command, *additional]


def in_virtual_display(command: Sequence[str]) -> list[str]:
    """The command with a display of its own that nobody sees, for containers (`docker_training` of 0.15).

    Raises:
        GameError: `xvfb-run` is not installed.
    """
    display = shutil.which("xvfb-run")
    if display is None:
        raise GameError(
            "a game in a container needs a display",
            where="docker_training",
            found="no xvfb-run",
            cure="install xvfb (apt-get install xvfb), or start the game without graphics instead",
        )
    return [display, "--auto-servernum", "--server-args=-screen 0 640x480x24", *command]
