package main

import "time"

type request struct {
	n      int
	answer chan<- int
}

type sample struct {
	n  int
	us float64
}

// fibonacci asks one server for fib(n); it computes each request in a goroutine of its own.
func fibonacci(p params) metrics {
	clients, largeFrom := p["clients"], p["large_from"]
	if largeFrom == 0 {
		largeFrom = 25
	}
	start := time.Now()
	requests := make(chan request, clients)
	results := make(chan []sample, clients)
	go serve(requests)
	for c := 1; c <= clients; c++ {
		go ask(requests, results, p["requests"], p["max_n"], uint64(c))
	}
	var small, large []float64
	for c := 0; c < clients; c++ {
		for _, s := range <-results {
			if s.n <= 10 {
				small = append(small, s.us)
			}
			if s.n >= largeFrom {
				large = append(large, s.us)
			}
		}
	}
	seconds := time.Since(start).Seconds()
	return metrics{
		"small_p50_us": percentile(50, small), "small_p99_us": percentile(99, small),
		"small_max_us": percentile(100, small), "large_p50_us": percentile(50, large),
		"seconds": seconds,
	}
}

func serve(requests <-chan request) {
	for r := range requests {
		go func() { r.answer <- fib(r.n) }()
	}
}

func ask(requests chan<- request, results chan<- []sample, count, maxN int, client uint64) {
	samples, answer := make([]sample, 0, count), make(chan int, 1)
	// The same small generator in every peer, so that all compute the same requests.
	for x := step(client * 48271 % modulus); count > 0; x, count = step(x), count-1 {
		n, start := 1+int(x%uint64(maxN)), time.Now()
		requests <- request{n, answer}
		<-answer
		samples = append(samples, sample{n, float64(time.Since(start).Nanoseconds()) / 1000})
	}
	results <- samples
}

const modulus = 2147483647

func step(x uint64) uint64 { return x * 16807 % modulus }

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}
