package main

import "time"

type token struct{ left int }

// ring passes each token on `passes` times, all tokens at once, put in equally spaced.
func ring(p params) metrics {
	workers, tokens, passes := p["workers"], p["tokens"], p["passes"]
	// All channels together hold more than all tokens, so the ring cannot fill up and block.
	capacity := max(64, tokens/workers+2)
	inboxes := make([]chan token, workers)
	for i := range inboxes {
		inboxes[i] = make(chan token, capacity)
	}
	spent := make(chan struct{}, tokens)
	for i, inbox := range inboxes {
		go pass(inbox, inboxes[(i+1)%workers], spent)
	}
	start := time.Now()
	for i := 0; i < tokens; i++ {
		inboxes[i*workers/tokens%workers] <- token{passes}
	}
	for i := 0; i < tokens; i++ {
		<-spent
	}
	seconds := time.Since(start).Seconds()
	return metrics{"seconds": seconds, "messages_per_s": float64(tokens) * float64(passes) / seconds}
}

func pass(inbox <-chan token, next chan<- token, spent chan<- struct{}) {
	for t := range inbox {
		if t.left == 0 {
			spent <- struct{}{}
		} else {
			next <- token{t.left - 1}
		}
	}
}
