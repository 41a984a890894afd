"""The game in docs/games.md is a game."""

import re
from pathlib import Path

from sparring.user_code import load_function

GAMES = Path(__file__).parents[2] / "docs" / "games.md"


def test_the_game_in_the_documentation_runs_as_it_stands(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GAMES.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "runner.py"
    script.write_text(next(block for block in blocks if "make_game" in block), encoding="utf-8")
    with load_function(f"{script}:world", where="docs")(num_arenas=3, seed=1, threads=1) as world:
        world.reset()
        ended = 0
        for _ in range(45):
            decision, terminal = world.get_steps("Runner?team=0")
            assert len(decision) == 3
            ended += int(terminal.interrupted.sum())
            world.step()
    assert ended == 3  # nobody moved, so each was interrupted after its 200 steps, 40 decisions
