CREATE TABLE IF NOT EXISTS {prefix}schema_history (
  version    int              NOT NULL,
  applied_at timestamptz      NOT NULL,
  checksum   text COLLATE "C" NOT NULL,
  script     text COLLATE "C" NOT NULL,
  CONSTRAINT {name}schema_history_pk PRIMARY KEY (version)
);
