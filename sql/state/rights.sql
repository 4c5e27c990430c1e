-- The privileges of each role in the outbox: role, kind, name, privilege, and the columns if the privilege
-- does not cover all of them. grants.sql compares this list with the granted privileges, and lacks.sql with a
-- user's privileges.
VALUES
  ('outbox_writer', 'SCHEMA', '', 'USAGE', NULL::text[]),
  ('outbox_relay', 'SCHEMA', '', 'USAGE', NULL),
  ('outbox_operator', 'SCHEMA', '', 'USAGE', NULL),

  -- Producers: the columns that they may set, and emit. They may read only the columns that the database
  -- fills in, which an ORM's INSERT ... RETURNING needs. The table contains other applications' payloads;
  -- docs/security.md explains why producers may read no more.
  ('outbox_writer', 'TABLE', 'event', 'INSERT',
   '{id,aggregate_type,aggregate_id,event_type,payload,headers,exchange,routing_key,available_at}'),
  ('outbox_writer', 'TABLE', 'event', 'SELECT', '{id,seq,created_at,available_at}'),
  ('outbox_writer', 'FUNCTION', 'emit', 'EXECUTE', NULL),
  ('outbox_writer', 'FUNCTION', 'can_become', 'EXECUTE', NULL),
  ('outbox_writer', 'FUNCTION', 'ring', 'EXECUTE', NULL),
  ('outbox_writer', 'FUNCTION', 'refuse', 'EXECUTE', NULL),

  -- The daemon.
  ('outbox_relay', 'TABLE', 'migration', 'SELECT', NULL),
  ('outbox_relay', 'TABLE', 'event', 'SELECT', NULL),
  ('outbox_relay', 'TABLE', 'event', 'DELETE', NULL),
  ('outbox_relay', 'TABLE', 'event', 'UPDATE',
   '{status,attempts,deferrals,available_at,published_at,last_error,last_error_code,last_error_scope,
     exception,first_failed_at,waits_for,failed_exchange,failed_routing_key}'),
  ('outbox_relay', 'TABLE', 'shard', 'SELECT', NULL),
  ('outbox_relay', 'TABLE', 'shard', 'UPDATE', NULL),
  ('outbox_relay', 'TABLE', 'pause', 'SELECT', NULL),
  ('outbox_relay', 'TABLE', 'partitioning', 'SELECT', NULL),
  ('outbox_relay', 'TABLE', 'event_partition', 'SELECT', NULL),
  ('outbox_relay', 'FUNCTION', 'take_sleep', 'EXECUTE', NULL),
  ('outbox_relay', 'FUNCTION', 'mend_shards', 'EXECUTE', NULL),
  ('outbox_relay', 'FUNCTION', 'forget_processed', 'EXECUTE', NULL),
  ('outbox_relay', 'FUNCTION', 'prune_places', 'EXECUTE', NULL),
  ('outbox_relay', 'FUNCTION', 'rotate_partition', 'EXECUTE', NULL),
  ('outbox_relay', 'FUNCTION', 'drop_partition', 'EXECUTE', NULL),
  ('outbox_relay', 'FUNCTION', 'next_seq', 'EXECUTE', NULL),

  -- Operators: read, retry, discard, replay, prune, pause.
  ('outbox_operator', 'TABLE', 'migration', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'event', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'event', 'DELETE', NULL),
  ('outbox_operator', 'TABLE', 'event', 'UPDATE',
   '{status,attempts,deferrals,available_at,published_at,last_error,last_error_code}'),
  ('outbox_operator', 'TABLE', 'shard', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'processed_event', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'processed_event', 'DELETE', NULL),
  ('outbox_operator', 'TABLE', 'audit', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'discarded', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'pause', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'partitioning', 'SELECT', NULL),
  ('outbox_operator', 'TABLE', 'event_partition', 'SELECT', NULL),
  ('outbox_operator', 'FUNCTION', 'next_seq', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'audit_begin', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'dead_retry', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'dead_discard', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'events_cancel', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'events_postpone', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'events_edit', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'replay', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'names_in', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'pause', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'resume', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'prune_published', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'prune_from', 'EXECUTE', NULL),
  ('outbox_operator', 'FUNCTION', 'prune_processed', 'EXECUTE', NULL)
