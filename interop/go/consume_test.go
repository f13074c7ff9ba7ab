package interop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestMessagesArriveInOrder(t *testing.T) {
	for _, batched := range []bool{false, true} {
		t.Run(fmt.Sprintf("batched %v", batched), func(t *testing.T) {
			client, topic := connect(t), newTopic(t)
			consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic})
			sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: !batched}), 1000)
			expectInOrder(t, receive(t, consumer, 1000), 0, 1000)
			expectNothing(t, consumer)
		})
	}
}

func TestLargeMessageIsPutTogetherAgain(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic})
	producer := produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: true, EnableChunking: true})
	payload := make([]byte, 5<<20)
	for at := range payload {
		payload[at] = byte(at * 31)
	}
	_, err := producer.Send(context.Background(), &pulsar.ProducerMessage{Payload: payload})
	check(t, err)
	if got := receive(t, consumer, 1)[0].Payload(); string(got) != string(payload) {
		t.Fatalf("%d bytes came back changed", len(got))
	}
}

func TestAckWithReceiptIsAnswered(t *testing.T) {
	client, topic, rest := connect(t), newTopic(t), connectAdmin(t)
	options := pulsar.ConsumerOptions{Topic: topic, AckWithResponse: true, Type: pulsar.Shared}
	consumer := subscribe(t, client, options)
	sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: true}), 100)
	for _, message := range receive(t, consumer, 100) {
		check(t, consumer.Ack(message))
	}
	stats, err := rest.Topics().GetStats(topicName(t, topic))
	check(t, err)
	if backlog := stats.Subscriptions["s"].MsgBacklog; backlog != 0 {
		t.Fatalf("backlog %d although every acknowledgement was answered", backlog)
	}
	consumer.Close()
	expectNothing(t, subscribe(t, client, options))
}

func TestAckListAndCumulativeWithReceipt(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	options := pulsar.ConsumerOptions{Topic: topic, AckWithResponse: true}
	consumer := subscribe(t, client, options)
	sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: true}), 20)
	messages := receive(t, consumer, 20)
	check(t, consumer.AckCumulative(messages[9]))
	check(t, consumer.AckIDList([]pulsar.MessageID{messages[10].ID(), messages[11].ID()}))
	consumer.Close()
	expectInOrder(t, drain(t, subscribe(t, client, options)), 12, 20)
}

func TestBatchIndexAckBringsBackOnlyTheRest(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	options := pulsar.ConsumerOptions{Topic: topic, EnableBatchIndexAcknowledgment: true, AckWithResponse: true}
	consumer := subscribe(t, client, options)
	producer := produce(t, client, pulsar.ProducerOptions{Topic: topic, BatchingMaxPublishDelay: time.Second, BatchingMaxMessages: 10})
	sendAll(t, producer, 10)
	for at, message := range receive(t, consumer, 10) {
		if at < 7 {
			check(t, consumer.Ack(message))
		}
	}
	consumer.Close()
	expectInOrder(t, drain(t, subscribe(t, client, options)), 7, 10)
}

func TestNackCountsUpAndEndsInTheDeadLetterTopic(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	dead := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic + "-dead"})
	consumer := subscribe(t, client, pulsar.ConsumerOptions{
		Topic: topic, Type: pulsar.Shared, NackRedeliveryDelay: 100 * time.Millisecond,
		DLQ: &pulsar.DLQPolicy{MaxDeliveries: 3, DeadLetterTopic: topic + "-dead"},
	})
	sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic}), 1)
	for count := range uint32(3) {
		message := receive(t, consumer, 1)[0]
		if message.RedeliveryCount() != count {
			t.Fatalf("redelivery count %d, want %d", message.RedeliveryCount(), count)
		}
		consumer.Nack(message)
	}
	expectInOrder(t, receive(t, dead, 1), 0, 1)
	expectNothing(t, consumer)
}

func TestRetryLetterTopicDelaysAMessage(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{
		Topic: topic, Type: pulsar.Shared, RetryEnable: true,
		DLQ: &pulsar.DLQPolicy{MaxDeliveries: 2, RetryLetterTopic: topic + "-retry", DeadLetterTopic: topic + "-dead"},
	})
	sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic}), 1)
	started := time.Now()
	consumer.ReconsumeLater(receive(t, consumer, 1)[0], time.Second)
	expectInOrder(t, receive(t, consumer, 1), 0, 1)
	if waited := time.Since(started); waited < 900*time.Millisecond {
		t.Fatalf("came back after %s", waited)
	}
}

func TestSeekByIDAndTime(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic})
	producer := produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: true})
	ids := sendAll(t, producer, 10)
	expectInOrder(t, drain(t, consumer), 0, 10)
	check(t, consumer.SeekByTime(time.Now().Add(-time.Hour)))
	expectInOrder(t, drain(t, consumer), 0, 10)
	check(t, consumer.Seek(ids[4]))
	expectInOrder(t, drain(t, consumer), 5, 10)
	check(t, consumer.SeekByTime(time.Now().Add(time.Hour)))
	expectNothing(t, consumer)
}

func TestReaderReadsToTheEndAndSeeks(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	reader, err := client.CreateReader(pulsar.ReaderOptions{Topic: topic, StartMessageID: pulsar.EarliestMessageID()})
	check(t, err)
	defer reader.Close()
	if reader.HasNext() {
		t.Fatal("an empty topic has a next message")
	}
	ids := sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic}), 20)
	read := func() (messages []pulsar.Message) {
		for reader.HasNext() {
			message, err := reader.Next(context.Background())
			check(t, err)
			messages = append(messages, message)
		}
		return
	}
	expectInOrder(t, read(), 0, 20)
	check(t, reader.Seek(ids[9]))
	expectInOrder(t, read(), 10, 20)
	last, err := reader.GetLastMessageID()
	check(t, err)
	if last.EntryID() != ids[19].EntryID() {
		t.Fatalf("last message id %v, want %v", last, ids[19])
	}
}

func TestZeroQueueConsumerSurvivesAnUnload(t *testing.T) {
	beyondPulsar(t, "an unload may forget acknowledgements")
	client, topic, rest := connect(t), newTopic(t), connectAdmin(t)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic, EnableZeroQueueConsumer: true, AckWithResponse: true})
	producer := produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: true})
	sendAll(t, producer, 3)
	for _, message := range receive(t, consumer, 2) {
		check(t, consumer.Ack(message))
	}
	check(t, rest.Topics().Unload(topicName(t, topic)))
	expectInOrder(t, receive(t, consumer, 1), 2, 3)
}

func TestDelayedMessageWaits(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic, Type: pulsar.Shared})
	producer := produce(t, client, pulsar.ProducerOptions{Topic: topic})
	_, err := producer.Send(context.Background(), &pulsar.ProducerMessage{Payload: []byte("m0"), DeliverAfter: time.Second})
	check(t, err)
	expectNothing(t, consumer)
	expectInOrder(t, receive(t, consumer, 1), 0, 1)
}
