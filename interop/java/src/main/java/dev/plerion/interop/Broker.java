package dev.plerion.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

/** A scenario's connection to the broker, with a topic of its own. */
final class Broker implements AutoCloseable {
    static final int PRESENT_MS = 10_000;
    static final int ABSENT_MS = 400;

    final String topic;
    final PulsarClient client;
    final PulsarAdmin admin;

    Broker(String scenario) throws Exception {
        topic = "persistent://public/default/java-" + scenario.replace(' ', '-') + "-" + System.nanoTime();
        client = PulsarClient.builder().serviceUrl(setting("PLERION_URL", "pulsar://127.0.0.1:6650")).build();
        admin = PulsarAdmin.builder().serviceHttpUrl(setting("PLERION_HTTP", "http://127.0.0.1:8080")).build();
    }

    private static String setting(String key, String otherwise) {
        String value = System.getenv(key);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    @Override
    public void close() throws Exception {
        client.close();
        admin.close();
    }

    Producer<byte[]> producer() throws Exception {
        return client.newProducer().topic(topic).enableBatching(false).blockIfQueueFull(true).create();
    }

    ConsumerBuilder<byte[]> consumer() {
        return client.newConsumer().topic(topic).subscriptionName("s");
    }

    /** Sends m0, m1 … and returns their ids once all are acknowledged. */
    static List<MessageId> sendAll(Producer<byte[]> producer, int count) {
        List<CompletableFuture<MessageId>> sent = new ArrayList<>();
        for (int at = 0; at < count; at++) {
            sent.add(producer.newMessage().value(("m" + at).getBytes()).sendAsync());
        }
        return sent.stream().map(CompletableFuture::join).toList();
    }

    /** The next messages, unacknowledged. */
    static <T> List<Message<T>> receive(Consumer<T> consumer, int count) throws Exception {
        List<Message<T>> messages = new ArrayList<>();
        while (messages.size() < count) {
            Message<T> message = consumer.receive(PRESENT_MS, TimeUnit.MILLISECONDS);
            expect(message != null, "got " + messages.size() + " of " + count + " messages");
            messages.add(message);
        }
        return messages;
    }

    /** Receives and acknowledges until nothing comes any more. */
    static <T> List<Message<T>> drain(Consumer<T> consumer) throws Exception {
        List<Message<T>> messages = new ArrayList<>();
        Message<T> message;
        while ((message = consumer.receive(ABSENT_MS, TimeUnit.MILLISECONDS)) != null) {
            consumer.acknowledge(message);
            messages.add(message);
        }
        return messages;
    }

    /** Fails unless the messages are m{@code first} up to, without, m{@code end}. */
    static void expectInOrder(List<Message<byte[]>> messages, int first, int end) {
        List<String> got = messages.stream().map(message -> new String(message.getData())).toList();
        List<String> wanted = new ArrayList<>();
        for (int at = first; at < end; at++) {
            wanted.add("m" + at);
        }
        expect(got.equals(wanted), "got " + got + ", want " + wanted);
    }

    static void expectNothing(Consumer<?> consumer) throws Exception {
        int count = drain(consumer).size();
        expect(count == 0, count + " unexpected messages");
    }

    static void expect(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    static void expectFailure(Class<? extends Exception> kind, Callable<?> action) throws Exception {
        try {
            action.call();
        } catch (Exception failure) {
            expect(kind.isInstance(failure), "got " + failure + ", want " + kind.getSimpleName());
            return;
        }
        throw new AssertionError("succeeded, want " + kind.getSimpleName());
    }
}
