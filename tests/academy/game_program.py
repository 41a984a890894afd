"""A game as a program: python game_program.py GAME [stepped|loop] [--steps N] and whatever a trainer adds."""

import argparse
from pathlib import Path

from sparring.academy import Academy, Update, play, play_loop
from tests.academy.games import StrollingWalker, painters, walkers


def breaking(academy: Academy) -> Update:
    """Breaks in its fourth step."""
    walkers()(academy)

    def update() -> None:
        if academy.total_step_count == 4:
            raise ZeroDivisionError("the ball burst")

    return update


GAMES = {"walkers": walkers(), "strollers": walkers(StrollingWalker), "painters": painters, "breaking": breaking}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("way", choices=["stepped", "loop"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--tell", type=Path, help="file that gets the steps in all and the completed episodes")
    options, _ = parser.parse_known_args()
    academies: list[Academy] = []

    def make_game(academy: Academy) -> Update:
        academies.append(academy)
        return GAMES[options.game](academy)

    def loop(academy: Academy) -> None:
        update = make_game(academy)
        while academy.is_running and (academy.is_trainer_connected or academy.total_step_count < options.steps):
            academy.environment_step()
            update()

    if options.way == "loop":
        play_loop(loop, seed=3)
    else:
        play(make_game, seed=3, steps=options.steps)
    if options.tell is not None:
        academy = academies[0]
        options.tell.write_text(
            f"{academy.is_trainer_connected} {academy.total_step_count} {academy.agents[0].completed_episodes}"
        )


if __name__ == "__main__":
    main()
