@v[atomic] +vote(X)[source(S)] <- +voted(S); .count(voted(_),N); if (N == 6) { .findall(A,voted(A),L); .sort(L,M); .print(M); .stopMAS }.
