-- {prefix}x is a table or sequence with its schema, {name}x a bare name with the prefix.
-- Text that is compared is compared byte for byte: VARBINARY holds UTF-8. Times are UTC.

-- Whose tables these are.
CREATE TABLE IF NOT EXISTS {prefix}inbox (
  id         smallint       NOT NULL,
  lanes      int            NOT NULL,
  created_at datetime(6)    NOT NULL,
  name       varbinary(800) NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A random number, made with the tables: what a connection of a caller must lead to. No transaction
-- changes its row, so a shared lock on it does not delay other transactions.
CREATE TABLE IF NOT EXISTS {prefix}store (
  id       smallint NOT NULL,
  store_id bigint   NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Where the walks of retention are: that of the inbox, and that of the guards, which has last looked
-- at messages of this age and older. Apart from the inbox: each step holds this row while it lasts.
CREATE TABLE IF NOT EXISTS {prefix}retention (
  id         smallint       NOT NULL,
  pruned_to  bigint         NOT NULL DEFAULT 0,
  guarded_to bigint         NOT NULL DEFAULT 0,
  guarded_ms bigint         NOT NULL DEFAULT 0,
  pruned_at  datetime(6),
  guarded_at datetime(6),
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE SEQUENCE IF NOT EXISTS {prefix}message_seq
  START WITH 1000 MINVALUE 1000 INCREMENT BY 1000 CACHE 100 ENGINE = InnoDB;

CREATE SEQUENCE IF NOT EXISTS {prefix}node_seq
  START WITH 1 MINVALUE 1 INCREMENT BY 1 CACHE 100 ENGINE = InnoDB;

-- What arrived, once per identity: the gate.
CREATE TABLE IF NOT EXISTS {prefix}message (
  seq            bigint          NOT NULL,
  token          bigint          NOT NULL,
  key_hash       bigint,
  received_at    datetime(6)     NOT NULL,
  occurred_at    datetime(6),
  last_repeat_at datetime(6),
  repeats        int             NOT NULL DEFAULT 0,
  touched        int             NOT NULL DEFAULT 0,
  lane           smallint        NOT NULL,
  dropped        boolean         NOT NULL DEFAULT false,
  edited         boolean         NOT NULL DEFAULT false,
  source         varbinary(1000) NOT NULL,
  id             varbinary(800)  NOT NULL,
  type           varbinary(1000) NOT NULL,
  channel        varbinary(800)  NOT NULL,
  transport      varbinary(400)  NOT NULL,
  oldest_type    varbinary(1000),
  ordering_key   varbinary(800),
  content_type   varbinary(1000) NOT NULL,
  content_hash   binary(16)      NOT NULL,
  headers        longblob        NOT NULL,
  content        longblob,
  PRIMARY KEY (seq),
  CONSTRAINT {name}message_identity UNIQUE (source, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

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
  PRIMARY KEY (lane, handler, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE INDEX IF NOT EXISTS {name}delivery_key ON {prefix}delivery (handler, key_hash, seq);

-- Work that waits for a time, or (due_at null) for a release; and work that waits for nothing, but
-- has a place of its own because of its priority.
CREATE TABLE IF NOT EXISTS {prefix}later (
  seq      bigint         NOT NULL,
  due_at   datetime(6),
  key_hash bigint,
  mark     bigint         NOT NULL DEFAULT 0,
  version  bigint         NOT NULL DEFAULT 0,
  place    bigint         NOT NULL DEFAULT 0,
  handler  int            NOT NULL,
  key_id   int            NOT NULL,
  failures int            NOT NULL DEFAULT 0,
  crashes  int            NOT NULL DEFAULT 0,
  releases int            NOT NULL DEFAULT 0,
  lane     smallint       NOT NULL,
  reason   varbinary(100) NOT NULL,
  PRIMARY KEY (seq, handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE INDEX IF NOT EXISTS {name}later_due ON {prefix}later (lane, handler, place, due_at, seq);

CREATE INDEX IF NOT EXISTS {name}later_key ON {prefix}later (handler, key_hash, seq);

-- The proof that a handler has finished a message: the memory that keeps repeats away. What a guard
-- was asked for, if it was told, is compared here: the message belongs to every handler. A guard
-- also says until when its receipt is to be kept; keep_until null: as the inbox says.
CREATE TABLE IF NOT EXISTS {prefix}receipt (
  seq          bigint      NOT NULL,
  completed_at datetime(6) NOT NULL,
  keep_until   datetime(6),
  token        bigint      NOT NULL DEFAULT 0,
  handler      int         NOT NULL,
  key_id       int         NOT NULL,
  failures     int         NOT NULL,
  crashes      int         NOT NULL,
  releases     int         NOT NULL,
  outcome      smallint    NOT NULL DEFAULT 0,
  request_hash binary(16),
  PRIMARY KEY (seq, handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What a guarded run returned, for repeats of it; keep_until null: as long as the receipt.
CREATE TABLE IF NOT EXISTS {prefix}answer (
  seq          bigint         NOT NULL,
  keep_until   datetime(6),
  handler      int            NOT NULL,
  content_type varbinary(800) NOT NULL,
  content      longblob,
  PRIMARY KEY (seq, handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE INDEX IF NOT EXISTS {name}answer_until ON {prefix}answer (keep_until);

-- The end of automatic attempts; only an operator removes a row.
CREATE TABLE IF NOT EXISTS {prefix}poison (
  seq         bigint                                             NOT NULL,
  poisoned_at datetime(6)                                        NOT NULL,
  failed_at   datetime(6)                                        NOT NULL,
  key_hash    bigint,
  version     bigint                                             NOT NULL,
  handler     int                                                NOT NULL,
  key_id      int                                                NOT NULL,
  failures    int                                                NOT NULL,
  crashes     int                                                NOT NULL,
  releases    int                                                NOT NULL,
  lane        smallint                                           NOT NULL,
  blocks      boolean                                            NOT NULL DEFAULT true,
  error_code  varbinary(40)                                      NOT NULL,
  error_type  varbinary(2000)                                    NOT NULL,
  error_text  longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  fingerprint varbinary(200)                                     NOT NULL,
  stack       longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (seq, handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE INDEX IF NOT EXISTS {name}poison_key ON {prefix}poison (handler, key_hash, blocks, seq);

-- Ordering keys that stay closed behind a number until an operator releases them, or (releasing)
-- that are being let go and have come so far.
CREATE TABLE IF NOT EXISTS {prefix}closed_key (
  seq          bigint      NOT NULL,
  key_hash     bigint      NOT NULL,
  since        datetime(6) NOT NULL,
  handler      int         NOT NULL,
  key_id       int         NOT NULL,
  releasing    boolean     NOT NULL,
  ordering_key varbinary(800),
  PRIMARY KEY (handler, key_hash)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE INDEX IF NOT EXISTS {name}closed_key_releasing ON {prefix}closed_key (releasing);

-- The newest ten failures of a delivery: number n stands in slot n mod 10.
CREATE TABLE IF NOT EXISTS {prefix}failure (
  seq         bigint                                             NOT NULL,
  failed_at   datetime(6)                                        NOT NULL,
  handler     int                                                NOT NULL,
  number      int                                                NOT NULL,
  slot        smallint                                           NOT NULL,
  error_code  varbinary(40)                                      NOT NULL,
  error_type  varbinary(2000)                                    NOT NULL,
  error_text  longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  fingerprint varbinary(200)                                     NOT NULL,
  stack       longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (seq, handler, slot)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Handler keys and their numbers. Families that were declared one later share their kin.
CREATE TABLE IF NOT EXISTS {prefix}handler (
  key_id       int            NOT NULL,
  family       int            NOT NULL,
  kin          int            NOT NULL,
  unknown_ms   bigint         NOT NULL DEFAULT 0,
  unknown_seen datetime(6),
  handler_key  varbinary(800) NOT NULL,
  PRIMARY KEY (key_id),
  CONSTRAINT {name}handler_name UNIQUE (handler_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- One row per incarnation of a node.
CREATE TABLE IF NOT EXISTS {prefix}node (
  incarnation bigint                                             NOT NULL,
  beat        bigint                                             NOT NULL,
  joined_at   datetime(6)                                        NOT NULL,
  ended_at    datetime(6),
  state       varbinary(20)                                      NOT NULL,
  name        varbinary(800)                                     NOT NULL,
  jvm         varbinary(100)                                     NOT NULL,
  handlers    longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (incarnation)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Cells: who owns which lane of which handler; owner 0 is nobody.
CREATE TABLE IF NOT EXISTS {prefix}lane (
  owner   bigint   NOT NULL DEFAULT 0,
  token   bigint   NOT NULL DEFAULT 0,
  handler int      NOT NULL,
  lane    smallint NOT NULL,
  unclean boolean  NOT NULL DEFAULT false,
  PRIMARY KEY (handler, lane)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Handlers that somebody has paused.
CREATE TABLE IF NOT EXISTS {prefix}pause (
  since   datetime(6)                                        NOT NULL,
  handler int                                                NOT NULL,
  key_id  int                                                NOT NULL,
  actor   varbinary(800)                                     NOT NULL,
  reason  longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Second copies: a known identity that came with other content.
CREATE TABLE IF NOT EXISTS {prefix}conflict (
  conflict_id  bigint          NOT NULL AUTO_INCREMENT,
  seq          bigint          NOT NULL,
  received_at  datetime(6)     NOT NULL,
  type         varbinary(800)  NOT NULL,
  channel      varbinary(800)  NOT NULL,
  transport    varbinary(400)  NOT NULL,
  content_type varbinary(1000) NOT NULL,
  content_hash binary(16)      NOT NULL,
  headers      longblob        NOT NULL,
  content      longblob,
  ordering_key varbinary(800),
  occurred_at  datetime(6),
  accepted_as  varbinary(1000),
  PRIMARY KEY (conflict_id),
  CONSTRAINT {name}conflict_copy UNIQUE (seq, content_hash, type)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS {prefix}audit (
  audit_id bigint                                             NOT NULL AUTO_INCREMENT,
  done_at  datetime(6)                                        NOT NULL,
  actor    varbinary(800)                                     NOT NULL,
  action   varbinary(100)                                     NOT NULL,
  reason   longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  subject  longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (audit_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Messages that were kept although nobody takes their type.
CREATE TABLE IF NOT EXISTS {prefix}unhandled (
  seq bigint NOT NULL,
  PRIMARY KEY (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What an operator has put in the place of a message's content, for one handler.
CREATE TABLE IF NOT EXISTS {prefix}edit (
  seq          bigint                                             NOT NULL,
  edited_at    datetime(6)                                        NOT NULL,
  handler      int                                                NOT NULL,
  actor        varbinary(800)                                     NOT NULL,
  reason       longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  content_hash binary(16)                                         NOT NULL,
  content      longblob                                           NOT NULL,
  PRIMARY KEY (seq, handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Changes to many, and how far they have come.
CREATE TABLE IF NOT EXISTS {prefix}operation (
  operation_id varbinary(800)                                     NOT NULL,
  started_at   datetime(6)                                        NOT NULL,
  finished_at  datetime(6),
  at_seq       bigint                                             NOT NULL,
  at_handler   int                                                NOT NULL,
  matched      bigint                                             NOT NULL,
  changed      bigint                                             NOT NULL,
  actor        varbinary(800)                                     NOT NULL,
  reason       longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  what         longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  skipped      longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (operation_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
