#include "stage/plain_outbox.hpp"

#include <stdexcept>

#include "stage/await.hpp"

namespace outboxd::bench {
namespace {

constexpr auto application_name = "hand-written relay";

double cpu_of_its_sessions(test::database& session) {
  double seconds = 0;
  for (const auto& row : session.exec(
           "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1",
           {application_name}))
    seconds += usage_of(std::stoi(*row[0])).cpu_seconds;
  return seconds;
}

}  // namespace

void create_plain_outbox(stage& on, bool notifies) {
  auto session = on.connect();
  session.exec(R"(
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
    CREATE INDEX ON plain.event (seq) WHERE status = 'pending')");
  if (notifies)
    session.exec(R"(
    CREATE FUNCTION plain.notify() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('plain', NEW.id::text);
      RETURN NULL;
    END $$;
    CREATE TRIGGER notify AFTER INSERT ON plain.event FOR EACH ROW EXECUTE FUNCTION plain.notify())");
}

plain_relay::plain_relay(const setup& on, const stage& where, const hand_written& which)
    : process_({.program = on.program(which.program),
                .arguments = which.flags,
                .environment = {{"OUTBOXD_DATABASE_URL", where.url()},
                                {"OUTBOXD_AMQP_URL", on.amqp_url},
                                {"PGAPPNAME", application_name}},
                .log_file = {}}) {}

drained plain_drain(const setup& on, stage& where, const filling& how, const hand_written& which) {
  auto session = where.connect();
  session.exec("TRUNCATE plain.event");
  session.exec("ALTER TABLE plain.event DISABLE TRIGGER USER");
  session.exec(
      "INSERT INTO plain.event (aggregate_type, aggregate_id, event_type, exchange, payload)"
      " SELECT 'order', (n * 7919 % $1::bigint)::text, $2, $3, jsonb_build_object('n', n, 'text', "
      "repeat('x', $4::int))"
      " FROM generate_series(1, $5::bigint) AS n",
      {std::to_string(how.aggregates), where.event_type(), where.exchange(), std::to_string(how.size),
       std::to_string(how.events)});
  session.exec("ALTER TABLE plain.event ENABLE TRIGGER USER");
  session.exec("VACUUM ANALYZE plain.event");
  where.come_to_rest(session);
  const auto before = session.exec("SELECT clock_timestamp(), pg_current_wal_lsn()")[0];
  plain_relay draining(on, where, which);
  const auto await_while_it_runs = [&](const std::string& what, const auto& condition) {
    await(what, [&] {
      if (!draining.running()) throw std::runtime_error(which.program + " has ended: " + draining.tail());
      return condition();
    });
  };
  // Checks the queue first, because a query on the table would compete with the relay.
  await_while_it_runs("the queue has every event", [&] { return where.messages() >= how.events; });
  await_while_it_runs("every event is marked", [&] {
    return session.number("SELECT count(*) FROM plain.event WHERE status = 'pending'") == 0;
  });
  const auto total = static_cast<double>(how.events);
  const auto used = draining.usage();
  const auto rates = session.exec(
      "SELECT (count(*) - 1) / extract(epoch FROM max(published_at) - min(published_at)),"
      " count(*) / extract(epoch FROM max(published_at) - $1::timestamptz),"
      " pg_current_wal_lsn() - $2::pg_lsn FROM plain.event",
      before)[0];
  drained out;
  out.events_per_second = std::stod(*rates[0]);
  out.from_start = std::stod(*rates[1]);
  out.wal_bytes_per_event = std::stod(*rates[2]) / total;
  out.cpu_us_per_event = used.cpu_seconds * 1e6 / total;
  if (on.own_servers) out.server_cpu_us_per_event = cpu_of_its_sessions(session) * 1e6 / total;
  out.peak_rss_mb = used.peak_rss_mb;
  return out;
}

}  // namespace outboxd::bench
