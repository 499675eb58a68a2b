package dev.pigeonhole.lease;

/** The right to work on a key for a while, as the body of a {@link LeaseGuard} sees it. */
public interface Lease {

  /**
   * Same on every run of the key, different per handler, and the same as {@link
   * dev.pigeonhole.GuardTransaction#idempotencyKey}: hand it to whoever must not act twice. After a
   * crash the body runs again, and only this key tells the other side that it is a repeat.
   */
  String idempotencyKey();

  /**
   * Tells this run from every other one, in logs and in {@link LeaseLostException}. Never hand it
   * on as an idempotency key, for the next run of the key has another. Nor does it tell who came
   * first: it is random, so nobody can refuse a former owner by it.
   */
  String token();

  /**
   * Makes sure that the lease is still this run's, and lets it begin anew. That also happens by
   * itself, three times in a lease, for as long as the body runs; call it before a step that must
   * not be done by two.
   *
   * @throws LeaseLostException if somebody else has taken over
   */
  void renew();
}
