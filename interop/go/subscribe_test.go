package interop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

func TestExclusiveRefusesASecondConsumer(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	subscribe(t, client, pulsar.ConsumerOptions{Topic: topic})
	_, err := connect(t).Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "s"})
	expectText(t, err, "ConsumerBusy")
}

// activity records what a consumer was told about being the active one.
type activity struct {
	sync.Mutex
	told []bool
}

func (a *activity) BecameActive(pulsar.Consumer, string, int32)   { a.add(true) }
func (a *activity) BecameInactive(pulsar.Consumer, string, int32) { a.add(false) }

func (a *activity) add(active bool) {
	a.Lock()
	defer a.Unlock()
	a.told = append(a.told, active)
}

func (a *activity) is(want ...bool) bool {
	a.Lock()
	defer a.Unlock()
	return fmt.Sprint(a.told) == fmt.Sprint(want)
}

func TestFailoverConsumersAreToldWhoIsActive(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	listeners := [2]activity{}
	join := func(at int) pulsar.Consumer {
		return subscribe(t, client, pulsar.ConsumerOptions{
			Topic: topic, Type: pulsar.Failover, Name: fmt.Sprintf("c%d", at), EventListener: &listeners[at],
		})
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("told: %v and %v", listeners[0].told, listeners[1].told)
		}
	})
	first := join(0)
	eventually(t, "the lone consumer is active", func() bool { return listeners[0].is(true) })
	join(1)
	// The newcomer may be told that it is inactive before the client listens for it.
	time.Sleep(absent)
	takenOver := listeners[0].is(true, false) && listeners[1].is(true)
	if !takenOver && !(listeners[0].is(true) && (listeners[1].is() || listeners[1].is(false))) {
		t.Fatal("two consumers do not agree on who is active")
	}
	first.Close()
	eventually(t, "the one that is left is active", func() bool {
		return listeners[1].is(true) || !takenOver && listeners[1].is(false, true)
	})
}

func TestKeySharedKeepsAKeyAtOneConsumer(t *testing.T) {
	topic := newTopic(t)
	home := map[string]map[int]bool{}
	var consumers []pulsar.Consumer
	for range 3 {
		consumers = append(consumers, subscribe(t, connect(t), pulsar.ConsumerOptions{Topic: topic, Type: pulsar.KeyShared}))
	}
	producer := produce(t, connect(t), pulsar.ProducerOptions{Topic: topic, BatcherBuilderType: pulsar.KeyBasedBatchBuilder})
	for at := range 400 {
		producer.SendAsync(context.Background(), &pulsar.ProducerMessage{
			Key: fmt.Sprintf("k%d", at%40), Payload: fmt.Append(nil, at),
		}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	check(t, producer.Flush())
	total := 0
	for at, consumer := range consumers {
		last := map[string]int{}
		for _, message := range drain(t, consumer) {
			var number int
			fmt.Sscan(string(message.Payload()), &number)
			if before, seen := last[message.Key()]; seen && before >= number {
				t.Fatalf("key %s: %d after %d", message.Key(), number, before)
			}
			last[message.Key()] = number
			if home[message.Key()] == nil {
				home[message.Key()] = map[int]bool{}
			}
			home[message.Key()][at] = true
			total++
		}
	}
	if total != 400 || len(home) != 40 {
		t.Fatalf("%d messages of %d keys", total, len(home))
	}
	for key, at := range home {
		if len(at) != 1 {
			t.Fatalf("key %s came to %d consumers", key, len(at))
		}
	}
}

func TestPatternConsumerFindsATopicMadeLater(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	producer := func(at int) pulsar.Producer {
		return produce(t, client, pulsar.ProducerOptions{Topic: fmt.Sprintf("%s-%d", topic, at)})
	}
	sendAll(t, producer(0), 1)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{
		TopicsPattern: topic + "-.*", AutoDiscoveryPeriod: time.Second,
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	})
	expectInOrder(t, receive(t, consumer, 1), 0, 1)
	sendAll(t, producer(1), 1)
	expectInOrder(t, receive(t, consumer, 1), 0, 1)
}

func TestConsumerFollowsAGrowingTopic(t *testing.T) {
	client, topic, rest := connect(t), newTopic(t), connectAdmin(t)
	name := topicName(t, topic)
	check(t, rest.Topics().Create(name, 2))
	consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic, AutoDiscoveryPeriod: 500 * time.Millisecond})
	check(t, rest.Topics().Update(name, 5))
	partitions, err := client.TopicPartitions(topic)
	check(t, err)
	if len(partitions) != 5 {
		t.Fatalf("%d partitions", len(partitions))
	}
	for _, partition := range partitions {
		sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: partition}), 1)
	}
	receive(t, consumer, 5)
}

func TestExclusiveProducerKeepsOthersOut(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	open := func(mode pulsar.ProducerAccessMode) (pulsar.Producer, error) {
		return client.CreateProducer(pulsar.ProducerOptions{Topic: topic, ProducerAccessMode: mode})
	}
	owner, err := open(pulsar.ProducerAccessModeExclusive)
	check(t, err)
	_, err = open(pulsar.ProducerAccessModeExclusive)
	expectText(t, err, "ProducerFenced")
	waited := make(chan error, 1)
	go func() {
		_, err := open(pulsar.ProducerAccessModeWaitForExclusive)
		waited <- err
	}()
	select {
	case err := <-waited:
		t.Fatalf("did not wait for the owner: %v", err)
	case <-time.After(absent):
	}
	owner.Close()
	check(t, <-waited)
}

func TestSchemaIsEnforced(t *testing.T) {
	client, topic := connect(t), newTopic(t)
	definition := `{"type":"record","name":"User","fields":[{"name":"name","type":"string"}]}`
	type user struct {
		Name string `json:"name"`
	}
	schema := pulsar.NewJSONSchema(definition, nil)
	consumer := subscribe(t, client, pulsar.ConsumerOptions{Topic: topic, Schema: schema})
	producer := produce(t, client, pulsar.ProducerOptions{Topic: topic, Schema: schema})
	_, err := producer.Send(context.Background(), &pulsar.ProducerMessage{Value: user{"ada"}})
	check(t, err)
	var got user
	check(t, receive(t, consumer, 1)[0].GetSchemaValue(&got))
	if got.Name != "ada" {
		t.Fatalf("got %+v", got)
	}
	_, err = client.CreateProducer(pulsar.ProducerOptions{Topic: topic, Schema: pulsar.NewStringSchema(nil)})
	expectText(t, err, "IncompatibleSchema")
}

func TestAdminLibrary(t *testing.T) {
	client, topic, rest := connect(t), newTopic(t), connectAdmin(t)
	name := topicName(t, topic)
	namespace := fmt.Sprintf("public/go-%d", time.Now().UnixNano())
	check(t, rest.Namespaces().CreateNamespace(namespace))
	defer rest.Namespaces().DeleteNamespace(namespace)
	check(t, rest.Namespaces().SetRetention(namespace, utils.NewRetentionPolicies(10, 20)))
	policies, err := rest.Namespaces().GetPolicies(namespace)
	check(t, err)
	if kept := policies.RetentionPolicies; kept == nil || kept.RetentionTimeInMinutes != 10 || kept.RetentionSizeInMB != 20 {
		t.Fatalf("retention %+v", kept)
	}

	check(t, rest.Topics().Create(name, 0))
	check(t, rest.Subscriptions().Create(name, "s", utils.Earliest))
	ids := sendAll(t, produce(t, client, pulsar.ProducerOptions{Topic: topic, DisableBatching: true}), 5)
	stats, err := rest.Topics().GetStats(name)
	check(t, err)
	if stats.Subscriptions["s"].MsgBacklog != 5 || len(stats.Publishers) != 1 {
		t.Fatalf("stats %+v", stats)
	}
	last, err := rest.Topics().GetLastMessageID(name)
	check(t, err)
	if last.LedgerID != ids[4].LedgerID() || last.EntryID != ids[4].EntryID() {
		t.Fatalf("last message id %+v, want %v", last, ids[4])
	}
	check(t, rest.Subscriptions().ClearBacklog(name, "s"))
	subscriptions, err := rest.Subscriptions().List(name)
	check(t, err)
	if len(subscriptions) != 1 || subscriptions[0] != "s" {
		t.Fatalf("subscriptions %v", subscriptions)
	}
	_, err = rest.Topics().GetStats(topicName(t, newTopic(t)))
	if err == nil {
		t.Fatal("a missing topic has stats")
	}
	check(t, rest.Topics().Delete(name, true, true))
}
