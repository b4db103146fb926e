+?vote(X) : pref([X|_]).
