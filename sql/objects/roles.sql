-- Three roles to grant to your own users: outbox_writer, outbox_relay and outbox_operator. None can log in.
-- Roles belong to the whole cluster. sql/state/roles.sql makes missing roles, and sql/state/rights.sql lists
-- their rights.

-- Refuses (42501) a caller who has none of these roles, nor that of the owner of the outbox. Functions that
-- run with the owner's rights call this first, because after a restore without privileges PUBLIC may execute
-- them all.
--
-- The caller is the user who logged in, or the role that the session has been set to. current_user does not
-- help, because it is the owner in such a function. So nobody can lend these rights to others by a function
-- of his own.
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
