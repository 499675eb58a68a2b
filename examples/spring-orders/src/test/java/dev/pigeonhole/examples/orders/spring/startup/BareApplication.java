package dev.pigeonhole.examples.orders.spring.startup;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** A web application with JPA and actuator, as many are. It runs without Pigeonhole, too. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class BareApplication {

  public static void main(String[] args) {
    SpringApplication.run(BareApplication.class, args);
  }
}
