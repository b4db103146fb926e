package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

const patience = 300 * time.Second

// Of how many messages one is timed, if they come as fast as they can.
const timedOf = 16

// newContent is a message's content: eight bytes for when it was made, and as many more as it takes.
func newContent(bytes int) []byte {
	content := make([]byte, bytes)
	for i := range content {
		content[i] = 'x'
	}
	return content
}

func stamp(content []byte) {
	binary.LittleEndian.PutUint64(content, uint64(time.Now().UnixNano()))
}

// consumer counts what one consumer gets.
type consumer struct {
	bytes, left, every, untilTimed int
	begunNs, endedNs               int64
	us                             []float64
	done                           chan<- *consumer
}

func newConsumer(c *testCase, done chan<- *consumer) *consumer {
	every := timedOf
	if c.paced {
		every = 1
	}
	us := make([]float64, 0, c.due()/every+1)
	return &consumer{bytes: c.bytes, left: c.due(), every: every, untilTimed: every, us: us, done: done}
}

// take counts a message. One that is cut short does not count.
func (c *consumer) take(content []byte) {
	if len(content) != c.bytes || c.left == 0 {
		return
	}
	c.left--
	c.untilTimed--
	if c.begunNs != 0 && c.untilTimed != 0 && c.left != 0 {
		return
	}
	now := time.Now().UnixNano()
	if c.begunNs == 0 {
		c.begunNs = now
	}
	if c.untilTimed == 0 {
		c.untilTimed = c.every
		made := int64(binary.LittleEndian.Uint64(content))
		c.us = append(c.us, float64(max(0, now-made))/1e3)
	}
	if c.left == 0 {
		c.endedNs = now
		c.done <- c
	}
}

// report waits until all consumers have theirs, and prints the metrics.
func report(c *testCase, done <-chan *consumer) error {
	late := time.After(patience)
	begun, ended := int64(math.MaxInt64), int64(0)
	var us []float64
	for count := 0; count < c.consumers; count++ {
		select {
		case one := <-done:
			begun, ended = min(begun, one.begunNs), max(ended, one.endedNs)
			us = append(us, one.us...)
		case <-late:
			return errors.New("not all messages came")
		}
	}
	slices.Sort(us)
	percentile := func(part float64) float64 {
		if len(us) == 0 {
			return 0
		}
		return us[max(0, int(math.Ceil(part/100*float64(len(us))))-1)]
	}
	fmt.Printf("{\"deliveries\": %d, \"seconds\": %.4f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
		c.due()*c.consumers, float64(ended-begun)/1e9, percentile(50), percentile(99))
	return nil
}
