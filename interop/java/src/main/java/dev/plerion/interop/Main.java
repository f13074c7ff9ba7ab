package dev.plerion.interop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs every scenario against the broker at PLERION_URL and PLERION_HTTP, and counts what passed. */
public final class Main {

    /** One behaviour that is checked; fails by throwing. */
    interface Scenario {
        void run(Broker broker) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        Publishing.scenarios(scenarios);
        Consuming.scenarios(scenarios);
        Administration.scenarios(scenarios);
        List<String> failed = new ArrayList<>();
        int passed = 0;
        for (Map.Entry<String, Scenario> scenario : scenarios.entrySet()) {
            long started = System.nanoTime();
            try (Broker broker = new Broker(scenario.getKey())) {
                scenario.getValue().run(broker);
                passed++;
                System.out.printf("PASS %s (%d ms)%n", scenario.getKey(), (System.nanoTime() - started) / 1_000_000);
            } catch (Throwable failure) {
                failed.add(scenario.getKey());
                System.out.printf("FAIL %s: %s%n", scenario.getKey(), failure);
                failure.printStackTrace(System.out);
            }
        }
        System.out.printf("%d passed, %d failed%n", passed, failed.size());
        System.exit(failed.isEmpty() ? 0 : 1);
    }

    private Main() {}
}
