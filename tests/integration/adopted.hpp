// adopted: a stage with an outbox table of the user's own, as Debezium wants it, and `outboxd adopt` for it.
#pragma once

#include "stage.hpp"

namespace outboxd::test {

inline constexpr auto debezium_table =
    "CREATE TABLE public.outboxevent (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n bigint GENERATED "
    "ALWAYS AS IDENTITY,"
    " aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL,"
    " payload jsonb, tenant text)";
inline const arguments adopt_debezium{"adopt",    "--table",  "public.outboxevent",
                                      "--preset", "debezium", "--null-payload",
                                      "refuse",   "--unfit",  "refuse"};

inline arguments operator+(arguments words, const arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// What it printed; it has to exit with 0.
inline std::string adopt(const stage& on, const arguments& words) {
  const auto done = run_outboxd(words, on.variables());
  CHECK_MESSAGE(done.exited(0), done.text());
  return done.text();
}

/// Inserts `count` rows, one for each aggregate in turn, numbered within each in the payload.
inline void insert_rows(database& session, const stage& on, int count, int aggregates = 1, int first = 1) {
  session.exec(
      "INSERT INTO public.outboxevent (aggregatetype, aggregateid, type, payload)"
      " SELECT 'order', 'a' || n % $2::int, $1, jsonb_build_object('n', n / $2::int + $4::int)"
      " FROM generate_series(0, $3::int - 1) AS n ORDER BY n",
      {on.key(), std::to_string(aggregates), std::to_string(count), std::to_string(first)});
}

/// Events whose number is not the one after that of their aggregate's event before them.
inline std::int64_t out_of_order(database& session) {
  return session.number(
      "SELECT count(*) FROM (SELECT (payload ->> 'n')::int AS n, lag((payload ->> 'n')::int, 1, 0) OVER"
      " (PARTITION BY aggregate_id ORDER BY seq) AS before FROM outbox.event) AS e WHERE n <> before + 1");
}

}  // namespace outboxd::test
