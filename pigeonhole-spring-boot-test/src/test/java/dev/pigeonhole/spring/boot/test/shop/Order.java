package dev.pigeonhole.spring.boot.test.shop;

record Order(String id) {}
