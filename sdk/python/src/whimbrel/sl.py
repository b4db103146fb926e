"""FIPA SL (FIPA00008): content as text, for talking to platforms such as JADE.

The DF, the AMS and the agents of a Whimbrel platform take values instead. Mapping between SL and values:
docs/reference/fipa-agent-management.md.

>>> sl_to_value("((weather (city Paris) 21))")
[Term('weather', Term('city', Atom('Paris')), 21)]
>>> value_to_sl([Term("weather", Term("city", Atom("Paris")), 21)], "fipa-sl0")
'((weather (city Paris) 21))'
"""

from __future__ import annotations

from .acl.sl import PROFILES, sl_to_value, value_to_sl

__all__ = ["PROFILES", "sl_to_value", "value_to_sl"]
