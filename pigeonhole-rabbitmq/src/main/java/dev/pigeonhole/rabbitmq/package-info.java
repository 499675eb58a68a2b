/** Messages from RabbitMQ, and to it; nothing is acknowledged before it is taken. */
@NullMarked
package dev.pigeonhole.rabbitmq;

import org.jspecify.annotations.NullMarked;
