// Messaging between two processes through NATS or RabbitMQ, each with its fastest client. The runner drives it
// (../README.md has the protocol):
//
//	PROGRAM nats|rabbitmq consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// How long after each other a producer that paces itself sends.
const pace = time.Millisecond

// How many messages a producer that does not makes in a turn.
const atOnce = 64

// testCase is what is measured, and which end this is.
type testCase struct {
	consumes             bool
	scenario             string
	producers, consumers int
	bytes                int
	paced, secure        bool
	messages             int // that each producer sends
	folder, address      string
}

// link is a connection to a broker.
type link interface {
	// subscribe calls take, from one goroutine, with each content that comes for a consumer.
	subscribe(consumer int, take func([]byte)) error
	// publisher makes what sends a producer's contents; only one goroutine uses it.
	publisher(producer int) (func([]byte) error, error)
	// flush returns when all that was asked for is known to the broker, or on its way.
	flush() error
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 12 {
		return errors.New("nats|rabbitmq consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS")
	}
	c, err := readCase(os.Args[2:])
	if err != nil {
		return err
	}
	var l link
	switch os.Args[1] {
	case "nats":
		l, err = connectNATS(c)
	case "rabbitmq":
		l, err = connectRabbitMQ(c)
	default:
		err = fmt.Errorf("there is no contender %s", os.Args[1])
	}
	if err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	if c.consumes {
		err = consume(c, l)
	} else {
		err = produce(c, l, input)
	}
	if err != nil {
		return err
	}
	for input.Scan() {
	}
	return nil
}

func readCase(arguments []string) (*testCase, error) {
	var numbers [4]int
	for i, at := range []int{2, 3, 4, 7} {
		number, err := strconv.Atoi(arguments[at])
		if err != nil {
			return nil, err
		}
		numbers[i] = number
	}
	return &testCase{
		consumes: arguments[0] == "consume", scenario: arguments[1], producers: numbers[0], consumers: numbers[1],
		bytes: numbers[2], paced: arguments[5] == "paced", secure: arguments[6] != "open", messages: numbers[3],
		folder: arguments[8], address: arguments[9],
	}, nil
}

// due is how many messages each consumer gets.
func (c *testCase) due() int {
	if c.scenario == "one-to-one" {
		return c.messages
	}
	return c.messages * c.producers
}

func (c *testCase) isBroadcast() bool { return c.scenario == "broadcast" }

// receiver is to whom a producer sends, if it is not a broadcast.
func (c *testCase) receiver(producer int) int {
	if c.scenario == "one-to-one" {
		return producer
	}
	return 0
}

// tls has TLS 1.3 with certificates on both ends.
func (c *testCase) tls() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(c.folder, "end.pem"), filepath.Join(c.folder, "end.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(c.folder, "authority.pem"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("authority.pem holds no certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots, ServerName: "localhost",
		MinVersion: tls.VersionTLS13}, nil
}

func consume(c *testCase, l link) error {
	done := make(chan *consumer, c.consumers)
	for index := 0; index < c.consumers; index++ {
		if err := l.subscribe(index, newConsumer(c, done).take); err != nil {
			return err
		}
	}
	if err := l.flush(); err != nil {
		return err
	}
	fmt.Println("ready")
	return report(c, done)
}

func produce(c *testCase, l link, input *bufio.Scanner) error {
	sends := make([]func([]byte) error, c.producers)
	for producer := range sends {
		send, err := l.publisher(producer)
		if err != nil {
			return err
		}
		sends[producer] = send
	}
	fmt.Println("ready")
	input.Scan()
	if c.paced {
		return paced(c, l, sends)
	}
	return saturated(c, l, sends)
}

func saturated(c *testCase, l link, sends []func([]byte) error) error {
	var all sync.WaitGroup
	failures := make(chan error, len(sends))
	for _, send := range sends {
		all.Add(1)
		go func() {
			defer all.Done()
			content := newContent(c.bytes)
			for left := c.messages; left > 0; left-- {
				// The time is read as seldom as the other contenders read it.
				if left%atOnce == 0 || left == c.messages {
					stamp(content)
				}
				if err := send(content); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	all.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	return l.flush()
}

// paced sends each producer's messages when they are due, spread over the pace. It sleeps in the system, since Go's own
// timers may be late by a millisecond.
func paced(c *testCase, l link, sends []func([]byte) error) error {
	begun := time.Now().Add(100 * time.Millisecond)
	for message := 0; message < c.messages; message++ {
		for producer, send := range sends {
			due := begun.Add(time.Duration(message)*pace + pace*time.Duration(producer)/time.Duration(c.producers))
			if early := time.Until(due); early > 0 {
				wait := syscall.NsecToTimespec(early.Nanoseconds())
				_ = syscall.Nanosleep(&wait, nil)
			}
			content := newContent(c.bytes)
			stamp(content)
			if err := send(content); err != nil {
				return err
			}
		}
	}
	return l.flush()
}
