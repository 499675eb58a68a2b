package dev.pigeonhole.lease;

/** The right to work on a key for a while, as the body of a {@link LeaseGuard} sees it. */
public interface Lease {

  /**
   * Tells this run from every other one. Hand it to systems that can refuse what comes from an
   * owner who was replaced.
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
