package dev.plerion.interop;

import static dev.plerion.interop.Broker.expect;
import static dev.plerion.interop.Broker.expectFailure;
import static dev.plerion.interop.Broker.expectInOrder;
import static dev.plerion.interop.Broker.receive;
import static dev.plerion.interop.Broker.sendAll;

import dev.plerion.interop.Main.Scenario;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.GenericRecord;

/** Producers, batches, chunks, schemas. */
final class Publishing {

    /** A record for the schema scenarios. */
    public static class User {
        public String name;
        public int age;
    }

    static void scenarios(Map<String, Scenario> all) {
        all.put("messages arrive in order", Publishing::inOrder);
        all.put("batched messages arrive in order", Publishing::batched);
        all.put("a large message is put together again", Publishing::chunked);
        all.put("an exclusive producer keeps others out and is fenced", Publishing::accessModes);
        all.put("a producer sends again what an unload cut off", Publishing::unload);
        all.put("schemas are registered and enforced", Publishing::schemas);
    }

    private static void inOrder(Broker broker) throws Exception {
        try (Consumer<byte[]> consumer = broker.consumer().subscribe(); Producer<byte[]> producer = broker.producer()) {
            sendAll(producer, 1000);
            expectInOrder(receive(consumer, 1000), 0, 1000);
        }
    }

    private static void batched(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().subscribe();
        Producer<byte[]> producer = broker.client.newProducer().topic(broker.topic)
                .batchingMaxPublishDelay(1, TimeUnit.SECONDS).batchingMaxMessages(100).create();
        sendAll(producer, 1000);
        expectInOrder(receive(consumer, 1000), 0, 1000);
        long entries = broker.admin.topics().getInternalStats(broker.topic).numberOfEntries;
        expect(entries == 10, entries + " entries, want 10");
    }

    private static void chunked(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().subscribe();
        Producer<byte[]> producer = broker.client.newProducer().topic(broker.topic)
                .enableBatching(false).enableChunking(true).create();
        byte[] payload = new byte[5 << 20];
        for (int at = 0; at < payload.length; at++) {
            payload[at] = (byte) (at * 31);
        }
        producer.send(payload);
        expect(Arrays.equals(receive(consumer, 1).get(0).getData(), payload), "came back changed");
    }

    private static void accessModes(Broker broker) throws Exception {
        Producer<byte[]> old = with(broker, ProducerAccessMode.Exclusive).join();
        expectFailure(PulsarClientException.ProducerBusyException.class,
                () -> broker.client.newProducer().topic(broker.topic).create());
        CompletableFuture<Producer<byte[]>> waiting = with(broker, ProducerAccessMode.WaitForExclusive);
        Thread.sleep(Broker.ABSENT_MS);
        expect(!waiting.isDone(), "did not wait for the owner");
        old.close();
        Producer<byte[]> next = waiting.get(Broker.PRESENT_MS, TimeUnit.MILLISECONDS);
        next.send("x".getBytes());
        Producer<byte[]> last = with(broker, ProducerAccessMode.ExclusiveWithFencing).join();
        last.send("y".getBytes());
        expectFailure(PulsarClientException.class, () -> next.send("too late".getBytes()));
    }

    private static CompletableFuture<Producer<byte[]>> with(Broker broker, ProducerAccessMode mode) {
        return broker.client.newProducer().topic(broker.topic).accessMode(mode).createAsync();
    }

    private static void unload(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().subscribe();
        Producer<byte[]> producer = broker.producer();
        CompletableFuture<Void> unloaded = broker.admin.topics().unloadAsync(broker.topic);
        sendAll(producer, 2000);
        unloaded.join();
        int next = 0;
        while (next < 2000) {
            int got = Integer.parseInt(new String(receive(consumer, 1).get(0).getData()).substring(1));
            expect(got <= next, "m" + next + " is missing before m" + got);
            next = Math.max(next, got + 1);
        }
    }

    private static void schemas(Broker broker) throws Exception {
        Consumer<User> consumer = broker.client.newConsumer(Schema.AVRO(User.class))
                .topic(broker.topic).subscriptionName("s").subscribe();
        Consumer<GenericRecord> any = broker.client.newConsumer(Schema.AUTO_CONSUME())
                .topic(broker.topic).subscriptionName("any").subscribe();
        Producer<User> producer = broker.client.newProducer(Schema.AVRO(User.class)).topic(broker.topic).create();
        User user = new User();
        user.name = "ada";
        user.age = 36;
        producer.send(user);
        Message<User> message = receive(consumer, 1).get(0);
        expect(message.getValue().name.equals("ada") && message.getValue().age == 36, "the record changed");
        expect(Arrays.equals(message.getSchemaVersion(), new byte[8]), "the first version is 0");
        expect(receive(any, 1).get(0).getValue().getField("name").toString().equals("ada"), "decoded by its schema");
        expectFailure(PulsarClientException.IncompatibleSchemaException.class,
                () -> broker.client.newProducer(Schema.STRING).topic(broker.topic).create());
        expect(broker.admin.schemas().getSchemaInfo(broker.topic).getType().name().equals("AVRO"), "shown over REST");
    }

    private Publishing() {}
}
