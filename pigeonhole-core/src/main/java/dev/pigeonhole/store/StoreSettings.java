package dev.pigeonhole.store;

/**
 * What an inbox tells its store when it opens it.
 *
 * @param inbox the inbox's name; one set of tables belongs to one inbox
 * @param lanes how many lanes the inbox has; kept in the schema from the first start on
 * @param connections how many connections the engine may hold at once, beside the one for beats
 * @param maxPayload the largest payload in bytes
 */
public record StoreSettings(String inbox, int lanes, int connections, int maxPayload) {

  /** Connections of an engine without transactional handlers: accepting, reading, settling. */
  public static final int ENGINE_CONNECTIONS = 3;
}
