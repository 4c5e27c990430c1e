-- Three roles to grant to users: outbox_writer, outbox_relay and outbox_operator. None of them can log in.
-- Roles are shared by the whole cluster. sql/state/roles.sql creates missing roles, and sql/state/rights.sql
-- lists their privileges.

-- Rejects (42501) a caller who is neither a member of one of these roles nor the owner of the outbox.
-- Functions that run with the owner's privileges call this first, because after a restore without privileges
-- PUBLIC may execute all of them.
--
-- The caller is the user who logged in, or the role set with SET ROLE. current_user cannot be used, because
-- in such a function it is the owner. So nobody can lend these privileges to others with a function of their
-- own.
CREATE OR REPLACE FUNCTION @schema@.require_role(VARIADIC roles text[]) RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  caller CONSTANT text := coalesce(nullif(current_setting('role'), 'none'), session_user);
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles AS r
                 WHERE (r.rolname = ANY (roles)
                        OR r.oid = (SELECT c.relowner FROM pg_class AS c
                                    WHERE c.oid = format('%I.event', @schema_text@)::regclass))
                   AND pg_has_role(caller, r.oid, 'USAGE')) THEN
    RAISE insufficient_privilege USING
      MESSAGE = format('permission denied: user %s has not the role %s', caller,
                       array_to_string(roles, ' or ')),
      HINT = CASE WHEN pg_has_role(caller, roles[1], 'MEMBER') THEN format('SET ROLE %I;', roles[1])
             ELSE format('GRANT %I TO %I;', roles[1], caller) END;
  END IF;
END
$outboxd$;
