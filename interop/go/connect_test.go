// Package interop drives a broker with the official Go client and admin library.
package interop

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/apache/pulsar-client-go/pulsaradmin"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/admin"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

// How long a message that must come may take, and how long one that must not come is waited for.
const (
	present = 10 * time.Second
	absent  = 400 * time.Millisecond
)

func env(key, otherwise string) string {
	if value := os.Getenv(key); value != "" {
		return value
	}
	return otherwise
}

var (
	serviceURL = env("PLERION_URL", "pulsar://127.0.0.1:6650")
	httpURL    = env("PLERION_HTTP", "http://127.0.0.1:8080")
)

// connect returns a client that is closed when the test ends.
func connect(t *testing.T) pulsar.Client {
	t.Helper()
	quiet := log.NewLoggerWithSlog(slog.New(slog.NewTextHandler(io.Discard, nil)))
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: serviceURL, OperationTimeout: 15 * time.Second, Logger: quiet})
	check(t, err)
	t.Cleanup(client.Close)
	return client
}

func connectAdmin(t *testing.T) admin.Client {
	t.Helper()
	client, err := pulsaradmin.NewClient(&pulsaradmin.Config{WebServiceURL: httpURL})
	check(t, err)
	return client
}

// beyondPulsar skips what Apache Pulsar itself does not keep, when it is what the suite runs against.
func beyondPulsar(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("PLERION_PEER_IS_PULSAR") != "" {
		t.Skip(reason)
	}
}

// newTopic is the name of a topic that no other test uses.
func newTopic(t *testing.T) string {
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	return fmt.Sprintf("persistent://public/default/go-%s-%d", name, time.Now().UnixNano())
}

func topicName(t *testing.T, topic string) utils.TopicName {
	t.Helper()
	name, err := utils.GetTopicName(topic)
	check(t, err)
	return *name
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func produce(t *testing.T, client pulsar.Client, options pulsar.ProducerOptions) pulsar.Producer {
	t.Helper()
	producer, err := client.CreateProducer(options)
	check(t, err)
	return producer
}

func subscribe(t *testing.T, client pulsar.Client, options pulsar.ConsumerOptions) pulsar.Consumer {
	t.Helper()
	if options.SubscriptionName == "" {
		options.SubscriptionName = "s"
	}
	consumer, err := client.Subscribe(options)
	check(t, err)
	return consumer
}

// sendAll sends m0, m1 … and returns their ids once all are acknowledged.
func sendAll(t *testing.T, producer pulsar.Producer, count int) []pulsar.MessageID {
	t.Helper()
	ids := make([]pulsar.MessageID, count)
	failures := make(chan error, count)
	for at := range count {
		message := &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "m%d", at)}
		producer.SendAsync(context.Background(), message, func(id pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			ids[at] = id
			failures <- err
		})
	}
	check(t, producer.Flush())
	for range count {
		check(t, <-failures)
	}
	return ids
}

// receive returns the next count messages, unacknowledged.
func receive(t *testing.T, consumer pulsar.Consumer, count int) []pulsar.Message {
	t.Helper()
	var messages []pulsar.Message
	for len(messages) < count {
		ctx, cancel := context.WithTimeout(context.Background(), present)
		message, err := consumer.Receive(ctx)
		cancel()
		if err != nil {
			t.Fatalf("got %d of %d messages: %v", len(messages), count, err)
		}
		messages = append(messages, message)
	}
	return messages
}

// drain receives and acknowledges until nothing comes any more.
func drain(t *testing.T, consumer pulsar.Consumer) []pulsar.Message {
	t.Helper()
	var messages []pulsar.Message
	for {
		ctx, cancel := context.WithTimeout(context.Background(), absent)
		message, err := consumer.Receive(ctx)
		cancel()
		if err != nil {
			return messages
		}
		check(t, consumer.Ack(message))
		messages = append(messages, message)
	}
}

func expectNothing(t *testing.T, consumer pulsar.Consumer) {
	t.Helper()
	if messages := drain(t, consumer); len(messages) > 0 {
		t.Fatalf("%d unexpected messages, the first %q", len(messages), messages[0].Payload())
	}
}

// expectInOrder fails unless the messages are m<first>, m<first+1> … m<end-1>.
func expectInOrder(t *testing.T, messages []pulsar.Message, first, end int) {
	t.Helper()
	if len(messages) != end-first {
		t.Fatalf("%d messages, want %d", len(messages), end-first)
	}
	for at, message := range messages {
		if want := fmt.Sprintf("m%d", first+at); string(message.Payload()) != want {
			t.Fatalf("message %d is %q, want %q", at, message.Payload(), want)
		}
	}
}

// expectText fails unless there is an error that names the server's error code.
func expectText(t *testing.T, err error, code string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(present); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, present)
		}
	}
}
