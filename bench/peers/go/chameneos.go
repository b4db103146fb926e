package main

import "time"

type colour int // 0, 1, 2: the three add up to 3, so two different ones leave the third

type visitor struct {
	colour colour
	inbox  chan meeting
}

type meeting struct {
	colour colour
	stop   bool
}

// chameneos lets creatures meet in pairs through a broker; both leave with the complement colour.
func chameneos(p params) metrics {
	creatures := p["creatures"]
	requests := make(chan visitor, creatures)
	counts := make(chan int, creatures)
	start := time.Now()
	go broker(requests, p["meetings"], creatures)
	for i := 0; i < creatures; i++ {
		go creature(colour(i%3), requests, counts)
	}
	met := make([]int, creatures)
	for i := range met {
		met[i] = <-counts
	}
	return metrics{"seconds": time.Since(start).Seconds(), "meetings_sd": deviation(met)}
}

func broker(requests <-chan visitor, meetings, creatures int) {
	for ; meetings > 0; meetings-- {
		first, second := <-requests, <-requests
		first.inbox <- meeting{colour: second.colour}
		second.inbox <- meeting{colour: first.colour}
	}
	for ; creatures > 0; creatures-- {
		(<-requests).inbox <- meeting{stop: true}
	}
}

func creature(mine colour, requests chan<- visitor, counts chan<- int) {
	inbox, met := make(chan meeting, 1), 0
	for {
		requests <- visitor{mine, inbox}
		m := <-inbox
		if m.stop {
			counts <- met
			return
		}
		mine, met = complement(mine, m.colour), met+1
	}
}

func complement(a, b colour) colour {
	if a == b {
		return a
	}
	return 3 - a - b
}
