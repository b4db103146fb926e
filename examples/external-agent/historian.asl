// Historian: asks a calendar agent for the day of the week of an event.

!ask.

+!ask <- .df_subscribe("weekdays").

+provider(Calendar, "weekdays") : event(What, Year, Month, Day)
   <- .send(Calendar, askOne, weekday(Year, Month, Day, _), weekday(_, _, _, Name));
      .print(What, " was on a ", Name);
      .send(clerk, tell, done).
