package dev.pigeonhole.spring.boot;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jackson.Jackson2Codec;
import dev.pigeonhole.jackson.JacksonCodec;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

/** Payloads as JSON, by the mapper of the application: that of Jackson 3 if there are both. */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
      "org.springframework.boot.jackson2.autoconfigure.Jackson2AutoConfiguration"
    })
@ConditionalOnClass(JacksonCodec.class)
public final class PigeonholeCodecAutoConfiguration {

  PigeonholeCodecAutoConfiguration() {}

  @Order(1)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(tools.jackson.databind.json.JsonMapper.class)
  @ConditionalOnSingleCandidate(tools.jackson.databind.json.JsonMapper.class)
  static class Jackson3Configuration {

    @Bean
    @ConditionalOnMissingBean(PayloadCodec.class)
    JacksonCodec pigeonholePayloadCodec(tools.jackson.databind.json.JsonMapper mapper) {
      return JacksonCodec.using(mapper);
    }
  }

  @Order(2)
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(com.fasterxml.jackson.databind.ObjectMapper.class)
  @ConditionalOnSingleCandidate(com.fasterxml.jackson.databind.ObjectMapper.class)
  static class Jackson2Configuration {

    @Bean
    @ConditionalOnMissingBean(PayloadCodec.class)
    Jackson2Codec pigeonholePayloadCodec(com.fasterxml.jackson.databind.ObjectMapper mapper) {
      return Jackson2Codec.using(mapper);
    }
  }
}
