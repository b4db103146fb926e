"""Ways on the floor, found by breadth-first search."""

from env import world
from whimbrel.environment import DIRECTIONS, Atom


def directions(x, y, to_x, to_y):
    """Returns the first steps of a shortest way: the directions to take, none if there is no way."""
    ways = {(x, y): []}
    for here in (waiting := [(x, y)]):
        if here == (to_x, to_y):
            return [Atom(direction) for direction in ways[here]]
        for direction, (dx, dy) in DIRECTIONS.items():
            there = (here[0] + dx, here[1] + dy)
            if there in world.neighbours(*here) and there not in ways:
                ways[there] = [*ways[here], direction]
                waiting.append(there)
    return None


def by_distance(x, y, cells) -> tuple[int, int, int]:
    """Yields the cells to which there is a way, the nearest first, with their distances."""
    ways = {cell: way for cell in map(tuple, cells) if (way := directions(x, y, *cell)) is not None}
    for to_x, to_y in sorted(ways, key=lambda cell: len(ways[cell])):
        yield to_x, to_y, len(ways[to_x, to_y])
