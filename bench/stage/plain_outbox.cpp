#include "stage/plain_outbox.hpp"

#include <stdexcept>

#include "stage/await.hpp"

namespace outboxd::bench {

void create_plain_outbox(stage& on) {
  on.connect().exec(R"(
    CREATE SCHEMA plain;
    CREATE TABLE plain.event (
      id             uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
      seq            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
      aggregate_type text        NOT NULL,
      aggregate_id   text        NOT NULL,
      event_type     text        NOT NULL,
      exchange       text        NOT NULL,
      payload        jsonb       NOT NULL,
      status         text        NOT NULL DEFAULT 'pending',
      created_at     timestamptz NOT NULL DEFAULT now(),
      published_at   timestamptz);
    CREATE INDEX ON plain.event (seq) WHERE status = 'pending';
    CREATE FUNCTION plain.notify() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('plain', NEW.id::text);
      RETURN NULL;
    END $$;
    CREATE TRIGGER notify AFTER INSERT ON plain.event FOR EACH ROW EXECUTE FUNCTION plain.notify())");
}

plain_relay::plain_relay(const setup& on, const stage& where)
    : process_({.program = on.program("plain_relay"),
                .arguments = {},
                .environment = {{"OUTBOXD_DATABASE_URL", where.url()}, {"OUTBOXD_AMQP_URL", on.amqp_url}},
                .log_file = {}}) {}

double plain_drain(const setup& on, stage& where, const filling& how) {
  auto session = where.connect();
  session.exec("TRUNCATE plain.event");
  session.exec("ALTER TABLE plain.event DISABLE TRIGGER notify");
  session.exec(
      "INSERT INTO plain.event (aggregate_type, aggregate_id, event_type, exchange, payload)"
      " SELECT 'order', (n * 7919 % $1::bigint)::text, $2, $3, jsonb_build_object('n', n, 'text', "
      "repeat('x', $4::int))"
      " FROM generate_series(1, $5::bigint) AS n",
      {std::to_string(how.aggregates), where.event_type(), where.exchange(), std::to_string(how.size),
       std::to_string(how.events)});
  session.exec("ALTER TABLE plain.event ENABLE TRIGGER notify");
  session.exec("VACUUM ANALYZE plain.event");
  where.come_to_rest(session);
  plain_relay draining(on, where);
  await("the plain relay has published everything", [&] {
    if (!draining.running()) throw std::runtime_error("the plain relay has ended: " + draining.tail());
    return session.number("SELECT count(*) FROM plain.event WHERE status = 'pending'") == 0;
  });
  return std::stod(
      session.value("SELECT (count(*) - 1) / extract(epoch FROM max(published_at) - min(published_at))"
                    " FROM plain.event"));
}

}  // namespace outboxd::bench
