// privilege_matrix: who may do what in the outbox: each column, table, sequence and function, and what else
// there is to try.
#pragma once

#include <string_view>
#include <vector>

namespace outboxd::test {

/// Who may, in letters: w outbox_writer, r outbox_relay, o outbox_operator, n a user without a role.
using who = std::string_view;

/// A column of outbox.event, and a value that somebody might like to see in it.
struct column_rights {
  std::string_view name;
  std::string_view value;
  who inserts, updates, reads;
};

inline const std::vector<column_rights> event_columns{
    {"id", "gen_random_uuid()", "w", "", "wro"},
    {"seq", "1", "", "", "wro"},
    {"tx", "'3'", "", "", "ro"},
    {"available_at", "now()", "w", "ro", "wro"},
    {"created_at", "now()", "", "", "wro"},
    {"attempts", "1", "", "ro", "ro"},
    {"deferrals", "1", "", "ro", "ro"},
    {"status", "'published'", "", "ro", "ro"},
    {"published_at", "now()", "", "ro", "ro"},
    {"exception", "'parked'", "", "r", "ro"},
    {"aggregate_type", "'order'", "w", "", "ro"},
    {"aggregate_id", "'1'", "w", "", "ro"},
    {"event_type", "'created'", "w", "", "ro"},
    {"payload", "'{}'", "w", "", "ro"},
    {"headers", "'{}'", "w", "", "ro"},
    {"exchange", "'outbox'", "w", "", "ro"},
    {"routing_key", "'key'", "w", "", "ro"},
    {"last_error", "'x'", "", "ro", "ro"},
    {"last_error_code", "'x'", "", "ro", "ro"},
    {"last_error_scope", "'topic'", "", "r", "ro"},
    {"first_failed_at", "now()", "", "r", "ro"},
    {"waits_for", "1", "", "r", "ro"},
    {"failed_exchange", "'outbox'", "", "r", "ro"},
    {"failed_routing_key", "'key'", "", "r", "ro"},
    {"replay_exchange", "'outbox'", "", "", "ro"},
    {"replay_routing_key", "'key'", "", "", "ro"},
};

/// A table or a sequence. `insert` and `set` are what follows INSERT INTO name and UPDATE name SET.
struct relation_rights {
  std::string_view name;
  std::string_view insert, set;
  who reads, inserts, updates, deletes;
};

inline const std::vector<relation_rights> relations{
    // Its columns are above. To read all of a row is to read other applications' payloads.
    {"event", "(status) VALUES ('published')", "payload = '{}'", "ro", "", "", "ro"},
    {"shard", "(shard) VALUES (99)", "seq = 0", "ro", "", "r", ""},
    {"migration", "(version) VALUES (99)", "version = 99", "ro", "", "", ""},
    {"processed_event", "VALUES ('x', gen_random_uuid())", "consumer_name = 'x'", "o", "", "", "o"},
    {"audit", "(who, what) VALUES ('x', 'retry')", "who = 'x'", "o", "", "", ""},
    {"discarded", "VALUES (1, gen_random_uuid(), 1, '{}')", "event = '{}'", "o", "", "", ""},
    {"partitioning", "(period) VALUES ('daily')", "period = 'hourly'", "ro", "", "", ""},
    {"event_partition", "(number) VALUES (1)", "began_at = now()", "ro", "", "", ""},
    {"pause", "(part, who) VALUES ('everything', 'x')", "who = 'x'", "ro", "", "", ""},
};
inline const std::vector<std::string_view> sequences{"event_seq", "audit_id_seq"};

struct action {
  std::string_view name;  // of the function, if it is a call of one
  std::string_view sql;
  who may;
};

/// One call of each function; {dead} and {published} are the ids of such events. Triggers need no rights of
/// whoever fires them, so nobody else may call theirs or put them on a table of his own.
inline const std::vector<action> functions{
    {"emit", "SELECT outbox.emit('order', '1', 'created', '{{}}')", "w"},
    {"emit", "SELECT outbox.emit('order', '1', 'created', '{{}}', '{{}}'::json)", "w"},
    {"emit", "SELECT outbox.emit('order', '1', 'created', '{{}}', '{{}}'::jsonb)", "w"},
    {"emit", "SELECT outbox.emit('order', '1', 'created', '{{}}'::json)", "w"},
    {"emit", "SELECT outbox.emit('order', '1', 'created', '{{}}'::json, '{{}}'::json)", "w"},
    {"emit", "SELECT outbox.emit('order', '1', 'created', '{{}}'::json, '{{}}'::jsonb)", "w"},
    {"can_become", "SELECT outbox.can_become('1', 'jsonb')", "w"},
    {"ring", "SELECT outbox.ring()", "w"},
    {"refuse",
     "SELECT count(*) FROM generate_series(1, 0) AS none(seq) WHERE outbox.refuse('o', '1', 'e', '{{}}', 0, "
     "seq)",
     "w"},
    {"take_over", "SELECT outbox.take_over()", ""},
    {"take_sleep", "SELECT outbox.take_sleep(0)", "r"},
    {"mend_shards", "SELECT outbox.mend_shards()", "r"},
    {"require_role", "SELECT outbox.require_role('outbox_operator')", ""},
    {"require_event", "SELECT outbox.require_event('outbox.event'::regclass)", ""},
    {"keep_place", "SELECT outbox.keep_place()", ""},
    {"tell_relays", "SELECT outbox.tell_relays('due')", ""},
    {"agree_on_status", "SELECT outbox.agree_on_status()", ""},
    // For consumers, who get it by hand: see docs/consuming.md.
    {"first_time", "SELECT outbox.first_time('c', gen_random_uuid())", ""},
    {"audit_begin", "SELECT outbox.audit_begin('retry', '--all')", "o"},
    {"audit_who", "SELECT outbox.audit_who()", ""},
    {"audit_write", "SELECT outbox.audit_write('retry', '--all', 1)", ""},
    {"audit_count", "SELECT outbox.audit_count(1, 'retry', '--all', 1)", ""},
    {"audit_ids", "SELECT outbox.audit_ids('{{}}')", ""},
    {"requeue", "SELECT outbox.requeue(ARRAY[{dead}], 'dead')", ""},
    {"without_payload", "SELECT outbox.without_payload({dead}, 1)", ""},
    {"dead_retry", "SELECT nullif(outbox.dead_retry(ARRAY[{dead}]), 0)", "o"},
    {"dead_discard", "SELECT nullif(outbox.dead_discard(ARRAY[{dead}]), 0)", "o"},
    {"replay", "SELECT nullif(outbox.replay(ARRAY[{published}]), 0)", "o"},
    {"unsent", "SELECT outbox.unsent('{{}}', NULL)", ""},
    {"events_cancel", "SELECT count(*) FROM outbox.events_cancel(ARRAY[{dead}])", "o"},
    {"events_postpone",
     "SELECT count(*) FROM outbox.events_postpone(ARRAY[{dead}], now() + interval '1 day')", "o"},
    {"events_edit", "SELECT count(*) FROM outbox.events_edit(ARRAY[{dead}], routing_key => 'other')", "o"},
    {"prune_from", "SELECT nullif(pruned, 0) FROM outbox.prune_from(now() + interval '1 day', 9, NULL, 0)",
     "o"},
    {"prune_places", "SELECT reached + 1 FROM outbox.prune_places('{{}}', '{{}}', now())", "r"},
    {"prune_published", "SELECT nullif(outbox.prune_published(now() + interval '1 day', 9), 0)", "o"},
    {"prune_processed", "SELECT nullif(outbox.prune_processed(now() + interval '1 day', 9), 0)", "o"},
    {"forget_processed",
     "SELECT nullif(records, 0) FROM outbox.forget_processed('-infinity', now() + interval '1 day', 9)", "r"},
    {"attached_partitions", "SELECT outbox.attached_partitions()", ""},
    {"make_partition", "SELECT outbox.make_partition(1, '')", ""},
    {"attach_partition", "SELECT outbox.attach_partition(1)", ""},
    {"next_seq", "SELECT outbox.next_seq()", "ro"},
    {"rotate_partition", "SELECT count(*) FROM outbox.rotate_partition()", "r"},
    {"drop_partition", "SELECT outbox.drop_partition(4711, pg_current_snapshot())", "r"},
    {"partition_obstacles", "SELECT outbox.partition_obstacles()", ""},
    {"prepare_partitions", "SELECT outbox.prepare_partitions()", ""},
    {"partition_by", "SELECT outbox.partition_by('daily')", ""},
    {"pause_parts", "SELECT outbox.pause_parts('{{}}', '{{}}', true, '{{}}', '{{}}')", ""},
    {"pause_words", "SELECT outbox.pause_words('{{}}', '{{}}', true, '{{}}', '{{}}')", ""},
    {"names_in", "SELECT outbox.names_in('x')", "o"},
    {"pause", "SELECT nullif(outbox.pause('{{}}', everything => true), 0)", "o"},
    {"pause", "SELECT nullif(outbox.pause(ARRAY[]::text[], everything => true), 0)", "o"},
    {"resume", "SELECT nullif(outbox.resume('{{}}', everything => true), 0)", "o"},
    {"resume", "SELECT nullif(outbox.resume(ARRAY[]::text[], everything => true), 0)", "o"},
};

// PostgreSQL refuses ON CONFLICT (id) on a partitioned outbox, where each partition has a unique constraint
// of its own.
inline const std::vector<action> upserts{
    {"writes once",
     "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
     " VALUES (gen_random_uuid(), 'order', '1', 'created', '{{}}') ON CONFLICT (id) DO NOTHING RETURNING id",
     "w"},
    {"overwrites",
     "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
     " VALUES ({dead}, 'order', '1', 'created', '{{}}') ON CONFLICT (id) DO UPDATE SET payload = '{{}}'",
     ""},
};

inline const std::vector<action> others{
    {"writes several",
     "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
     " SELECT 'order', n, 'created', '{{}}' FROM generate_series(1, 9) AS n RETURNING id, seq",
     "w"},
    {"writes what is new",
     "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
     " VALUES (gen_random_uuid(), 'order', '1', 'created', '{{}}') ON CONFLICT DO NOTHING RETURNING id",
     "w"},
    {"reads what it wrote",
     "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
     " VALUES ('order', '1', 'created', '{{}}') RETURNING *",
     ""},
    {"locks a row", "SELECT id FROM outbox.event LIMIT 1 FOR UPDATE", "ro"},
    // Whoever may delete rows may lock a table, as PostgreSQL has it.
    {"locks the table", "LOCK TABLE outbox.event IN ACCESS EXCLUSIVE MODE; SELECT 1", "ro"},
    {"locks it for writing", "LOCK TABLE outbox.event IN ROW EXCLUSIVE MODE; SELECT 1", "ro"},
    {"turns off the checks", "ALTER TABLE outbox.event DISABLE TRIGGER ALL", ""},
    {"passes by the triggers", "SET session_replication_role = replica", ""},
    {"adds a trigger",
     "CREATE TRIGGER mine AFTER INSERT ON outbox.event FOR EACH ROW EXECUTE FUNCTION"
     " suppress_redundant_updates_trigger()",
     ""},
    {"adds a rule", "CREATE RULE mine AS ON INSERT TO outbox.event DO INSTEAD NOTHING", ""},
    {"adds a table", "CREATE TABLE outbox.mine ()", ""},
    {"adds a function", "CREATE FUNCTION outbox.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'", ""},
    {"replaces a function",
     "CREATE OR REPLACE FUNCTION outbox.audit_who() RETURNS text LANGUAGE sql AS"
     " 'SELECT ''x''::text'",
     ""},
    {"drops the table", "DROP TABLE outbox.event CASCADE", ""},
    {"ends other sessions", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {admin}", ""},
    // PostgreSQL keeps nobody from these: see docs/security.md.
    {"rings", "SELECT 1 FROM (SELECT pg_notify('outbox', 'ring')) AS n", "wron"},
    {"takes an advisory lock", "SELECT 1 FROM (SELECT pg_advisory_xact_lock(4711, 0)) AS n", "wron"},
};

}  // namespace outboxd::test
