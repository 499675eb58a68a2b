package dev.pigeonhole.spring.boot.test.shop;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** An application that says all it has to say in its properties. */
@SpringBootApplication
class ShopApplication {}
