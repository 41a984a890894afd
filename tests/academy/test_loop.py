"""Games that step themselves: the same as those that are stepped, and their ends."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from sparring.academy import Academy, AcademyEnvironment, LoopEnvironment, MakeGame
from sparring.errors import GameError, SpecError
from sparring.steps import ActionBatch
from tests.academy.games import Walker, painters, walkers
from tests.academy.playing import play_side_by_side


def looped(make_game: MakeGame) -> Callable[[Academy], None]:
    """The same game with a loop of its own."""

    def main(academy: Academy) -> None:
        update = make_game(academy)
        while academy.is_running:
            academy.environment_step()
            update()

    return main


@pytest.mark.parametrize("make_game", [walkers(), painters], ids=["walkers", "painters"])
def test_a_loop_of_its_own_changes_nothing(make_game: MakeGame) -> None:
    with (
        AcademyEnvironment(make_game, seed=5, num_areas=2) as stepped,
        LoopEnvironment.start(looped(make_game), seed=5, num_areas=2) as own,
    ):
        play_side_by_side(stepped, own, steps=60, reset_at=25)
        assert own.academy.total_step_count == stepped.academy.total_step_count


def test_closing_ends_the_loop() -> None:
    before = {thread.ident for thread in threading.enumerate()}
    environment = LoopEnvironment.start(looped(walkers()))
    environment.reset()
    own = {thread.ident for thread in threading.enumerate()} - before
    assert len(own) == 1
    environment.close()
    environment.close()
    deadline = time.monotonic() + 30
    while own & {thread.ident for thread in threading.enumerate()}:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_closing_before_the_first_reset_ends_the_loop() -> None:
    steps: list[int] = []

    def main(academy: Academy) -> None:
        walkers()(academy)
        while True:  # looks at nothing
            academy.environment_step()
            steps.append(academy.step_count)

    environment = LoopEnvironment.start(main)
    assert list(environment.behavior_specs) == ["Walker?team=0"]
    environment.close()
    assert steps == [0]


def test_an_error_in_the_loop_is_raised_where_the_trainer_is() -> None:
    def main(academy: Academy) -> None:
        update = walkers()(academy)
        for _ in range(3):
            academy.environment_step()
            update()
        raise SpecError("the ball burst")

    environment = LoopEnvironment.start(main)
    environment.reset()
    environment.step()
    environment.step()
    with pytest.raises(SpecError, match="the ball burst"):
        environment.step()
    environment.close()


def test_an_error_before_the_first_step_is_raised_at_once() -> None:
    def main(academy: Academy) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        LoopEnvironment.start(main)


def test_a_loop_that_ends_by_itself_is_told() -> None:
    def main(academy: Academy) -> None:
        Walker(academy)
        academy.environment_step()

    environment = LoopEnvironment.start(main)
    environment.reset()
    with pytest.raises(GameError, match="the game's loop ended"):
        environment.step()


def test_the_first_reset_is_the_only_one_and_carries_parameters() -> None:
    resets: list[float] = []

    def main(academy: Academy) -> None:
        academy.on_reset(lambda: resets.append(academy.environment_parameters.get("size", 0.0)))
        looped(walkers())(academy)

    with LoopEnvironment.start(main) as environment:
        environment.set_parameters({"size": 7.0})
        environment.reset()
        name = "Walker?team=0"
        environment.set_actions(name, ActionBatch(np.zeros((1, 0), np.float32), np.array([[2]], np.int32)))
        environment.step()
        assert environment.get_steps(name)[0].obs[0].tolist() == [[1.0]]
        assert resets == [7.0]
        environment.reset()
        assert environment.get_steps(name)[0].obs[0].tolist() == [[0.0]]
        assert len(resets) == 2


def test_a_loop_that_does_not_end_is_told_and_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sparring.academy.environment._PATIENCE_S", 0.2)
    is_done = threading.Event()

    def main(academy: Academy) -> None:
        walkers()(academy)
        academy.environment_step()
        is_done.wait(timeout=30)

    environment = LoopEnvironment.start(main)
    environment.reset()
    environment.close()
    assert "should look at academy.is_running" in caplog.text
    is_done.set()


def test_what_hangs_on_the_end_of_a_game_is_called_once() -> None:
    closed: list[str] = []

    def main(academy: Academy) -> None:
        academy.on_close(lambda: closed.append("loop"))
        looped(walkers())(academy)

    with LoopEnvironment.start(main) as own, AcademyEnvironment(walkers()) as stepped:
        stepped.academy.on_close(lambda: closed.append("stepped"))
        own.reset()
        stepped.reset()
        assert closed == []
    stepped.close()
    assert sorted(closed) == ["loop", "stepped"]


def test_an_error_at_the_end_of_a_game_is_raised_where_the_trainer_is() -> None:
    told: list[str] = []

    def main(academy: Academy) -> None:
        academy.on_close(lambda: 1 // 0)  # type: ignore[arg-type]
        academy.on_close(lambda: told.append("the other one"))
        walkers()(academy)
        academy.environment_step()

    environment = LoopEnvironment.start(main)
    environment.reset()
    with pytest.raises(ZeroDivisionError):
        environment.step()
    assert told == ["the other one"]
