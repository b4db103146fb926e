"""Floor that a robot cleans: a grid with walls and garbage. The console shows it while the robot works."""

from whimbrel.environment import ActionError, Environment, GridWorld, Term

#: The floor. The functions of actions.py see it, too.
world = GridWorld(7, 5)
world.add_wall(3, 0, 3, 3)
world.add("garbage", 1, 3)
world.add("garbage", 5, 0)
world.add("garbage", 6, 4)


class Floor(Environment):
    def __init__(self):
        self.view = world
        world.place("robot", 0, 0)

    def percepts(self, agent):
        x, y = world.position(agent)
        yield Term("position", x, y)
        for _, x, y in world.objects("garbage"):
            yield Term("garbage", x, y)

    async def move(self, agent, direction):
        world.move(agent, direction)

    async def pick(self, agent):
        if not world.has("garbage", *world.position(agent)):
            raise ActionError("there is no garbage here")
        world.remove("garbage", *world.position(agent))
        print("garbage left:", world.count("garbage"))
