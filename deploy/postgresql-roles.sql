-- Roles for a store in PostgreSQL (docs/postgresql.md). Run it in the store's database, with the store's schema first in
-- search_path, as the role that owns the tables, once they are there: `edgetape keys init` makes them.
--
--   edgetape_recorder   records and replays: reads and adds; it changes and deletes nothing that is recorded
--   edgetape_reader     looks, verifies and exports
--
-- The owner of the tables does the rest: erase, prune, compact, keys rotate --store-key, an upgrade. Nothing holds an
-- owner, or a superuser, but what is kept outside of their reach: docs/security.md.
-- Give the roles to those who log in: GRANT edgetape_recorder TO team_a;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'edgetape_recorder') THEN CREATE ROLE edgetape_recorder; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'edgetape_reader') THEN CREATE ROLE edgetape_reader; END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO edgetape_recorder, edgetape_reader', current_schema());
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM edgetape_recorder, edgetape_reader, PUBLIC', current_schema());
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO edgetape_recorder, edgetape_reader', current_schema());
    EXECUTE format('GRANT INSERT ON ALL TABLES IN SCHEMA %I TO edgetape_recorder', current_schema());
END $$;
REVOKE INSERT ON edgetape_migrations, edgetape_state FROM edgetape_recorder;

-- What is no record: the catalogue, which can be derived again; and what speaks of runs that are still open.
GRANT UPDATE ON runs TO edgetape_recorder;
GRANT DELETE ON leases, pending TO edgetape_recorder;
-- Of an open run the last block of its bodies is written anew as it grows. No hash covers how bodies are stored, and
-- each is held against its commitment; one that is gone is found (V603, V604).
GRANT DELETE ON blocks TO edgetape_recorder;
