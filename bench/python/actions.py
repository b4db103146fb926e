"""The function that is called."""


def successor(x):
    return x + 1
