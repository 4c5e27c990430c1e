-- What the examples write to: orders by the producers, an invoice for each by every consumer.
CREATE SCHEMA shop;

CREATE TABLE shop.orders (
  id    bigint        PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  total numeric(10,2) NOT NULL
);

CREATE TABLE shop.invoices (
  consumer text          NOT NULL,  -- which example has written it
  order_id bigint        NOT NULL REFERENCES shop.orders,
  total    numeric(10,2) NOT NULL
);
