"""Running a game as a program: for the trainer that started it or waits for it, or else alone."""

from __future__ import annotations

import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sparring.academy.academy import Academy, AcademyClosedError, MakeGame
from sparring.academy.environment import AcademyEnvironment, LoopEnvironment, check_update, run_loop
from sparring.academy.serving import serve
from sparring.academy.turns import Turns

__all__ = ["play", "play_loop", "trainer_port"]

_EDITOR_PORT = 5004
"""Where trainers that start no game wait for one."""
_ANSWER_S = 1.0
_GOOD_BYE_S = 2.0


def play(
    make_game: MakeGame,
    *,
    seed: int = 0,
    num_areas: int | None = None,
    port: int | None = None,
    alone: bool = False,
    steps: int | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Plays a game until its end: with a trainer if one listens, or else alone, by models and heuristics.

    Args:
        make_game: makes the agents and gives the game's update.
        seed: for the game's chance when it plays alone; a trainer brings its own.
        num_areas: copies of the game; what the trainer asks for without it, 1 when alone.
        port: where a trainer listens; without it the number after `--mlagents-port` on the command line, and without
            that 5004, where trainers wait for a game that is started by hand.
        alone: no trainer is looked for.
        steps: environment steps when alone; without it the game ends when it sets `academy.is_running` to False or at
            Ctrl-C.
        arguments: the command line; the program's without it.

    Raises:
        GameError, WireError: see `serve`.
    """
    place = None if alone else _trainer(port, arguments)
    if place is None:
        with _alone(seed, num_areas) as academy:
            update = make_game(academy)
            check_update(update)
            while academy.is_running and (steps is None or academy.total_step_count < steps):
                academy.environment_step()
                update()
        return
    games: list[AcademyEnvironment] = []

    def environment(given: int, areas: int) -> AcademyEnvironment:
        games.append(AcademyEnvironment(make_game, seed=given, num_areas=num_areas or areas))
        return games[-1]

    try:
        serve(environment, port=place, should_stop=lambda: any(not game.academy.is_running for game in games))
    except KeyboardInterrupt:
        _tell("stopped")


def play_loop(
    main: Callable[[Academy], None],
    *,
    seed: int = 0,
    num_areas: int | None = None,
    port: int | None = None,
    alone: bool = False,
    arguments: Sequence[str] | None = None,
) -> None:
    """The same for a game that has a loop of its own: it makes the game and calls `academy.environment_step()` in it.

    The loop runs on the calling thread, as windows want it.

    Args:
        main: runs the loop while `academy.is_running`.
        seed, num_areas, port, alone, arguments: see `play`.

    Raises:
        GameError, WireError: see `serve`.
    """
    place = None if alone else _trainer(port, arguments)
    if place is None:
        with _alone(seed, num_areas) as academy:
            main(academy)
        return
    turns = Turns()
    introduced: queue.SimpleQueue[Academy | None] = queue.SimpleQueue()
    failures: list[Exception] = []

    def environment(given: int, areas: int) -> LoopEnvironment:
        academy = Academy(seed=given, num_areas=num_areas or areas, is_trained=True, turns=turns)
        introduced.put(academy)
        return LoopEnvironment(academy, turns)

    def talk() -> None:
        try:
            serve(environment, port=place)
        except Exception as error:
            if not turns.is_over:  # else the game's loop ended by itself, or broke, which is raised below
                failures.append(error)
        introduced.put(None)

    trainer = threading.Thread(target=talk, name="trainer", daemon=True)
    trainer.start()
    trained = introduced.get()
    if trained is not None:
        run_loop(main, trained, turns)
    trainer.join(timeout=_GOOD_BYE_S)  # it may be waiting for an answer; the trainer sees that the program is gone
    if isinstance(turns.error, KeyboardInterrupt):
        _tell("stopped")
    elif turns.error is not None:
        raise turns.error
    if failures:
        raise failures[0]


@contextmanager
def _alone(seed: int, num_areas: int | None) -> Iterator[Academy]:
    """An academy without a trainer; its end, and Ctrl-C, end the game in good order."""
    academy = Academy(seed=seed, num_areas=num_areas or 1)
    try:
        yield academy
    except AcademyClosedError:
        pass
    except KeyboardInterrupt:
        _tell("stopped")
    finally:
        academy.close()


def _trainer(port: int | None, arguments: Sequence[str] | None) -> int | None:
    """Where a trainer listens; None, which is told, if none does."""
    place = trainer_port(sys.argv[1:] if arguments is None else arguments) if port is None else port
    if _somebody_listens(place):
        return place
    _tell(f"no trainer listens on port {place}: playing alone; Ctrl-C ends it")
    return None


def trainer_port(arguments: Sequence[str]) -> int:
    """The port a trainer told a game on its command line; where trainers wait for a game if there is none."""
    places = [place for place, word in enumerate(arguments) if word == "--mlagents-port"]
    following = arguments[places[-1] + 1 :] if places else ()
    return int(following[0]) if following and following[0].isdecimal() else _EDITOR_PORT


def _tell(text: str) -> None:
    """Says a line to whoever started the program: it may have no logging at all."""
    sys.stderr.write(f"{text}\n")


def _somebody_listens(port: int) -> bool:
    try:
        with socket.create_connection(("localhost", port), timeout=_ANSWER_S):
            return True
    except OSError:
        return False
