// Wants to know on which day of the week something happened, and asks whoever keeps a calendar.

!ask.

+!ask <- .df_subscribe("weekdays").

+provider(Calendar, "weekdays") : event(What, Year, Month, Day)
   <- .send(Calendar, askOne, weekday(Year, Month, Day, _), weekday(_, _, _, Name));
      .print(What, " was on a ", Name);
      .send(clerk, tell, done).
