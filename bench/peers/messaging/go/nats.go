package main

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// One connection for each process, which NATS advises; it batches what all goroutines publish.
type natsLink struct {
	c          *testCase
	connection *nats.Conn
}

func connectNATS(c *testCase) (link, error) {
	options := []nats.Option{nats.NoReconnect()}
	if c.secure {
		config, err := c.tls()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(config))
	}
	connection, err := nats.Connect("nats://"+c.address, options...)
	if err != nil {
		return nil, err
	}
	return &natsLink{c, connection}, nil
}

func (l *natsLink) subject(consumer int) string {
	if l.c.isBroadcast() {
		return "news"
	}
	return fmt.Sprintf("agent.%d", consumer)
}

func (l *natsLink) subscribe(consumer int, take func([]byte)) error {
	subscription, err := l.connection.Subscribe(l.subject(consumer), func(message *nats.Msg) { take(message.Data) })
	if err != nil {
		return err
	}
	// Nothing is dropped for want of room.
	return subscription.SetPendingLimits(-1, -1)
}

func (l *natsLink) publisher(producer int) (func([]byte) error, error) {
	subject := l.subject(l.c.receiver(producer))
	return func(content []byte) error { return l.connection.Publish(subject, content) }, nil
}

func (l *natsLink) flush() error { return l.connection.Flush() }
