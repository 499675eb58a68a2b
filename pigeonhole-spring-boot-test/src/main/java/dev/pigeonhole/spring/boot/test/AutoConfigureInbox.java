package dev.pigeonhole.spring.boot.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * Gives a test the inbox of its application in hand: nothing runs by itself, {@code drain()} of the
 * bean {@link dev.pigeonhole.testkit.TestInbox} runs what is due, and time moves when the bean
 * {@link dev.pigeonhole.testkit.TestClock} is told to.
 *
 * <pre>{@code
 * @SpringBootTest
 * @AutoConfigureInbox
 * class OrdersTest {
 *   @Autowired Orders orders;
 *   @Autowired TestInbox inbox;
 *
 *   @Test
 *   void aPlacedOrderIsReserved() {
 *     orders.place(new Order("o-1"));
 *     inbox.drain();
 *     assertThat(inbox).delivery("o-1", "reserve-stock").isCompleted();
 *   }
 * }
 * }</pre>
 *
 * <p>The inbox is on the DataSource of the test, in tables of its own, whose names begin with
 * {@code pigeonhole_test_}: they are made when they are missing, and emptied after each test. Those
 * of the application are not looked at. Without a DataSource it is in memory.
 *
 * <p>A test that is itself {@code @Transactional} does not work: what it accepts is not committed,
 * so nobody can handle it.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration
public @interface AutoConfigureInbox {}
