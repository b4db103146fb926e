"""Grid worlds: walls, objects and agents on a rectangle of cells."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from ..acl.values import Atom, Term
from ..actions import ActionError

__all__ = ["DIRECTIONS", "GRID_SIDE_MAX", "GridWorld"]

#: Most columns and rows.
GRID_SIDE_MAX = 256
#: Steps to neighbour cells, by name. Row 0 is at the top.
DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}

Cell = tuple[int, int]


class GridWorld:
    """Model of a grid. A cell is `(x, y)`, from `(0, 0)` at the top left. A wall fills its cell; a cell has one agent
    at most, and any objects.

    >>> world = GridWorld(5, 3)
    >>> world.add_wall(2, 0, 2, 1)
    >>> world.add("garbage", 4, 2)
    >>> world.place("robot", 0, 0)
    >>> world.move("robot", "right")
    (1, 0)
    >>> print(world.draw())
    .r#..
    ..#..
    ....g
    """

    def __init__(self, columns: int, rows: int) -> None:
        """Makes an empty grid.

        Raises ValueError if it is too small or too large.
        """
        if not (1 <= columns <= GRID_SIDE_MAX and 1 <= rows <= GRID_SIDE_MAX):
            raise ValueError(f"a grid has 1 to {GRID_SIDE_MAX} columns and rows, not {columns} and {rows}")
        self.columns = columns
        self.rows = rows
        #: Number of changes so far.
        self.version = 0
        self._walls: set[Cell] = set()
        self._objects: dict[Cell, list[str]] = {}
        self._agents: dict[str, Cell] = {}
        self._at: dict[Cell, str] = {}

    def contains(self, x: int, y: int) -> bool:
        """Returns true for a cell of the grid."""
        return 0 <= x < self.columns and 0 <= y < self.rows

    def _check(self, x: int, y: int) -> Cell:
        if not self.contains(x, y):
            raise ActionError(Term("outside", x, y))
        return (x, y)

    def add_wall(self, x1: int, y1: int, x2: int | None = None, y2: int | None = None) -> None:
        """Builds a wall: a cell, or all cells of a rectangle.

        Raises ActionError outside of the grid.
        """
        for y in range(min(y1, y1 if y2 is None else y2), max(y1, y1 if y2 is None else y2) + 1):
            for x in range(min(x1, x1 if x2 is None else x2), max(x1, x1 if x2 is None else x2) + 1):
                self._walls.add(self._check(x, y))
        self.version += 1

    def remove_wall(self, x: int, y: int) -> None:
        """Removes the wall from a cell."""
        self._walls.discard((x, y))
        self.version += 1

    def is_wall(self, x: int, y: int) -> bool:
        """Returns true for a cell with a wall."""
        return (x, y) in self._walls

    def is_free(self, x: int, y: int) -> bool:
        """Returns true for a cell of the grid without a wall and an agent."""
        return self.contains(x, y) and (x, y) not in self._walls and (x, y) not in self._at

    def free_cell(self, chance: random.Random | None = None) -> Cell:
        """Returns a free cell without objects, chosen at random.

        Raises ActionError if there is none.
        """
        cells = [cell for cell in self.cells() if self.is_free(*cell) and cell not in self._objects]
        if not cells:
            raise ActionError(Atom("no_free_cell"))
        return (chance or random.Random()).choice(cells)

    def cells(self) -> Iterator[Cell]:
        """Returns all cells, row by row."""
        return ((x, y) for y in range(self.rows) for x in range(self.columns))

    def add(self, kind: str, x: int, y: int) -> None:
        """Adds an object of a kind.

        Raises ActionError outside of the grid.
        """
        self._objects.setdefault(self._check(x, y), []).append(str(kind))
        self.version += 1

    def remove(self, kind: str, x: int, y: int) -> None:
        """Removes an object of a kind.

        Raises ActionError if there is none.
        """
        there = self._objects.get((x, y), [])
        if str(kind) not in there:
            raise ActionError(Term("nothing_there", Atom(str(kind)), x, y))
        there.remove(str(kind))
        if not there:
            del self._objects[x, y]
        self.version += 1

    def has(self, kind: str, x: int, y: int) -> bool:
        """Returns true if a cell has an object of a kind."""
        return str(kind) in self._objects.get((x, y), ())

    def objects(self, kind: str | None = None) -> list[tuple[str, int, int]]:
        """Returns all objects, or those of a kind, row by row: kind, x, y."""
        found = [(name, x, y) for (x, y), names in self._objects.items() for name in names]
        wanted = [one for one in found if kind is None or one[0] == str(kind)]
        return sorted(wanted, key=lambda one: (one[2], one[1], one[0]))

    def count(self, kind: str) -> int:
        """Returns the number of objects of a kind."""
        return sum(names.count(str(kind)) for names in self._objects.values())

    def place(self, agent: str, x: int, y: int) -> None:
        """Puts an agent on a cell, wherever it was.

        Raises ActionError if the cell is not free.
        """
        there = self.agent_at(*self._check(x, y))
        if there != str(agent) and not self.is_free(x, y):
            raise ActionError(Term("not_free", x, y))
        self.take_away(agent)
        self._agents[str(agent)] = (x, y)
        self._at[x, y] = str(agent)
        self.version += 1

    def take_away(self, agent: str) -> None:
        """Takes an agent from the grid, if it is there."""
        cell = self._agents.pop(str(agent), None)
        if cell is not None:
            del self._at[cell]
            self.version += 1

    def position(self, agent: str) -> Cell | None:
        """Returns an agent's cell; None if it is not on the grid."""
        return self._agents.get(str(agent))

    def agent_at(self, x: int, y: int) -> str | None:
        """Returns the agent on a cell."""
        return self._at.get((x, y))

    @property
    def agents(self) -> dict[str, Cell]:
        """Agents with their cells."""
        return dict(self._agents)

    def _position(self, agent: str) -> Cell:
        cell = self.position(agent)
        if cell is None:
            raise ActionError(Term("not_on_grid", Atom(str(agent))))
        return cell

    def move(self, agent: str, direction: str) -> Cell:
        """Moves an agent to a neighbour cell: `up`, `down`, `left` or `right`. Returns the cell.

        Raises ActionError if the cell is not free.
        """
        step = DIRECTIONS.get(str(direction))
        if step is None:
            raise ActionError(Term("no_direction", direction))
        x, y = self._position(agent)
        self.place(agent, x + step[0], y + step[1])
        return self._agents[str(agent)]

    def move_towards(self, agent: str, x: int, y: int) -> Cell:
        """Moves an agent one step towards a cell: along both axes, as far as the cell there is free. Returns its cell.

        Raises ActionError if it cannot come closer.
        """
        here = self._position(agent)
        step = (_sign(x - here[0]), _sign(y - here[1]))
        for dx, dy in (step, (step[0], 0), (0, step[1])):
            cell = (here[0] + dx, here[1] + dy)
            if cell != here and self.is_free(*cell):
                self.place(agent, *cell)
                return cell
        if here == (x, y):
            return here
        raise ActionError(Term("blocked", x, y))

    def neighbours(self, x: int, y: int) -> Iterable[Cell]:
        """Returns the cells beside a cell that are in the grid and have no wall."""
        around = [(x + dx, y + dy) for dx, dy in DIRECTIONS.values()]
        return [cell for cell in around if self.contains(*cell) and cell not in self._walls]

    def draw(self) -> str:
        """Draws the grid: `#` for walls, first letters of agents and objects, `.` for empty cells."""
        return "\n".join("".join(self._letter(x, y) for x in range(self.columns)) for y in range(self.rows))

    def _letter(self, x: int, y: int) -> str:
        if (x, y) in self._walls:
            return "#"
        there = self._at.get((x, y)) or (self._objects.get((x, y)) or ["."])[0]
        return there[:1]

    def shown(self) -> list[Term]:
        """Returns the walls, objects and agents, as the console shows them."""
        walls = [Term("wall", x, y) for x, y in sorted(self._walls)]
        things = [Term("object", Atom(kind), x, y) for kind, x, y in self.objects()]
        agents = [Term("agent", Atom(name), x, y) for name, (x, y) in sorted(self._agents.items())]
        return [*walls, *things, *agents]


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
