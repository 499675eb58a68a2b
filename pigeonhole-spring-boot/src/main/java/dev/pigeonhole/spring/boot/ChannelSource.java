package dev.pigeonhole.spring.boot;

import dev.pigeonhole.spring.boot.PigeonholeProperties.Channel;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Transport;
import dev.pigeonhole.transport.MessageSource;

/** Feeds channels by one transport. */
interface ChannelSource {

  Transport transport();

  /**
   * Where the messages of a channel come from.
   *
   * @throws dev.pigeonhole.ConfigurationException if something is missing
   */
  MessageSource of(String channel, Channel properties);
}
