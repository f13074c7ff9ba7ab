package dev.plerion.interop;

import static dev.plerion.interop.Broker.drain;
import static dev.plerion.interop.Broker.expect;
import static dev.plerion.interop.Broker.expectFailure;
import static dev.plerion.interop.Broker.expectInOrder;
import static dev.plerion.interop.Broker.expectNothing;
import static dev.plerion.interop.Broker.receive;
import static dev.plerion.interop.Broker.sendAll;

import dev.plerion.interop.Main.Scenario;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.KeySharedPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Range;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.TableView;
import org.apache.pulsar.client.api.Schema;

/** Subscriptions, acknowledgement, redelivery, seek, readers. */
final class Consuming {

    static void scenarios(Map<String, Scenario> all) {
        all.put("an exclusive subscription refuses a second consumer", Consuming::exclusive);
        all.put("acknowledgements with receipt are answered", Consuming::ackWithReceipt);
        all.put("a cumulative acknowledgement covers what is before it", Consuming::cumulative);
        all.put("batch index acknowledgement brings back only the rest", Consuming::batchIndex);
        all.put("negative acknowledgement counts up to the dead letter topic", Consuming::deadLetter);
        all.put("a key keeps to one consumer", Consuming::keyShared);
        all.put("sticky ranges that overlap are refused", Consuming::sticky);
        all.put("seek by id and by time", Consuming::seek);
        all.put("a reader reads to the end", Consuming::reader);
        all.put("a table view follows its topic", Consuming::tableView);
        all.put("a pattern consumer is told of a new topic", Consuming::pattern);
        all.put("a drained terminated topic is reported as ended", Consuming::endOfTopic);
    }

    private static void exclusive(Broker broker) throws Exception {
        broker.consumer().subscribe();
        expectFailure(PulsarClientException.ConsumerBusyException.class, () -> broker.consumer().subscribe());
    }

    private static void ackWithReceipt(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().isAckReceiptEnabled(true)
                .subscriptionType(SubscriptionType.Shared).subscribe();
        sendAll(broker.producer(), 100);
        List<CompletableFuture<Void>> acknowledged = new ArrayList<>();
        for (Message<byte[]> message : receive(consumer, 100)) {
            acknowledged.add(consumer.acknowledgeAsync(message));
        }
        CompletableFuture.allOf(acknowledged.toArray(CompletableFuture[]::new)).get(Broker.PRESENT_MS, TimeUnit.MILLISECONDS);
        long backlog = broker.admin.topics().getStats(broker.topic).getSubscriptions().get("s").getMsgBacklog();
        expect(backlog == 0, "backlog " + backlog + " although every acknowledgement was answered");
    }

    private static void cumulative(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().isAckReceiptEnabled(true).subscribe();
        sendAll(broker.producer(), 20);
        consumer.acknowledgeCumulative(receive(consumer, 20).get(11));
        consumer.close();
        expectInOrder(drain(broker.consumer().subscribe()), 12, 20);
    }

    private static void batchIndex(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().enableBatchIndexAcknowledgment(true).isAckReceiptEnabled(true).subscribe();
        Producer<byte[]> producer = broker.client.newProducer().topic(broker.topic)
                .batchingMaxPublishDelay(1, TimeUnit.SECONDS).batchingMaxMessages(10).create();
        sendAll(producer, 10);
        List<Message<byte[]>> messages = receive(consumer, 10);
        for (Message<byte[]> message : messages.subList(0, 7)) {
            consumer.acknowledge(message);
        }
        consumer.close();
        expectInOrder(drain(broker.consumer().enableBatchIndexAcknowledgment(true).subscribe()), 7, 10);
    }

    private static void deadLetter(Broker broker) throws Exception {
        Consumer<byte[]> dead = broker.client.newConsumer().topic(broker.topic + "-dead").subscriptionName("d").subscribe();
        Consumer<byte[]> consumer = broker.consumer().subscriptionType(SubscriptionType.Shared)
                .negativeAckRedeliveryDelay(100, TimeUnit.MILLISECONDS)
                .deadLetterPolicy(DeadLetterPolicy.builder().maxRedeliverCount(2).deadLetterTopic(broker.topic + "-dead").build())
                .subscribe();
        sendAll(broker.producer(), 1);
        for (int count = 0; count < 3; count++) {
            Message<byte[]> message = receive(consumer, 1).get(0);
            expect(message.getRedeliveryCount() == count, "redelivery count " + message.getRedeliveryCount() + ", want " + count);
            consumer.negativeAcknowledge(message);
        }
        expectInOrder(receive(dead, 1), 0, 1);
        expectNothing(consumer);
    }

    private static void keyShared(Broker broker) throws Exception {
        List<Consumer<byte[]>> consumers = new ArrayList<>();
        for (int at = 0; at < 3; at++) {
            consumers.add(broker.consumer().subscriptionType(SubscriptionType.Key_Shared).subscribe());
        }
        Producer<byte[]> producer = broker.producer();
        for (int at = 0; at < 400; at++) {
            producer.newMessage().key("k" + at % 40).value(Integer.toString(at).getBytes()).sendAsync();
        }
        producer.flush();
        Map<String, Set<Integer>> homes = new HashMap<>();
        int total = 0;
        for (int at = 0; at < consumers.size(); at++) {
            Map<String, Integer> last = new HashMap<>();
            for (Message<byte[]> message : drain(consumers.get(at))) {
                int number = Integer.parseInt(new String(message.getData()));
                Integer before = last.put(message.getKey(), number);
                expect(before == null || before < number, message.getKey() + ": " + number + " after " + before);
                homes.computeIfAbsent(message.getKey(), key -> new HashSet<>()).add(at);
                total++;
            }
        }
        expect(total == 400, total + " messages, want 400");
        expect(homes.values().stream().allMatch(home -> home.size() == 1), "a key came to two consumers: " + homes);
    }

    private static void sticky(Broker broker) throws Exception {
        withRange(broker, Range.of(0, 32767));
        withRange(broker, Range.of(32768, 65535));
        expectFailure(PulsarClientException.ConsumerAssignException.class, () -> withRange(broker, Range.of(100, 200)));
    }

    private static Consumer<byte[]> withRange(Broker broker, Range range) throws Exception {
        return broker.consumer().subscriptionType(SubscriptionType.Key_Shared)
                .keySharedPolicy(KeySharedPolicy.stickyHashRange().ranges(range)).subscribe();
    }

    private static void seek(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().subscribe();
        List<MessageId> ids = sendAll(broker.producer(), 10);
        expectInOrder(drain(consumer), 0, 10);
        consumer.seek(ids.get(4));
        expectInOrder(drain(consumer), 5, 10);
        consumer.seek(System.currentTimeMillis() - 3_600_000);
        expectInOrder(drain(consumer), 0, 10);
        consumer.seek(MessageId.latest);
        expectNothing(consumer);
        expect(consumer.getLastMessageIds().get(0).compareTo(ids.get(9)) == 0, "the last message id is that of the last send");
    }

    private static void reader(Broker broker) throws Exception {
        Reader<byte[]> reader = broker.client.newReader().topic(broker.topic).startMessageId(MessageId.earliest).create();
        expect(!reader.hasMessageAvailable(), "an empty topic has a message available");
        List<MessageId> ids = sendAll(broker.producer(), 20);
        expectInOrder(read(reader), 0, 20);
        Reader<byte[]> later = broker.client.newReader().topic(broker.topic).startMessageId(ids.get(9)).startMessageIdInclusive().create();
        expectInOrder(read(later), 9, 20);
    }

    private static List<Message<byte[]>> read(Reader<byte[]> reader) throws Exception {
        List<Message<byte[]>> messages = new ArrayList<>();
        while (reader.hasMessageAvailable()) {
            messages.add(reader.readNext(Broker.PRESENT_MS, TimeUnit.MILLISECONDS));
        }
        return messages;
    }

    private static void tableView(Broker broker) throws Exception {
        Producer<byte[]> producer = broker.producer();
        producer.newMessage().key("a").value("1".getBytes()).send();
        producer.newMessage().key("a").value("2".getBytes()).send();
        try (TableView<byte[]> view = broker.client.newTableView(Schema.BYTES).topic(broker.topic).create()) {
            expect(new String(view.get("a")).equals("2"), "holds the latest");
            producer.newMessage().key("b").value("3".getBytes()).send();
            view.refreshAsync().get(Broker.PRESENT_MS, TimeUnit.MILLISECONDS);
            expect(new String(view.get("b")).equals("3"), "follows");
        }
    }

    private static void pattern(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.client.newConsumer().subscriptionName("s")
                .topicsPattern(Pattern.compile(broker.topic + "-.*"))
                .patternAutoDiscoveryPeriod(1, TimeUnit.SECONDS)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
        for (int at = 0; at < 2; at++) {
            try (Producer<byte[]> producer = broker.client.newProducer().topic(broker.topic + "-" + at).create()) {
                producer.send("x".getBytes());
            }
            expect(receive(consumer, 1).get(0).getTopicName().endsWith("-" + at), "comes from the new topic");
        }
    }

    private static void endOfTopic(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().subscribe();
        sendAll(broker.producer(), 3);
        broker.admin.topics().terminateTopic(broker.topic);
        expectInOrder(drain(consumer), 0, 3);
        long deadline = System.currentTimeMillis() + Broker.PRESENT_MS;
        while (!consumer.hasReachedEndOfTopic()) {
            expect(System.currentTimeMillis() < deadline, "not told of the end of the topic");
            Thread.sleep(20);
        }
        expectFailure(PulsarClientException.TopicTerminatedException.class, broker::producer);
    }

    private Consuming() {}
}
