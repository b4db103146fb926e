"""Dictionary of one direction of a connection: the sender's keys, and the receiver's items."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from ..errors import DecodeError
from ..limits import REMEMBERED_BYTES_MAX

T = TypeVar("T")


class SenderTable:
    """Sender's half. When it is full, the item unused for longest is replaced (second chance)."""

    __slots__ = ("_hand", "_items_max", "_keys", "_numbers", "_used")

    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self._numbers: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._used: list[bool] = []
        self._hand = 0

    def find(self, key: Hashable) -> int | None:
        """Returns the number of a known item."""
        known = self._numbers.get(key)
        if known is not None:
            self._used[known] = True
        return known

    def remember(self, key: Hashable, size: int) -> int | None:
        """Returns a number for a new item; None if the item is too long."""
        if self._items_max == 0 or size > REMEMBERED_BYTES_MAX:
            return None
        if len(self._keys) < self._items_max:
            number = len(self._keys)
            self._keys.append(key)
            self._used.append(False)
        else:
            number = self._forget_one()
            self._keys[number] = key
            self._used[number] = False
        self._numbers[key] = number
        return number

    def _forget_one(self) -> int:
        while True:
            self._hand = (self._hand + 1) % len(self._keys)
            if not self._used[self._hand]:
                del self._numbers[self._keys[self._hand]]
                return self._hand
            self._used[self._hand] = False


class ReceiverTable(Generic[T]):
    """Receiver's half."""

    __slots__ = ("_items_max", "_places")

    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self._places: dict[int, T] = {}

    def recall(self, number: int, at: int) -> T:
        """Returns the item of a number."""
        try:
            return self._places[number]
        except KeyError:
            raise DecodeError("malformed", "unknown number in the connection's dictionary", at) from None

    def remember(self, number: int, item: T, size: int, at: int) -> None:
        """Stores an item under a number."""
        if number >= self._items_max:
            raise DecodeError("malformed", "number beyond the connection's dictionary", at)
        if size > REMEMBERED_BYTES_MAX:
            raise DecodeError("malformed", "item too long for the connection's dictionary", at)
        self._places[number] = item
