"""Running a game as a program: for the trainer that started it or waits for it, or else alone."""

from __future__ import annotations

import logging
import queue
import socket
import sys
import threading
from collections.abc import Callable, Sequence

from sparring.academy.academy import Academy, AcademyClosedError, MakeGame
from sparring.academy.environment import AcademyEnvironment, LoopEnvironment, run_loop
from sparring.academy.serving import serve
from sparring.academy.turns import Turns

__all__ = ["play", "play_loop", "trainer_port"]

_log = logging.getLogger(__name__)

_EDITOR_PORT = 5004
"""Where trainers that start no game wait for one."""
_ANSWER_S = 1.0


def play(
    make_game: MakeGame,
    *,
    seed: int = 0,
    num_areas: int | None = None,
    port: int | None = None,
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
        steps: environment steps when alone; without it the game ends when it sets `academy.is_running` to False or at
            Ctrl-C.
        arguments: the command line; the program's without it.

    Raises:
        GameError, WireError: see `serve`.
    """
    place = trainer_port(sys.argv[1:] if arguments is None else arguments) if port is None else port
    if _somebody_listens(place):
        games: list[AcademyEnvironment] = []

        def environment(given: int, areas: int) -> AcademyEnvironment:
            games.append(AcademyEnvironment(make_game, seed=given, num_areas=num_areas or areas))
            return games[-1]

        serve(environment, port=place, should_stop=lambda: any(not game.academy.is_running for game in games))
        return
    _tell_alone(place)
    academy = Academy(seed=seed, num_areas=num_areas or 1)
    try:
        update = make_game(academy)
        while academy.is_running and (steps is None or academy.total_step_count < steps):
            academy.environment_step()
            update()
    except KeyboardInterrupt:
        _log.info("stopped")
    finally:
        academy.close()


def play_loop(
    main: Callable[[Academy], None],
    *,
    seed: int = 0,
    num_areas: int | None = None,
    port: int | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """The same for a game that has a loop of its own: it makes the game and calls `academy.environment_step()` in it.

    The loop runs on the calling thread, as windows want it.

    Args:
        main: runs the loop while `academy.is_running`.
        seed, num_areas, port, arguments: see `play`.

    Raises:
        GameError, WireError: see `serve`.
    """
    place = trainer_port(sys.argv[1:] if arguments is None else arguments) if port is None else port
    if not _somebody_listens(place):
        _tell_alone(place)
        academy = Academy(seed=seed, num_areas=num_areas or 1)
        try:
            main(academy)
        except (AcademyClosedError, KeyboardInterrupt):
            _log.info("stopped")
        finally:
            academy.close()
        return
    turns = Turns()
    introduced: queue.SimpleQueue[Academy | None] = queue.SimpleQueue()
    failures: list[Exception] = []

    # The game's loop may end by itself: then it is the trainer's turn to be told good-bye.
    def environment(given: int, areas: int) -> LoopEnvironment:
        academy = Academy(seed=given, num_areas=num_areas or areas, is_trained=True, turns=turns)
        introduced.put(academy)
        return LoopEnvironment(academy, turns)

    def talk() -> None:
        try:
            serve(environment, port=place)
        except Exception as error:
            if not turns.is_over:
                failures.append(error)
        introduced.put(None)

    trainer = threading.Thread(target=talk, name="trainer", daemon=True)
    trainer.start()
    trained = introduced.get()
    if trained is not None:
        run_loop(main, trained, turns)
    trainer.join()
    if turns.error is not None:
        raise turns.error
    if failures:
        raise failures[0]


def trainer_port(arguments: Sequence[str]) -> int:
    """The port a trainer told a game on its command line; where trainers wait for a game if there is none."""
    places = [place for place, word in enumerate(arguments) if word == "--mlagents-port"]
    following = arguments[places[-1] + 1 :] if places else ()
    return int(following[0]) if following and following[0].isdecimal() else _EDITOR_PORT


def _tell_alone(port: int) -> None:
    level = logging.INFO if port == _EDITOR_PORT else logging.WARNING  # a port that was named was meant
    _log.log(level, "no trainer listens on port %d: playing alone", port)


def _somebody_listens(port: int) -> bool:
    try:
        with socket.create_connection(("localhost", port), timeout=_ANSWER_S):
            return True
    except OSError:
        return False
