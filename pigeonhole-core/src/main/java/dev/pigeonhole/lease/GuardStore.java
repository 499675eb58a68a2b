package dev.pigeonhole.lease;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where a {@link LeaseGuard} keeps who is at work on a name and who has finished: a store that
 * cannot commit together with what the body does.
 *
 * <p>A name is in one of three states. It is <em>free</em>; it is <em>leased</em> to the owner of
 * one token until the lease runs out, which makes it free again; or it is <em>completed</em>, with
 * a receipt, until the time to keep that is over. The two times are independent of each other.
 *
 * <p>Each call is atomic over all processes that share the store, and only the store's own clock
 * decides when a time is over. A call whose answer was lost may be made again with the same token:
 * it then answers as the first one did, except {@link #release}. Names are compared byte for byte.
 * Used by many threads.
 *
 * <p>A store that cannot do what it was asked throws {@link dev.pigeonhole.store.StoreException}.
 * The contract {@code GuardStoreContract} in {@code pigeonhole-tck} shows all of this as tests.
 */
public interface GuardStore {

  /**
   * Leases a free name to this token. A lease that this token has already begins anew.
   *
   * @param lease from now until it is free again, unless somebody renews, completes or releases it
   */
  Claim claim(String name, String token, Duration lease);

  /**
   * Lets the lease of this token begin anew. One that ran out and that nobody else took is taken
   * again: its owner is still at work, and alone.
   *
   * @return false, with nothing changed, if somebody else has the name or it is completed
   */
  boolean renew(String name, String token, Duration lease);

  /**
   * Completes a name for ever or for a time. Also one whose lease ran out, as long as nobody else
   * took it: the body has run, and a receipt keeps it from running again.
   *
   * @param keep from now until the name is free again; null to keep the receipt for ever
   * @return false, with nothing changed, if somebody else has the name or has completed it
   */
  boolean complete(String name, String token, Completion completion, @Nullable Duration keep);

  /**
   * Makes a name free at once. Made again it answers false, and does no harm to who has the name by
   * then.
   *
   * @return false, with nothing changed, if this token has no lease on it
   */
  boolean release(String name, String token);

  /** Whether receipts can have an end; if not, {@code keep} is always null. */
  boolean forgets();
}
