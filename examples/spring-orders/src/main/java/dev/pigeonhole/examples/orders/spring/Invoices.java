package dev.pigeonhole.examples.orders.spring;

import org.springframework.data.repository.CrudRepository;

/** Invoices, by Spring Data. */
interface Invoices extends CrudRepository<Invoice, Long> {}
