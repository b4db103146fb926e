package main

import (
	"context"
	"crypto/tls"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

const news = "whimbrel.news"

// A channel for each agent, which RabbitMQ advises, on a few connections; nothing is durable, and nobody confirms.
type rabbitLink struct {
	c           *testCase
	connections []*amqp.Connection
}

// More do not make it faster on few cores: the broker is what is busy.
const connections = 4

func connectRabbitMQ(c *testCase) (link, error) {
	var config *tls.Config
	scheme := "amqp"
	if c.secure {
		scheme = "amqps"
		var err error
		if config, err = c.tls(); err != nil {
			return nil, err
		}
	}
	agents := c.producers
	if c.consumes {
		agents = c.consumers
	}
	l := &rabbitLink{c: c}
	for len(l.connections) < min(connections, agents) {
		connection, err := amqp.DialTLS(fmt.Sprintf("%s://guest:guest@%s/", scheme, c.address), config)
		if err != nil {
			return nil, err
		}
		l.connections = append(l.connections, connection)
	}
	return l, nil
}

func queue(consumer int) string { return fmt.Sprintf("whimbrel.agent%d", consumer) }

func (l *rabbitLink) channel(agent int) (*amqp.Channel, error) {
	channel, err := l.connections[agent%len(l.connections)].Channel()
	if err != nil || !l.c.isBroadcast() {
		return channel, err
	}
	return channel, channel.ExchangeDeclare(news, "fanout", false, true, false, false, nil)
}

func (l *rabbitLink) subscribe(consumer int, take func([]byte)) error {
	channel, err := l.channel(consumer)
	if err != nil {
		return err
	}
	if _, err = channel.QueueDeclare(queue(consumer), false, true, true, false, nil); err != nil {
		return err
	}
	if l.c.isBroadcast() {
		if err = channel.QueueBind(queue(consumer), "", news, false, nil); err != nil {
			return err
		}
	}
	deliveries, err := channel.Consume(queue(consumer), "", true, true, false, false, nil)
	if err != nil {
		return err
	}
	go func() {
		for delivery := range deliveries {
			take(delivery.Body)
		}
	}()
	return nil
}

func (l *rabbitLink) publisher(producer int) (func([]byte) error, error) {
	channel, err := l.channel(producer)
	exchange, key := "", queue(l.c.receiver(producer))
	if l.c.isBroadcast() {
		exchange, key = news, ""
	}
	return func(content []byte) error {
		return channel.PublishWithContext(context.Background(), exchange, key, false, false, amqp.Publishing{Body: content})
	}, err
}

// Each request was answered before the next was made.
func (l *rabbitLink) flush() error { return nil }
