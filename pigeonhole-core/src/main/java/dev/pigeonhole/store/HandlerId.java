package dev.pigeonhole.store;

/**
 * A handler key as the database knows it. A key and its former keys are one <em>family</em> and
 * share its number, so that a rename can never create a second delivery, whichever version of the
 * application accepts; the exact key is kept beside it so that one can see which name a row was
 * created under.
 *
 * @param key the exact handler key
 * @param keyId the number of this exact key
 * @param family the number that stands in the rows of all keys of the family
 */
public record HandlerId(String key, int keyId, int family) {}
