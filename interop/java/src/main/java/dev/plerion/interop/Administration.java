package dev.plerion.interop;

import static dev.plerion.interop.Broker.expect;
import static dev.plerion.interop.Broker.expectFailure;
import static dev.plerion.interop.Broker.expectInOrder;
import static dev.plerion.interop.Broker.receive;
import static dev.plerion.interop.Broker.sendAll;

import dev.plerion.interop.Main.Scenario;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.apache.pulsar.common.policies.data.SubscriptionStats;
import org.apache.pulsar.common.policies.data.TenantInfo;
import org.apache.pulsar.common.policies.data.TopicStats;

/** The calls of the admin library that operators make every day. */
final class Administration {

    static void scenarios(Map<String, Scenario> all) {
        all.put("tenants and namespaces are made and removed", Administration::tenants);
        all.put("a partitioned topic is made, used and grown", Administration::partitions);
        all.put("stats show producers, consumers and backlog", Administration::stats);
        all.put("subscriptions are made, skipped, reset and removed", Administration::subscriptions);
        all.put("the broker is healthy and listed", Administration::brokers);
    }

    private static void tenants(Broker broker) throws Exception {
        String tenant = "java-" + System.nanoTime(), namespace = tenant + "/ns";
        List<String> clusters = broker.admin.clusters().getClusters();
        broker.admin.tenants().createTenant(tenant, TenantInfo.builder().allowedClusters(Set.copyOf(clusters)).build());
        expectFailure(PulsarAdminException.ConflictException.class, () -> {
            broker.admin.tenants().createTenant(tenant, TenantInfo.builder().allowedClusters(Set.copyOf(clusters)).build());
            return null;
        });
        broker.admin.namespaces().createNamespace(namespace, 8);
        expect(broker.admin.namespaces().getNamespaces(tenant).equals(List.of(namespace)), "the namespace is listed");
        expect(broker.admin.namespaces().getBundles(namespace).getNumBundles() == 8, "it has its bundles");
        broker.admin.namespaces().setRetention(namespace, new RetentionPolicies(10, 20));
        expect(broker.admin.namespaces().getRetention(namespace).getRetentionTimeInMinutes() == 10, "retention is kept");
        broker.admin.namespaces().deleteNamespace(namespace);
        broker.admin.tenants().deleteTenant(tenant);
        expectFailure(PulsarAdminException.NotFoundException.class, () -> broker.admin.tenants().getTenantInfo(tenant));
    }

    private static void partitions(Broker broker) throws Exception {
        broker.admin.topics().createPartitionedTopic(broker.topic, 3);
        Consumer<byte[]> consumer = broker.consumer().subscribe();
        Producer<byte[]> producer = broker.client.newProducer().topic(broker.topic).enableBatching(false)
                .messageRoutingMode(MessageRoutingMode.RoundRobinPartition).create();
        sendAll(producer, 30);
        expect(receive(consumer, 30).stream().map(message -> message.getTopicName()).distinct().count() == 3, "uses all partitions");
        broker.admin.topics().updatePartitionedTopic(broker.topic, 5);
        expect(broker.client.getPartitionsForTopic(broker.topic, false).get().size() == 5, "has grown");
        expect(broker.admin.topics().getSubscriptions(broker.topic + "-partition-4").equals(List.of("s")), "with its subscriptions");
    }

    private static void stats(Broker broker) throws Exception {
        Consumer<byte[]> consumer = broker.consumer().consumerName("c").receiverQueueSize(0).subscribe();
        sendAll(broker.producer(), 10);
        TopicStats stats = broker.admin.topics().getStats(broker.topic);
        SubscriptionStats subscription = stats.getSubscriptions().get("s");
        expect(stats.getPublishers().size() == 1, "one publisher");
        expect(subscription.getMsgBacklog() == 10, "backlog " + subscription.getMsgBacklog() + ", want 10");
        expect(subscription.getType().equals("Exclusive"), "type " + subscription.getType());
        expect(subscription.getConsumers().get(0).getConsumerName().equals("c"), "the consumer is named");
        expect(broker.admin.topics().getInternalStats(broker.topic).numberOfEntries == 10, "ten entries");
        consumer.close();
    }

    private static void subscriptions(Broker broker) throws Exception {
        broker.admin.topics().createNonPartitionedTopic(broker.topic);
        broker.admin.topics().createSubscription(broker.topic, "s", MessageId.earliest);
        List<MessageId> ids = sendAll(broker.producer(), 10);
        expect(broker.admin.topics().getLastMessageId(broker.topic).compareTo(ids.get(9)) == 0, "the last message id");
        expect(new String(broker.admin.topics().peekMessages(broker.topic, "s", 2).get(1).getData()).equals("m1"), "peeks");
        broker.admin.topics().skipMessages(broker.topic, "s", 4);
        try (Consumer<byte[]> consumer = broker.consumer().subscribe()) {
            expectInOrder(receive(consumer, 6), 4, 10);
        }
        broker.admin.topics().resetCursor(broker.topic, "s", ids.get(7));
        try (Consumer<byte[]> consumer = broker.consumer().subscribe()) {
            expectInOrder(receive(consumer, 3), 7, 10);
        }
        broker.admin.topics().skipAllMessages(broker.topic, "s");
        expect(broker.admin.topics().getStats(broker.topic).getSubscriptions().get("s").getMsgBacklog() == 0, "nothing is left");
        broker.admin.topics().deleteSubscription(broker.topic, "s");
        expect(broker.admin.topics().getSubscriptions(broker.topic).isEmpty(), "the subscription is gone");
        broker.admin.topics().delete(broker.topic, true);
        expectFailure(PulsarAdminException.NotFoundException.class, () -> broker.admin.topics().getStats(broker.topic));
    }

    private static void brokers(Broker broker) throws Exception {
        broker.admin.brokers().healthcheck();
        String cluster = broker.admin.clusters().getClusters().get(0);
        expect(broker.admin.brokers().getActiveBrokers(cluster).size() == 1, "one broker is listed");
        expect(broker.admin.lookups().lookupTopic(broker.topic).startsWith("pulsar://"), "lookup names the broker");
    }

    private Administration() {}
}
