#!/usr/bin/env python3
"""Writes the libraries of this example: three folders of short texts, the same ones each time.

    write_books.py            writes collections/gardens, collections/harbours and collections/workshops

Each text tells of one task: its title, then what it takes. The words are chosen by the task's place in the lists below,
so that there is something to search for, and every run finds the same.
"""

import pathlib

HERE = pathlib.Path(__file__).parent / "collections"

LIBRARIES = {
    "gardens": {
        "things": "apple trees|pear trees|cherry trees|rose hedges|grape vines|bean rows|herb beds|onion beds|strawberry beds|"
                  "garden ponds|greenhouses|compost heaps".split("|"),
        "tasks": {
            "grafting": "cut a shoot, fit it into the split bark, bind the graft with tape and seal the wound with wax",
            "pruning": "take out dead wood, open the crown to the light, and cut above a bud with a sharp blade",
            "watering": "water the roots at dawn, slowly, and leave the leaves dry",
            "planting": "dig twice as wide as the roots, loosen the clay, and tread the soil firm",
            "protecting": "wrap stems in fleece, keep frost from the roots with straw, and shut out hares with wire",
            "harvesting": "pick ripe fruit by hand, sort out what is bruised, and store the rest in the dark",
            "feeding": "spread ripe compost, rake it in, and wait for rain",
            "moving": "dig round the roots, lift the plant with its soil, and set it as deep as it stood",
        },
        "times": "in winter|in spring|in summer|in autumn".split("|"),
        "frame": ["{task} {thing} {time} is quiet work.", "A gardener will {how}.",
                  "Those who hurry with {thing} lose a season.", "{time}, the ground tells when to begin.",
                  "The neighbours have been {task} {thing} for thirty years, and still ask each other."],
    },
    "harbours": {
        "things": "sluice gates|fishing boats|ferry landings|tow barges|lighthouses|harbour cranes|anchor chains|sailing ships|"
                  "pilot cutters|dry docks|signal masts|mooring buoys".split("|"),
        "tasks": {
            "repairing": "drain the basin, replace the broken timber, caulk the seams and grease the hinges",
            "painting": "scrape off rust and weed, dry the plates, and paint against salt in three coats",
            "inspecting": "sound the depth, tap the rivets, look for cracks, and note it in the book",
            "loading": "weigh the cargo, stow the heavy crates low, and lash them against the roll",
            "towing": "make the hawser fast, keep it clear of the screw, and answer signals at once",
            "anchoring": "choose holding ground, pay out five depths of chain, and take bearings",
            "lighting": "trim the lamp, wind the clockwork of the lens, and clean the glass",
            "guarding": "walk the quay by night, count the lines, and report strangers",
        },
        "times": "in fog|in a storm|at high tide|at low tide".split("|"),
        "frame": ["{task} {thing} {time} is for two people.", "The harbour master has them {how}.",
                  "Nobody is thanked for {thing} that work.", "{time}, sound carries further than light.",
                  "When {task} {thing} went wrong, the town was without bread for a week."],
    },
    "workshops": {
        "things": "church organs|violins|tower clocks|printing presses|looms|telescopes|barrel locks|music boxes|sewing machines|"
                  "steam engines|globes|puppets".split("|"),
        "tasks": {
            "tuning": "listen for the beats, turn the pin by a hair, and compare each pipe or string with its octave",
            "cleaning": "take it apart on a white cloth, brush each piece, and lay the pieces out in order",
            "oiling": "one drop for each bearing, none for the spring, and wipe off what runs",
            "building": "draw it at full size, cut the wood with the grain, and glue it in a warm room",
            "mending": "find the worn tooth, file a new one of brass, and try the wheel by hand",
            "measuring": "warm the gauge, measure three times, and trust the middle figure",
            "packing": "fix what swings, wrap it in felt, and mark which side is up",
            "playing": "begin slowly, stop when something scrapes, and let an apprentice listen from the door",
        },
        "times": "by daylight|by lamplight|on a damp day|before a feast".split("|"),
        "frame": ["{task} {thing} {time} takes patience.", "A master will {how}.",
                  "Old {thing} remember who last opened them.", "{time}, the hand is surer than the eye.",
                  "Apprentices learn {task} {thing} last of all."],
    },
}


def text(library, thing, task, time, number):
    """The text about one task."""
    words = LIBRARIES[library]
    how = words["tasks"][task]
    sentences = [line.format(task=task, thing=thing, time=time, how=how) for line in words["frame"]]
    # Another task of the same thing, which a search for this one finds after it.
    others = list(words["tasks"])
    other = others[(others.index(task) + 1 + number % 3) % len(others)]
    aside = f"See also {other} {thing}: {words['tasks'][other]}."
    capital = [sentence[0].upper() + sentence[1:] for sentence in sentences]
    paragraphs = [" ".join(capital[:2]), " ".join(capital[2:]), aside[0].upper() + aside[1:]]
    title = f"{task} {thing} {time}"
    return "\n\n".join([title[0].upper() + title[1:], *paragraphs]) + "\n"


def main():
    for library, words in LIBRARIES.items():
        folder = HERE / library
        folder.mkdir(parents=True, exist_ok=True)
        number = 0
        for thing in words["things"]:
            for task in words["tasks"]:
                for time in words["times"]:
                    name = f"{task} {thing} {time}".replace(" ", "-")
                    (folder / f"{name}.txt").write_text(text(library, thing, task, time, number), encoding="utf-8")
                    number += 1


if __name__ == "__main__":
    main()
