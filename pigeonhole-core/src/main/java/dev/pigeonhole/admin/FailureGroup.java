package dev.pigeonhole.admin;

import java.time.Instant;
import java.util.List;

/**
 * Poisoned deliveries that failed alike.
 *
 * @param fingerprint what {@link DeliverySelection#failedWith} takes
 * @param type the exception's class name, or a code where there was no exception
 * @param sample what the newest of them says
 * @param handlers the keys they failed under
 * @param first when the first of them was poisoned
 * @param last when the last of them was poisoned
 */
public record FailureGroup(
    String fingerprint,
    String type,
    String sample,
    Count deliveries,
    List<String> handlers,
    Instant first,
    Instant last) {}
