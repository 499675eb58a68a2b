-- {prefix}x is a table or sequence with its schema, {name}x a bare name with the prefix.
-- Text that is compared is compared byte for byte: COLLATE "C".

-- Whose tables these are.
CREATE TABLE IF NOT EXISTS {prefix}inbox (
  id         smallint         NOT NULL,
  lanes      int              NOT NULL,
  created_at timestamptz      NOT NULL,
  name       text COLLATE "C" NOT NULL,
  CONSTRAINT {name}inbox_pk PRIMARY KEY (id)
);

-- A random number, made with the tables: what a connection of a caller must lead to. No transaction
-- changes its row, so a shared lock on it does not delay other transactions.
CREATE TABLE IF NOT EXISTS {prefix}store (
  id       smallint NOT NULL,
  store_id bigint   NOT NULL,
  CONSTRAINT {name}store_pk PRIMARY KEY (id)
);

-- Where the walks of retention are: that of the inbox, and that of the guards, which has last looked
-- at messages of this age and older. Apart from the inbox: each step holds this row while it lasts.
CREATE TABLE IF NOT EXISTS {prefix}retention (
  id         smallint         NOT NULL,
  pruned_to  bigint           NOT NULL DEFAULT 0,
  guarded_to bigint           NOT NULL DEFAULT 0,
  guarded_ms bigint           NOT NULL DEFAULT 0,
  pruned_at  timestamptz,
  guarded_at timestamptz,
  CONSTRAINT {name}retention_pk PRIMARY KEY (id)
);

CREATE SEQUENCE IF NOT EXISTS {prefix}message_seq AS bigint
  INCREMENT BY 1000 MINVALUE 1000 START WITH 1000 CACHE 1;

CREATE SEQUENCE IF NOT EXISTS {prefix}node_seq AS bigint
  INCREMENT BY 1 MINVALUE 1 START WITH 1 CACHE 1;

-- What arrived, once per identity: the gate.
CREATE TABLE IF NOT EXISTS {prefix}message (
  seq            bigint           NOT NULL,
  token          bigint           NOT NULL,
  key_hash       bigint,
  received_at    timestamptz      NOT NULL,
  occurred_at    timestamptz,
  last_repeat_at timestamptz,
  repeats        int              NOT NULL DEFAULT 0,
  touched        int              NOT NULL DEFAULT 0,
  lane           smallint         NOT NULL,
  dropped        boolean          NOT NULL DEFAULT false,
  edited         boolean          NOT NULL DEFAULT false,
  source         text COLLATE "C" NOT NULL,
  id             text COLLATE "C" NOT NULL,
  type           text COLLATE "C" NOT NULL,
  channel        text COLLATE "C" NOT NULL,
  transport      text COLLATE "C" NOT NULL,
  oldest_type    text COLLATE "C",
  ordering_key   text COLLATE "C",
  content_type   text COLLATE "C" NOT NULL,
  content_hash   bytea            NOT NULL,
  headers        bytea            NOT NULL,
  content        bytea,
  CONSTRAINT {name}message_pk PRIMARY KEY (seq),
  CONSTRAINT {name}message_identity UNIQUE (source, id)
);

-- Fresh work only: no clock in it, read by plain ranges of its key.
CREATE TABLE IF NOT EXISTS {prefix}delivery (
  seq      bigint   NOT NULL,
  key_hash bigint,
  mark     bigint   NOT NULL DEFAULT 0,
  version  bigint   NOT NULL DEFAULT 0,
  handler  int      NOT NULL,
  key_id   int      NOT NULL,
  failures int      NOT NULL DEFAULT 0,
  crashes  int      NOT NULL DEFAULT 0,
  releases int      NOT NULL DEFAULT 0,
  lane     smallint NOT NULL,
  CONSTRAINT {name}delivery_pk PRIMARY KEY (lane, handler, seq)
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX IF NOT EXISTS {name}delivery_key ON {prefix}delivery (handler, key_hash, seq)
  WHERE key_hash IS NOT NULL;

-- Work that waits for a time, or (due_at null) for a release; and work that waits for nothing, but
-- has a place of its own because of its priority. Counted soon after it grows: while a server believes it
-- empty, later_due seems as good as the primary key, and is walked through for each row that is named.
CREATE TABLE IF NOT EXISTS {prefix}later (
  seq      bigint           NOT NULL,
  due_at   timestamptz,
  key_hash bigint,
  mark     bigint           NOT NULL DEFAULT 0,
  version  bigint           NOT NULL DEFAULT 0,
  place    bigint           NOT NULL DEFAULT 0,
  handler  int              NOT NULL,
  key_id   int              NOT NULL,
  failures int              NOT NULL DEFAULT 0,
  crashes  int              NOT NULL DEFAULT 0,
  releases int              NOT NULL DEFAULT 0,
  lane     smallint         NOT NULL,
  reason   text COLLATE "C" NOT NULL,
  CONSTRAINT {name}later_pk PRIMARY KEY (seq, handler)
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX IF NOT EXISTS {name}later_due ON {prefix}later (lane, handler, place, due_at, seq);

CREATE INDEX IF NOT EXISTS {name}later_key ON {prefix}later (handler, key_hash, seq)
  WHERE key_hash IS NOT NULL;

-- The proof that a handler has finished a message: the memory that keeps repeats away. What a guard
-- was asked for, if it was told, is compared here: the message belongs to every handler. A guard
-- also says until when its receipt is to be kept; keep_until null: as the inbox says.
CREATE TABLE IF NOT EXISTS {prefix}receipt (
  seq          bigint      NOT NULL,
  completed_at timestamptz NOT NULL,
  keep_until   timestamptz,
  token        bigint      NOT NULL DEFAULT 0,
  handler      int         NOT NULL,
  key_id       int         NOT NULL,
  failures     int         NOT NULL,
  crashes      int         NOT NULL,
  releases     int         NOT NULL,
  outcome      smallint    NOT NULL DEFAULT 0,
  request_hash bytea,
  CONSTRAINT {name}receipt_pk PRIMARY KEY (seq, handler)
);

-- What a guarded run returned, for repeats of it; keep_until null: as long as the receipt.
CREATE TABLE IF NOT EXISTS {prefix}answer (
  seq          bigint           NOT NULL,
  keep_until   timestamptz,
  handler      int              NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  content      bytea,
  CONSTRAINT {name}answer_pk PRIMARY KEY (seq, handler)
);

CREATE INDEX IF NOT EXISTS {name}answer_until ON {prefix}answer (keep_until);

-- The end of automatic attempts; only an operator removes a row.
CREATE TABLE IF NOT EXISTS {prefix}poison (
  seq         bigint           NOT NULL,
  poisoned_at timestamptz      NOT NULL,
  failed_at   timestamptz      NOT NULL,
  key_hash    bigint,
  version     bigint           NOT NULL,
  handler     int              NOT NULL,
  key_id      int              NOT NULL,
  failures    int              NOT NULL,
  crashes     int              NOT NULL,
  releases    int              NOT NULL,
  lane        smallint         NOT NULL,
  blocks      boolean          NOT NULL DEFAULT true,
  error_code  text COLLATE "C" NOT NULL,
  error_type  text COLLATE "C" NOT NULL,
  error_text  text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  stack       text COLLATE "C" NOT NULL,
  CONSTRAINT {name}poison_pk PRIMARY KEY (seq, handler)
);

CREATE INDEX IF NOT EXISTS {name}poison_key ON {prefix}poison (handler, key_hash, blocks, seq);

-- Ordering keys that stay closed behind a number until an operator releases them, or (releasing)
-- that are being let go and have come so far.
CREATE TABLE IF NOT EXISTS {prefix}closed_key (
  seq          bigint      NOT NULL,
  key_hash     bigint      NOT NULL,
  since        timestamptz NOT NULL,
  handler      int         NOT NULL,
  key_id       int         NOT NULL,
  releasing    boolean     NOT NULL,
  ordering_key text COLLATE "C",
  CONSTRAINT {name}closed_key_pk PRIMARY KEY (handler, key_hash)
);

CREATE INDEX IF NOT EXISTS {name}closed_key_releasing ON {prefix}closed_key (releasing);

-- The newest ten failures of a delivery: number n stands in slot n mod 10.
CREATE TABLE IF NOT EXISTS {prefix}failure (
  seq         bigint           NOT NULL,
  failed_at   timestamptz      NOT NULL,
  handler     int              NOT NULL,
  number      int              NOT NULL,
  slot        smallint         NOT NULL,
  error_code  text COLLATE "C" NOT NULL,
  error_type  text COLLATE "C" NOT NULL,
  error_text  text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  stack       text COLLATE "C" NOT NULL,
  CONSTRAINT {name}failure_pk PRIMARY KEY (seq, handler, slot)
);

-- Handler keys and their numbers. Families that were declared one later share their kin.
CREATE TABLE IF NOT EXISTS {prefix}handler (
  key_id       int              NOT NULL,
  family       int              NOT NULL,
  kin          int              NOT NULL,
  unknown_ms   bigint           NOT NULL DEFAULT 0,
  unknown_seen timestamptz,
  handler_key  text COLLATE "C" NOT NULL,
  CONSTRAINT {name}handler_pk PRIMARY KEY (key_id),
  CONSTRAINT {name}handler_name UNIQUE (handler_key)
);

-- One row per incarnation of a node.
CREATE TABLE IF NOT EXISTS {prefix}node (
  incarnation bigint           NOT NULL,
  beat        bigint           NOT NULL,
  joined_at   timestamptz      NOT NULL,
  ended_at    timestamptz,
  state       text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  jvm         text COLLATE "C" NOT NULL,
  handlers    text COLLATE "C" NOT NULL,
  CONSTRAINT {name}node_pk PRIMARY KEY (incarnation)
) WITH (fillfactor = 50);

-- Cells: who owns which lane of which handler; owner 0 is nobody.
CREATE TABLE IF NOT EXISTS {prefix}lane (
  owner   bigint   NOT NULL DEFAULT 0,
  token   bigint   NOT NULL DEFAULT 0,
  handler int      NOT NULL,
  lane    smallint NOT NULL,
  unclean boolean  NOT NULL DEFAULT false,
  CONSTRAINT {name}lane_pk PRIMARY KEY (handler, lane)
);

-- Handlers that somebody has paused.
CREATE TABLE IF NOT EXISTS {prefix}pause (
  since   timestamptz      NOT NULL,
  handler int              NOT NULL,
  key_id  int              NOT NULL,
  actor   text COLLATE "C" NOT NULL,
  reason  text COLLATE "C" NOT NULL,
  CONSTRAINT {name}pause_pk PRIMARY KEY (handler)
);

-- Second copies: a known identity that came with other content.
CREATE TABLE IF NOT EXISTS {prefix}conflict (
  conflict_id  bigint           NOT NULL GENERATED ALWAYS AS IDENTITY,
  seq          bigint           NOT NULL,
  received_at  timestamptz      NOT NULL,
  type         text COLLATE "C" NOT NULL,
  channel      text COLLATE "C" NOT NULL,
  transport    text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  content_hash bytea            NOT NULL,
  headers      bytea            NOT NULL,
  content      bytea,
  ordering_key text COLLATE "C",
  occurred_at  timestamptz,
  accepted_as  text COLLATE "C",
  CONSTRAINT {name}conflict_pk PRIMARY KEY (conflict_id),
  CONSTRAINT {name}conflict_copy UNIQUE (seq, content_hash, type)
);

CREATE TABLE IF NOT EXISTS {prefix}audit (
  audit_id bigint           NOT NULL GENERATED ALWAYS AS IDENTITY,
  done_at  timestamptz      NOT NULL,
  actor    text COLLATE "C" NOT NULL,
  action   text COLLATE "C" NOT NULL,
  reason   text COLLATE "C" NOT NULL,
  subject  text COLLATE "C" NOT NULL,
  CONSTRAINT {name}audit_pk PRIMARY KEY (audit_id)
);

-- Messages that were kept although nobody takes their type.
CREATE TABLE IF NOT EXISTS {prefix}unhandled (
  seq bigint NOT NULL,
  CONSTRAINT {name}unhandled_pk PRIMARY KEY (seq)
);

-- What an operator has put in the place of a message's content, for one handler.
CREATE TABLE IF NOT EXISTS {prefix}edit (
  seq          bigint           NOT NULL,
  edited_at    timestamptz      NOT NULL,
  handler      int              NOT NULL,
  actor        text COLLATE "C" NOT NULL,
  reason       text COLLATE "C" NOT NULL,
  content_hash bytea            NOT NULL,
  content      bytea            NOT NULL,
  CONSTRAINT {name}edit_pk PRIMARY KEY (seq, handler)
);

-- Changes to many, and how far they have come.
CREATE TABLE IF NOT EXISTS {prefix}operation (
  operation_id text COLLATE "C" NOT NULL,
  started_at   timestamptz      NOT NULL,
  finished_at  timestamptz,
  at_seq       bigint           NOT NULL,
  at_handler   int              NOT NULL,
  matched      bigint           NOT NULL,
  changed      bigint           NOT NULL,
  actor        text COLLATE "C" NOT NULL,
  reason       text COLLATE "C" NOT NULL,
  what         text COLLATE "C" NOT NULL,
  skipped      text COLLATE "C" NOT NULL,
  CONSTRAINT {name}operation_pk PRIMARY KEY (operation_id)
);
